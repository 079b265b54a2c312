#include "autograd/ops.h"

namespace autograd {

Tensor to(const Tensor& x, DType dtype) {
  const DType from = x.dtype();
  const Array converted = x.data().to(dtype);
  if (!is_float(from) || !is_float(dtype))
    return record("to", converted, {{x, {}}});  // no gradient through integers
  return record("to", converted, {{x, [from](const Array& g) { return g.to(from); }}});
}

}  // namespace autograd
