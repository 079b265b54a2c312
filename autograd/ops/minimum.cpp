#include "autograd/ops/extreme.h"

namespace autograd {

Tensor minimum(const Tensor& a, const Tensor& b) {
  return detail::pairwise_extreme("minimum", a, b, [](auto u, auto v) { return u < v; });
}

}  // namespace autograd
