#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sigmoid(const Tensor& x) {
  const Array d = x.data();
  // y (1 - y) with e = exp(-|x|), as y rounds to 1 long before the slope is 0.
  return record("sigmoid", sigmoid(d), {{x, [d](const Array& g) {
                                           return zip(g, d, "sigmoid", [](auto u, auto v) {
                                             using T = decltype(v);
                                             const T e = vector_math::exp(v < T(0) ? v : -v);
                                             const T share = T(1) / (T(1) + e);
                                             return u * (e * share * share);
                                           });
                                         }}});
}

}  // namespace autograd
