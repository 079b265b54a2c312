#include "autograd/machine/parallel.h"
#include "nn/optim.h"

namespace nn {

namespace {

template <class T>
struct SgdStep {
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

std::vector<std::string> slots_of(const SgdConfig& config) {
  if (config.momentum == 0) return {};
  return {"momentum_buffer"};
}

}  // namespace

Sgd::Sgd(std::vector<ParameterGroup> groups, const SgdConfig& config)
    : Optimizer("Sgd", std::move(groups), {config.lr, config.weight_decay, /*eps=*/0},
                slots_of(config)),
      momentum_(config.momentum),
      nesterov_(config.nesterov) {
  if (!(momentum_ >= 0 && momentum_ < 1)) {
    autograd::fail<autograd::ValueError>("Sgd: momentum: expected a number in [0, 1), got {}",
                                         momentum_);
  }
  if (nesterov_ == Nesterov::yes && momentum_ == 0) {
    autograd::fail<autograd::ValueError>("Sgd: nesterov needs a momentum above 0, got 0");
  }
}

Sgd::Sgd(std::vector<NamedParameter> parameters, const SgdConfig& config)
    : Sgd(std::vector<ParameterGroup>{{std::move(parameters)}}, config) {}

void Sgd::update(Tensor& p, const Tensor& grad, std::span<Tensor> slots, const Settings& settings) {
  autograd::dispatch_float(p.dtype(), "Sgd", [&](auto tag) {
    using T = decltype(tag);
    const SgdStep<T> step{T(settings.lr), T(settings.weight_decay), T(momentum_), nesterov_};
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
