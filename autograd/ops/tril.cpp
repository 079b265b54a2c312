#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor tril(const Tensor& x, Index diagonal) {
  return record("tril", tril(x.data(), diagonal),
                {{x, [diagonal](const Array& g) { return tril(g, diagonal); }}});
}

}  // namespace autograd
