#include "autograd/ops.h"

namespace autograd {

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    if (part.shape() != parts[0].shape()) {
      fail<ShapeError>("stack: expected equal shapes, got {} and {}", parts[0].shape().str(),
                       part.shape().str());
    }
    rows.push_back(unsqueeze(part, dim));
  }
  return concat(rows, dim);
}

}  // namespace autograd
