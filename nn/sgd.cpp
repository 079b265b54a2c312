#include "autograd/machine/parallel.h"
#include "nn/optim.h"

namespace nn {

namespace {

template <class T>
struct SGDStep {
  T lr, weight_decay, momentum;
  Nesterov nesterov;

  void plain(T* p, const T* g, Index begin, Index end) const {
    for (Index i = begin; i < end; ++i) p[i] -= lr * (g[i] + weight_decay * p[i]);
  }
  void with_momentum(T* p, const T* g, T* b, Index begin, Index end) const {
    for (Index i = begin; i < end; ++i) {
      const T d = g[i] + weight_decay * p[i];
      b[i] = momentum * b[i] + d;
      p[i] -= lr * (nesterov == Nesterov::yes ? d + momentum * b[i] : b[i]);
    }
  }
};

std::vector<std::string> slots_of(const SGDOptions& options) {
  if (options.momentum == 0) return {};
  return {"momentum_buffer"};
}

}  // namespace

SGD::SGD(std::vector<ParameterGroup> groups, const SGDOptions& options)
    : Optimizer("SGD", std::move(groups), {options.lr, options.weight_decay, /*eps=*/0},
                slots_of(options)),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {
  if (!(momentum_ >= 0 && momentum_ < 1)) {
    autograd::fail<autograd::ValueError>("SGD: momentum: expected a number in [0, 1), got {}",
                                         momentum_);
  }
  if (nesterov_ == Nesterov::yes && momentum_ == 0) {
    autograd::fail<autograd::ValueError>("SGD: nesterov needs a momentum above 0, got 0");
  }
}

SGD::SGD(std::vector<NamedParameter> parameters, const SGDOptions& options)
    : SGD(std::vector<ParameterGroup>{{std::move(parameters)}}, options) {}

void SGD::update(Tensor& p, const Tensor& grad, std::span<Tensor> slots,
                 const GroupOptions& group) {
  autograd::dispatch_real(p.dtype(), "SGD", [&](auto tag) {
    using T = decltype(tag);
    const SGDStep<T> step{T(group.lr), T(group.weight_decay), T(momentum_), nesterov_};
    const T* g = grad.data().read<T>().data();
    p.write<T>([&](std::span<T> x) {
      if (slots.empty()) {
        autograd::parallel_for(
            p.numel(), autograd::elements_per_piece(),
            [&](Index begin, Index end) { step.plain(x.data(), g, begin, end); });
        return;
      }
      slots[0].write<T>([&](std::span<T> b) {
        autograd::parallel_for(
            p.numel(), autograd::elements_per_piece(),
            [&](Index begin, Index end) { step.with_momentum(x.data(), g, b.data(), begin, end); });
      });
    });
  });
}

}  // namespace nn
