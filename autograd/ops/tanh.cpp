#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

Tensor tanh(const Tensor& x) {
  const Array y = map(x.data(), "tanh", [](auto v) { return vector_math::tanh(v); });
  return record("tanh", y, {{x, [y](const Array& g) {
                               return zip(g, y, "tanh", [](auto u, auto v) {
                                 using T = decltype(v);
                                 return u * (T(1) - v * v);
                               });
                             }}});
}

}  // namespace autograd
