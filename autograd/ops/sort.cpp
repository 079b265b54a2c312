#include "autograd/array/order.h"
#include "autograd/ops.h"
#include "autograd/ops/indexing.h"

namespace autograd {

Sorted sort(const Tensor& x, int dim, Descending descending) {
  if (x.rank() == 0) {
    const Sorted one = sort(x.reshape({1}), dim, descending);
    return {one.values.reshape(Shape{}), one.indices.reshape(Shape{})};
  }
  const int axis = x.shape().axis(dim, "sort");
  const Array at = order(x.data(), axis, x.shape()[axis], descending);
  return {detail::gathered("sort", x, axis, at), record("sort", at, {{x, {}}})};
}

Tensor argsort(const Tensor& x, int dim, Descending descending) {
  if (x.rank() > 0) (void)x.shape().axis(dim, "argsort");  // or the message would say sort
  return sort(x, dim, descending).indices;
}

}  // namespace autograd
