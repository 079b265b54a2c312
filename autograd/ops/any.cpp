#include <functional>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor any(const Tensor& mask, Dims dims, KeepDim keep) {
  check_mask(mask.data(), "any");
  const Array count = sum(mask.data(), Axes::of(mask.shape(), dims, "any"), keep);
  const Array none = Array::scalar(0, DType::i64);
  return record("any", compare(count, none, "any", std::not_equal_to<>()), {{mask, {}}});
}

}  // namespace autograd
