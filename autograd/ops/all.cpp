#include <functional>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor all(const Tensor& mask, Dims dims, KeepDim keep) {
  check_mask(mask.data(), "all");
  const Axes axes = Axes::of(mask.shape(), dims, "all");
  const Array whole = Array::build<std::int64_t>(
      {}, [&](std::span<std::int64_t> n) { n[0] = reduced_count(mask.shape(), axes); });
  return record("all", compare(sum(mask.data(), axes, keep), whole, "all", std::equal_to<>()),
                {{mask, {}}});
}

}  // namespace autograd
