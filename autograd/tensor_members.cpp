#include "autograd/ops.h"

// The member forms of ops that read better as members.

namespace autograd {

Tensor Tensor::transpose(int dim0, int dim1) const {
  return autograd::transpose(*this, dim0, dim1);
}
Tensor Tensor::permute(std::initializer_list<int> dims) const {
  return autograd::permute(*this, std::span<const int>(dims.begin(), dims.size()));
}
Tensor Tensor::squeeze(int dim) const { return autograd::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int dim) const { return autograd::unsqueeze(*this, dim); }
Tensor Tensor::expand(const Shape& shape) const { return autograd::expand(*this, shape); }
Tensor Tensor::narrow(int dim, Index start, Index length) const {
  return autograd::narrow(*this, dim, start, length);
}
Tensor Tensor::select(int dim, Index index) const { return autograd::select(*this, dim, index); }
Tensor Tensor::unfold(int dim, Index size, Index step) const {
  return autograd::unfold(*this, dim, size, step);
}
Tensor Tensor::index_select(int dim, const Tensor& index) const {
  return autograd::index_select(*this, dim, index);
}
Tensor Tensor::gather(int dim, const Tensor& index) const {
  return autograd::gather(*this, dim, index);
}
Tensor Tensor::scatter_add(int dim, const Tensor& index, const Tensor& src) const {
  return autograd::scatter_add(*this, dim, index, src);
}
Sorted Tensor::sort(int dim, Descending descending) const {
  return autograd::sort(*this, dim, descending);
}
Tensor Tensor::argsort(int dim, Descending descending) const {
  return autograd::argsort(*this, dim, descending);
}
Sorted Tensor::topk(Index k, int dim, Largest largest) const {
  return autograd::topk(*this, k, dim, largest);
}
Tensor Tensor::cumsum(int dim) const { return autograd::cumsum(*this, dim); }
Tensor Tensor::multinomial(Index num_samples, Replacement replacement, Generator& generator) const {
  return autograd::multinomial(*this, num_samples, replacement, generator);
}
Tensor Tensor::operator[](Index index) const { return autograd::select(*this, 0, index); }
Tensor Tensor::view(std::initializer_list<Index> sizes) const { return reshape(sizes); }
Tensor Tensor::matmul(const Tensor& other) const { return autograd::matmul(*this, other); }
Tensor Tensor::sum(Dims dims, KeepDim keep) const { return autograd::sum(*this, dims, keep); }
Tensor Tensor::mean(Dims dims, KeepDim keep) const { return autograd::mean(*this, dims, keep); }
Tensor Tensor::var(Dims dims, KeepDim keep, double correction) const {
  return autograd::var(*this, dims, keep, correction);
}
Tensor Tensor::logsumexp(Dims dims, KeepDim keep) const {
  return autograd::logsumexp(*this, dims, keep);
}
Tensor Tensor::max(Dims dims, KeepDim keep) const { return autograd::max(*this, dims, keep); }
Tensor Tensor::min(Dims dims, KeepDim keep) const { return autograd::min(*this, dims, keep); }
Tensor Tensor::any(Dims dims, KeepDim keep) const { return autograd::any(*this, dims, keep); }
Tensor Tensor::all(Dims dims, KeepDim keep) const { return autograd::all(*this, dims, keep); }
Tensor Tensor::argmax(int dim, KeepDim keep) const { return autograd::argmax(*this, dim, keep); }
Tensor Tensor::abs() const { return autograd::abs(*this); }
Tensor Tensor::sign() const { return autograd::sign(*this); }
Tensor Tensor::clamp(double lo, double hi) const { return autograd::clamp(*this, lo, hi); }
Tensor Tensor::square() const { return autograd::square(*this); }
Tensor Tensor::exp() const { return autograd::exp(*this); }
Tensor Tensor::log() const { return autograd::log(*this); }
Tensor Tensor::sqrt() const { return autograd::sqrt(*this); }
Tensor Tensor::rsqrt() const { return autograd::rsqrt(*this); }
Tensor Tensor::sin() const { return autograd::sin(*this); }
Tensor Tensor::cos() const { return autograd::cos(*this); }
Tensor Tensor::tanh() const { return autograd::tanh(*this); }
Tensor Tensor::sigmoid() const { return autograd::sigmoid(*this); }
Tensor Tensor::relu() const { return autograd::relu(*this); }
Tensor Tensor::pow(double exponent) const { return autograd::pow(*this, exponent); }
Tensor Tensor::softmax(int dim) const { return autograd::softmax(*this, dim); }
Tensor Tensor::masked_fill(const Tensor& mask, double value) const {
  return autograd::masked_fill(*this, mask, value);
}
Tensor Tensor::to(DType dtype) const { return autograd::to(*this, dtype); }

}  // namespace autograd
