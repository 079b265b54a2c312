#include "experiments/cli/memory.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
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

constexpr rlim_t kStack = rlim_t{8} << 20, kLeastStack = rlim_t{1} << 20;

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

void require_stack() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack) return;
  // The kernel looks at the limit whenever the stack of the first thread grows; the stacks of the
  // others have the size that was the limit at the start.
  const rlimit more{kStack, std::max(kStack, limit.rlim_max)},
      allowed{limit.rlim_max, limit.rlim_max};
  if (setrlimit(RLIMIT_STACK, &more) != 0 &&
      (limit.rlim_max < kLeastStack || setrlimit(RLIMIT_STACK, &allowed) != 0)) {
    throw UsageError(fmt::format("expected a stack of at least {} kB, which ulimit -s sets, got {}",
                                 kLeastStack >> 10, limit.rlim_cur >> 10));
  }
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, kStack) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

}  // namespace experiments::cli
