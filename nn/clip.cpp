#include "nn/clip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/array/parallel.h"

namespace nn {

namespace {

// In kLanes sums, which the compiler keeps in one register.
template <class T>
double squares(const T* g, Index begin, Index end) {
  constexpr Index kLanes = 8;
  double lanes[kLanes] = {};
  Index i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (Index j = 0; j < kLanes; ++j) {
      const auto x = static_cast<double>(g[i + j]);
      lanes[j] += x * x;
    }
  }
  double sum = 0;
  for (; i < end; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

double sum_of_squares(const Tensor& grad) {
  constexpr Index kGrain = autograd::kGrain;
  std::vector<double> pieces(static_cast<std::size_t>((grad.numel() + kGrain - 1) / kGrain));
  autograd::dispatch_float(grad.dtype(), "clip_grad_norm", [&](auto tag) {
    const auto* g = grad.data().read<decltype(tag)>().data();
    autograd::parallel_for(grad.numel(), kGrain, [&](Index begin, Index end) {
      pieces[static_cast<std::size_t>(begin / kGrain)] = squares(g, begin, end);
    });
  });
  double sum = 0;
  for (const double piece : pieces) sum += piece;
  return sum;
}

// In place, unless somebody else still holds the gradient.
void scale_grad(Tensor parameter, double factor) {
  Tensor grad = parameter.grad();
  parameter.zero_grad();
  autograd::dispatch_float(grad.dtype(), "clip_grad_norm", [&](auto tag) {
    using T = decltype(tag);
    grad.write<T>([&](std::span<T> g) {
      autograd::parallel_for(grad.numel(), autograd::kGrain, [&](Index begin, Index end) {
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
  double sum = 0;
  for (const Tensor& p : parameters) {
    const Tensor grad = p.grad();
    if (grad.defined()) sum += sum_of_squares(grad);
  }
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm) || norm <= max_norm) return norm;
  for (const Tensor& p : parameters) {
    if (p.grad().defined()) scale_grad(p, max_norm / (norm + 1e-6));
  }
  return norm;
}

}  // namespace nn
