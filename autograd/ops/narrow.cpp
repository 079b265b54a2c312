#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor narrow(const Tensor& x, int dim, Index start, Index length) {
  const int axis = x.shape().axis(dim, "narrow");
  return record("narrow", narrow(x.data(), axis, start, length),
                {{x, ScatterRule([axis, start](const Array& g, Array& into) {
                    add_to_narrow(into, g, axis, start);
                  })}});
}

}  // namespace autograd
