#include "autograd/ops/extreme.h"

namespace autograd {

Tensor maximum(const Tensor& a, const Tensor& b) {
  return detail::pairwise_extreme("maximum", a, b, [](auto u, auto v) { return u > v; });
}

}  // namespace autograd
