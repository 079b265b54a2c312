#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor mse(const Tensor& x, const Tensor& target) {
  if (x.shape() != target.shape() || x.numel() == 0) {
    fail<ShapeError>("mse: expected two tensors of one shape with elements, got {} and {}",
                     x.shape().str(), target.shape().str());
  }
  check_float(x.data(), "mse");
  check_mixable(x.data(), target.data(), "mse");
  const Array d = x.data() - target.data();
  const double share = 1.0 / static_cast<double>(x.numel());
  return record("mse", sum(d * d) * share,
                {{x, [d, share](const Array& g) { return d * (g * (2 * share)); }},
                 {target, [d, share](const Array& g) { return d * (g * (-2 * share)); }}});
}

}  // namespace autograd
