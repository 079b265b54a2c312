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
  constexpr Index kChunk = 4096;  // its sum has one order for any number of threads
  const Index n = grad.numel(), chunks = (n + kChunk - 1) / kChunk;
  std::vector<double> pieces(static_cast<std::size_t>(chunks));
  autograd::dispatch_float(grad.dtype(), "clip_grad_norm", [&](auto tag) {
    const auto* g = grad.data().read<decltype(tag)>().data();
    const Index grain = std::max<Index>(1, autograd::elements_a_piece() / kChunk);
    autograd::parallel_for(chunks, grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        pieces[static_cast<std::size_t>(i)] = squares(g, i * kChunk, std::min(n, (i + 1) * kChunk));
      }
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
      autograd::parallel_for(grad.numel(), autograd::elements_a_piece(),
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
