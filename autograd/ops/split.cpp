#include <algorithm>

#include "autograd/ops.h"

namespace autograd {

std::vector<Tensor> split(const Tensor& x, Index size, int dim) {
  if (size < 1) fail<ValueError>("split: expected a size of at least 1, got {}", size);
  const int axis = x.shape().axis(dim, "split");
  const Index length = x.shape()[axis];
  std::vector<Tensor> parts;
  for (Index start = 0; start < length; start += std::min(size, length - start)) {
    parts.push_back(narrow(x, axis, start, std::min(size, length - start)));
  }
  if (parts.empty()) parts.push_back(narrow(x, axis, 0, 0));
  return parts;
}

void check_split_parts(std::size_t parts, int wanted, const Shape& shape, Index size) {
  if (static_cast<int>(parts) != wanted) {
    fail<ShapeError>("split: expected {} parts of size {}, shape {} has {}", wanted, size,
                     shape.str(), parts);
  }
}

}  // namespace autograd
