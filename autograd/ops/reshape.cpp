#include "autograd/ops.h"

namespace autograd {

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape from = x.shape();
  return record("reshape", x.data().reshape(shape),
                {{x, [from](const Array& g) { return g.reshape(from); }}});
}

Tensor reshape(const Tensor& x, std::initializer_list<Index> sizes) {
  std::vector<Index> to(sizes);
  const auto refuse = [&](const std::string& why) {
    std::string text;
    for (const Index size : sizes) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
    fail<ShapeError>("reshape: {} does not become ({}): {}", x.shape().str(), text, why);
  };
  Index* open = nullptr;
  Index rest = 1;
  for (Index& size : to) {
    if (size < -1) refuse(fmt::format("expected sizes of 0 or more, or one -1, got {}", size));
    if (size != -1) rest = checked_product(rest, size, "reshape");
    else if (open) refuse("only one size may be -1");
    else open = &size;
  }
  if (open && (rest == 0 || x.numel() % rest != 0)) {
    refuse(fmt::format("{} elements are no multiple of {}", x.numel(), rest));
  }
  if (open) *open = x.numel() / rest;
  return reshape(x, Shape(std::span<const Index>(to)));
}

Tensor Tensor::reshape(const Shape& shape) const { return autograd::reshape(*this, shape); }
Tensor Tensor::reshape(std::initializer_list<Index> sizes) const {
  return autograd::reshape(*this, sizes);
}

}  // namespace autograd
