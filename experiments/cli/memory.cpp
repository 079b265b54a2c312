#include "experiments/cli/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "experiments/cli/options.h"

namespace experiments::cli {
namespace {

constexpr double kShare = 0.8;
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

std::string readable(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

}  // namespace

double memory_limit() {
  return std::min({physical_memory(), limit_in("/sys/fs/cgroup/memory.max"),
                   limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

void require_memory(double needed, double limit) {
  if (needed <= kShare * limit) return;
  const std::string bytes =
      needed < 1e18 ? fmt::format("{:.0f} bytes ({})", std::ceil(needed), readable(needed))
                    : readable(needed);
  throw UsageError(
      fmt::format("these sizes need {}, more than {:.0f} % of the {} of memory available here",
                  bytes, 100 * kShare, readable(limit)));
}

}  // namespace experiments::cli
