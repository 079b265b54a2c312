#include "autograd/array/order.h"
#include "autograd/ops.h"
#include "autograd/ops/indexing.h"

namespace autograd {

Sorted topk(const Tensor& x, Index k, int dim, Largest largest) {
  if (x.rank() == 0 && k == 1) {
    const Sorted one = topk(x.reshape({1}), k, dim, largest);
    return {one.values.reshape(Shape{}), one.indices.reshape(Shape{})};
  }
  const int axis = x.shape().axis(dim, "topk");
  if (k < 0 || k > x.shape()[axis]) {
    fail<ValueError>("topk: expected k in [0, {}] along dim {} of {}, got {}", x.shape()[axis], dim,
                     x.shape().str(), k);
  }
  const Array at =
      order(x.data(), axis, k, largest == Largest::yes ? Descending::yes : Descending::no);
  return {detail::gathered("topk", x, axis, at), record("topk", at, {{x, {}}})};
}

}  // namespace autograd
