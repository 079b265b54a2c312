#include "autograd/array/elementwise.h"
#include "autograd/array/indexing.h"
#include "autograd/ops.h"
#include "autograd/ops/indexing.h"

namespace autograd {

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& src) {
  if (x.rank() == 0) return scatter_add(x.reshape({1}), dim, index, src).reshape(Shape{});
  if (x.rank() == 1 && index.rank() == 0 && src.rank() == 0) {
    return scatter_add(x, dim, index.reshape({1}), src.reshape({1}));
  }
  const int axis = x.shape().axis(dim, "scatter_add");
  const Array at = index.data();
  detail::check_lines(x.shape(), axis, at, "scatter_add");
  if (src.shape() != at.shape()) {
    fail<ShapeError>("scatter_add: expected src in the shape of the index, {}, got {}",
                     at.shape().str(), src.shape().str());
  }
  Pair both = in_one_dtype(x.data(), src.data(), "scatter_add");
  scatter_add(both.a, axis, at, both.b);
  return record("scatter_add", both.a,
                {{x, [](const Array& g) { return g; }},
                 {src, [axis, at](const Array& g) { return gather(g, axis, at); }}});
}

}  // namespace autograd
