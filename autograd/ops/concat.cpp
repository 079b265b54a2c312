#include "autograd/array/layout.h"
#include "autograd/ops.h"

namespace autograd {

Tensor concat(const std::vector<Tensor>& parts, int dim) {
  if (parts.empty()) fail<ShapeError>("concat: expected at least one part, got none");
  const int axis = parts[0].shape().axis(dim, "concat");
  std::vector<Array> arrays;
  for (const Tensor& part : parts) arrays.push_back(part.data());
  const Array joined = concat(arrays, axis);
  std::vector<Input> inputs;
  Index start = 0;
  for (const Tensor& part : parts) {
    const Index length = part.shape()[axis];
    inputs.push_back(
        {part, [axis, start, length](const Array& g) { return narrow(g, axis, start, length); }});
    start += length;
  }
  return record("concat", joined, inputs);
}

}  // namespace autograd
