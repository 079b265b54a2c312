#include "autograd/ops.h"

namespace autograd {

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape from = x.shape();
  return record("reshape", x.data().reshape(shape),
                {{x, [from](const Array& g) { return g.reshape(from); }}});
}

Tensor reshape(const Tensor& x, std::initializer_list<Index> sizes) {
  std::vector<Index> known(sizes);
  Index* open = nullptr;
  Index rest = 1;
  for (Index& size : known) {
    if (size == -1 && !open) open = &size;
    else rest = size < 0 ? size : checked_product(rest, size, "reshape");
    if (rest < 0) break;
  }
  if (open && rest > 0 && x.numel() % rest == 0) *open = x.numel() / rest;
  return reshape(x, Shape(std::span<const Index>(known)));  // throws if still open
}

Tensor Tensor::reshape(const Shape& shape) const { return autograd::reshape(*this, shape); }
Tensor Tensor::reshape(std::initializer_list<Index> sizes) const {
  return autograd::reshape(*this, sizes);
}

}  // namespace autograd
