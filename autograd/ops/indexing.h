#pragma once

#include "autograd/array/indexing.h"
#include "autograd/ops.h"

// What gather, scatter_add, sort and topk share.

namespace autograd::detail {

/// Errors unless the index names elements along an axis of `shape`, and is no longer beside it.
inline void check_lines(const Shape& shape, int axis, const Array& index, const char* op) {
  bool fits = index.rank() == shape.rank();
  for (int i = 0; fits && i < shape.rank(); ++i) {
    fits = i == axis || index.shape()[i] <= shape[i];
  }
  if (!fits) {
    fail<ShapeError>("{}: expected an index that fits into {} but for dim {}, got {}", op,
                     shape.str(), axis, index.shape().str());
  }
  check_indices(index, shape[axis], op);
}

/// x at these positions along an axis; the gradient goes back to where they came from.
inline Tensor gathered(const char* op, const Tensor& x, int axis, const Array& at) {
  return record(op, gather(x.data(), axis, at),
                {{x, ScatterRule([axis, at](const Array& g, Array& into) {
                    scatter_add(into, axis, at, g);
                  })}});
}

}  // namespace autograd::detail
