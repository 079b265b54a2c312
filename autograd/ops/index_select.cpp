#include "autograd/array/indexing.h"
#include "autograd/ops.h"

namespace autograd {

Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  if (x.rank() == 0 && index.numel() == 1) {
    return index_select(x.reshape({1}), dim, index).reshape(Shape{});
  }
  const int axis = x.shape().axis(dim, "index_select");
  const Array at = index.data();
  if (at.rank() > 1) {
    fail<ShapeError>("index_select: expected an index of rank 1, got {}", at.shape().str());
  }
  check_indices(at, x.shape()[axis], "index_select");
  return record("index_select", index_select(x.data(), axis, at),
                {{x, ScatterRule([axis, at](const Array& g, Array& into) {
                    index_add(into, axis, at, g);
                  })}});
}

}  // namespace autograd
