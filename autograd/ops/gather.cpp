#include "autograd/array/indexing.h"
#include "autograd/ops.h"
#include "autograd/ops/indexing.h"

namespace autograd {

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  if (x.rank() == 0) return gather(x.reshape({1}), dim, index);
  if (x.rank() == 1 && index.rank() == 0)
    return gather(x, dim, index.reshape({1})).reshape(Shape{});
  const int axis = x.shape().axis(dim, "gather");
  const Array at = index.data();
  detail::check_lines(x.shape(), axis, at, "gather");
  return detail::gathered("gather", x, axis, at);
}

}  // namespace autograd
