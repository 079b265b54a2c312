#include "autograd/graph/anomaly.h"

#include <algorithm>
#include <limits>

namespace autograd {
namespace {

thread_local bool guarded = false;

}  // namespace

AnomalyGuard::AnomalyGuard() : before_(guarded) { guarded = true; }
AnomalyGuard::~AnomalyGuard() { guarded = before_; }
bool AnomalyGuard::active() { return guarded; }

Range range_of(const Array& a) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  dispatch_any(a.dtype(), [&](auto tag) {
    for (const auto v : a.read<decltype(tag)>()) {
      const auto x = static_cast<double>(v);
      range.nans += x != x;
      range.min = x < range.min ? x : range.min;
      range.max = x > range.max ? x : range.max;
    }
  });
  return range;
}

std::string describe(const Shape& shape, const Range& range) {
  std::string text = shape.str();
  if (range.min <= range.max) text += fmt::format(" in [{:.6g}, {:.6g}]", range.min, range.max);
  if (range.nans > 0) text += fmt::format(", {} NaN", range.nans);
  return text;
}

}  // namespace autograd
