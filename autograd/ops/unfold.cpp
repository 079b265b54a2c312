#include <algorithm>

#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor unfold(const Tensor& x, int dim, Index size, Index step) {
  if (x.rank() == 0) return unfold(x.reshape({1}), dim, size, step).select(0, 0);
  const int axis = x.shape().axis(dim, "unfold");
  const Index length = x.shape()[axis];
  if (size < 0 || size > length) {
    fail<ShapeError>("unfold: expected windows of a size in [0, {}] along dim {} of {}, got {}",
                     length, dim, x.shape().str(), size);
  }
  if (step < 1) fail<ValueError>("unfold: expected a step of at least 1, got {}", step);
  step = std::min(step, length + 1);  // as good as any longer one
  return record("unfold", unfold(x.data(), axis, size, step),
                {{x, ScatterRule([axis, step](const Array& g, Array& into) {
                    add_unfolded(into, g, axis, step);
                  })}});
}

}  // namespace autograd
