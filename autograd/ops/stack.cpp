#include "autograd/array/elementwise.h"
#include "autograd/ops.h"

namespace autograd {

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  if (parts.empty()) fail<ShapeError>("stack: expected at least one part, got none");
  const int rank = parts[0].rank();
  if (dim < -rank - 1 || dim > rank) {
    fail<ShapeError>("stack: expected a dim in [{}, {}] for parts of shape {}, got {}", -rank - 1,
                     rank, parts[0].shape().str(), dim);
  }
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    if (part.shape() != parts[0].shape()) {
      fail<ShapeError>("stack: expected equal shapes, got {} and {}", parts[0].shape().str(),
                       part.shape().str());
    }
    check_mixable(parts[0].data(), part.data(), "stack");
    rows.push_back(unsqueeze(part, dim));
  }
  return concat(rows, dim);
}

}  // namespace autograd
