#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor rsqrt(const Tensor& x) {
  const Array y = map(x.data(), "rsqrt", [](auto v) {
    using std::sqrt;
    return decltype(v)(1) / sqrt(v);
  });
  return record("rsqrt", y, {{x, [y](const Array& g) { return g * (y * y * y * -0.5); }}});
}

}  // namespace autograd
