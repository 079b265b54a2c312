#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor sqrt(const Tensor& x) {
  const Array y = map(x.data(), "sqrt", [](auto v) {
    using std::sqrt;
    return sqrt(v);
  });
  return record("sqrt", y, {{x, [y](const Array& g) { return g / (y * 2.0); }}});
}

}  // namespace autograd
