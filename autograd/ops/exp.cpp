#include "autograd/array/elementwise.h"
#include "autograd/array/functions.h"
#include "autograd/ops.h"

namespace autograd {

// vector_math's, as the loop over std::exp takes one number at a time.
Tensor exp(const Tensor& x) {
  const Array y = exp(x.data());
  return record("exp", y, {{x, [y](const Array& g) { return g * y; }}});
}

}  // namespace autograd
