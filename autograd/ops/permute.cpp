#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor permute(const Tensor& x, std::span<const int> dims) {
  const Array y = permute(x.data(), dims);
  std::vector<int> inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    inverse[static_cast<std::size_t>(x.shape().axis(dims[i], "permute"))] = static_cast<int>(i);
  }
  return record("permute", y, {{x, [inverse](const Array& g) { return permute(g, inverse); }}});
}

}  // namespace autograd
