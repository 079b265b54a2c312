#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor relu(const Tensor& x) {
  const Array d = x.data();
  const Array y = map(d, "relu", [](auto v) {
    using T = decltype(v);
    return v <= T(0) ? T(0) : v;  // false for NaN, which stays
  });
  return record("relu", y, {{x, [d](const Array& g) {
                               return zip(g, d, "relu", [](auto u, auto v) {
                                 using T = decltype(v);
                                 return v <= T(0) ? T(0) : u;  // at NaN it passes
                               });
                             }}});
}

}  // namespace autograd
