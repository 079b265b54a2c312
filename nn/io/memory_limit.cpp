#include "nn/io/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace nn {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// The number that a file begins with; "max", or no file, is no limit.
double limit_in(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::uint64_t bytes = 0;
  if (!std::getline(file, line)) return kUnknown;
  const auto result = std::from_chars(line.data(), line.data() + line.size(), bytes);
  return result.ec == std::errc() && bytes > 0 ? static_cast<double>(bytes) : kUnknown;
}

double physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<double>(pages) * static_cast<double>(page) : kUnknown;
}

}  // namespace

double memory_limit() {
  return std::min({physical_memory(), limit_in("/sys/fs/cgroup/memory.max"),
                   limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

}  // namespace nn
