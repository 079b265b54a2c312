#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), where nothing overflows and no digits are lost; so
// there is no threshold from which on it would be x.
Tensor softplus(const Tensor& x) {
  const Array d = x.data();
  const Array y = map(d, "softplus", [](auto v) {
    using T = decltype(v);
    using std::log1p;
    return (v > T(0) ? v : T(0)) + log1p(vector_math::exp(v > T(0) ? -v : v));
  });
  return record("softplus", y, {{x, [d](const Array& g) { return g * sigmoid(d); }}});
}

}  // namespace autograd
