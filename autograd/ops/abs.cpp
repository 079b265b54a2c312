#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor abs(const Tensor& x) {
  const Array d = x.data();
  const Array y = map(d, "abs", [](auto v) {
    using std::abs;
    return abs(v);
  });
  return record("abs", y, {{x, [d](const Array& g) {
                              return g * map(d, "abs", [](auto v) {
                                       using T = decltype(v);
                                       const T flat = v == T(0) ? T(0) : v;  // v is NaN
                                       return v > T(0) ? T(1) : (v < T(0) ? T(-1) : flat);
                                     });
                            }}});
}

}  // namespace autograd
