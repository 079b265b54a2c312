#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor narrow(const Tensor& x, int dim, Index start, Index length) {
  const int axis = x.shape().axis(dim, "narrow");
  const Index size = x.shape()[axis];
  if (start < -size || start > size || length < 0 ||
      length > size - (start < 0 ? start + size : start)) {
    fail<ShapeError>("narrow: expected a part of [0, {}) along dim {} of {}, got {} from {} on",
                     size, axis, x.shape().str(), length, start);
  }
  if (start < 0) start += size;
  return record("narrow", narrow(x.data(), axis, start, length),
                {{x, ScatterRule([axis, start](const Array& g, Array& into) {
                    add_to_narrow(into, g, axis, start);
                  })}});
}

}  // namespace autograd
