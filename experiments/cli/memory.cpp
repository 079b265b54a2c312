#include "experiments/cli/memory.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "experiments/cli/options.h"

namespace experiments::cli {
namespace {

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

void require_memory(double needed, double limit) {
  if (needed <= nn::kMemoryShare * limit) return;
  const std::string bytes =
      needed < 1e18 ? fmt::format("{:.0f} bytes ({})", std::ceil(needed), readable(needed))
                    : readable(needed);
  throw UsageError(
      fmt::format("these sizes need {}, more than {:.0f} % of the {} of memory available here",
                  bytes, 100 * nn::kMemoryShare, readable(limit)));
}

}  // namespace experiments::cli
