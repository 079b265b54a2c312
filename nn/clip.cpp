#include "nn/clip.h"

#include <cmath>

#include "autograd/array/reduce.h"
#include "autograd/machine/parallel.h"

namespace nn {

namespace {

// In place, unless something else still holds the gradient.
void scale_grad(Tensor parameter, double factor) {
  Tensor grad = parameter.grad();
  parameter.zero_grad();
  autograd::dispatch_real(grad.dtype(), "clip_grad_norm", [&](auto tag) {
    using T = decltype(tag);
    grad.write<T>([&](std::span<T> g) {
      autograd::parallel_for(grad.numel(), autograd::elements_per_piece(),
                             [&](Index begin, Index end) {
                               for (Index i = begin; i < end; ++i) g[i] *= static_cast<T>(factor);
                             });
    });
  });
  parameter.set_grad(grad);
}

}  // namespace

double clip_grad_norm(std::span<const Tensor> parameters, double max_norm) {
  if (!(max_norm > 0)) {
    autograd::fail<autograd::ValueError>("clip_grad_norm: expected max_norm above 0, got {}",
                                         max_norm);
  }
  double norm = 0;
  for (const Tensor& p : parameters) {
    const Tensor grad = p.grad();
    if (grad.defined()) norm = std::hypot(norm, autograd::euclidean_norm(grad.data()));
  }
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  for (const Tensor& p : parameters) {
    if (p.grad().defined()) scale_grad(p, max_norm / (norm + 1e-6));
  }
  return norm;
}

}  // namespace nn
