#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sigmoid(const Tensor& x) {
  const Array y = map(x.data(), "sigmoid", [](auto v) {
    using T = decltype(v);
    const T e = vector_math::exp(v < T(0) ? v : -v);  // never overflows
    return (v < T(0) ? e : T(1)) / (T(1) + e);
  });
  return record("sigmoid", y, {{x, [y](const Array& g) {
                                  return zip(g, y, "sigmoid", [](auto u, auto v) {
                                    using T = decltype(v);
                                    return u * v * (T(1) - v);
                                  });
                                }}});
}

}  // namespace autograd
