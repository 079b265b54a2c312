#include <cmath>

#include "autograd/machine/parallel.h"
#include "nn/optim.h"

namespace nn {

namespace {

// The order of PyTorch: the rate takes the correction of the first average, and eps stays outside
// the root of the corrected second one.
template <class T>
struct AdamStep {
  T l2, keep;         // decay through the gradient, and what decay leaves of the parameter
  T rate, root, eps;  // lr / (1 - beta1^t); 1 / sqrt(1 - beta2^t)
  T beta1, beta2;     // of the old averages ...
  T share1, share2;   // ... and 1 - beta, of the new values

  void operator()(T* p, const T* gradient, T* m, T* v, Index begin, Index end) const {
    for (Index i = begin; i < end; ++i) {
      const T g = gradient[i] + l2 * p[i];
      m[i] = beta1 * m[i] + share1 * g;
      v[i] = beta2 * v[i] + share2 * (g * g);
      p[i] = keep * p[i] - rate * (m[i] / (std::sqrt(v[i]) * root + eps));
    }
  }
};

void check_beta(const std::string& type, int which, double beta) {
  if (!(beta >= 0 && beta < 1)) {
    autograd::fail<autograd::ValueError>("{}: betas[{}]: expected a number in [0, 1), got {}", type,
                                         which, beta);
  }
}

// Where a gradient is 0, the update is 0 / (0 + eps).
void check_eps(const std::string& type, const ParameterGroup& group, double eps) {
  for (const NamedParameter& p : group.parameters) {
    const bool vanishes = p.tensor.dtype() == DType::f32 && static_cast<float>(eps) == 0;
    if (!(eps > 0) || vanishes) {
      autograd::fail<autograd::ValueError>(
          "{}: eps: expected a number above 0 in {} for '{}', got {}", type, name(p.tensor.dtype()),
          p.name, eps);
    }
  }
}

}  // namespace

Adam::Adam(std::string type, std::vector<ParameterGroup> groups, const AdamOptions& options,
           Decay decay)
    : Optimizer(std::move(type), std::move(groups), {options.lr, options.weight_decay, options.eps},
                {"exp_avg", "exp_avg_sq"}),
      betas_(options.betas),
      decay_(decay) {
  check_beta(this->type(), 0, betas_[0]);
  check_beta(this->type(), 1, betas_[1]);
  for (const ParameterGroup& group : this->groups()) {
    check_eps(this->type(), group, group.eps.value_or(options.eps));
  }
}

Adam::Adam(std::vector<ParameterGroup> groups, const AdamOptions& options)
    : Adam("Adam", std::move(groups), options, Decay::coupled) {}

Adam::Adam(std::vector<NamedParameter> parameters, const AdamOptions& options)
    : Adam(std::vector<ParameterGroup>{{std::move(parameters)}}, options) {}

void Adam::update(Tensor& p, const Tensor& grad, std::span<Tensor> slots,
                  const GroupOptions& group) {
  const auto t = static_cast<double>(steps());
  const double decay = group.weight_decay;
  const double l2 = decay_ == Decay::coupled ? decay : 0.0;
  const double keep = decay_ == Decay::decoupled ? 1.0 - group.lr * decay : 1.0;
  const double rate = group.lr / (1.0 - std::pow(betas_[0], t));
  const double root = 1.0 / std::sqrt(1.0 - std::pow(betas_[1], t));
  autograd::dispatch_real(p.dtype(), "Adam", [&](auto tag) {
    using T = decltype(tag);
    const AdamStep<T> step = {.l2 = T(l2),
                              .keep = T(keep),
                              .rate = T(rate),
                              .root = T(root),
                              .eps = T(group.eps),
                              .beta1 = T(betas_[0]),
                              .beta2 = T(betas_[1]),
                              .share1 = T(1 - betas_[0]),
                              .share2 = T(1 - betas_[1])};
    const T* g = grad.data().read<T>().data();
    p.write<T>([&](std::span<T> x) {
      slots[0].write<T>([&](std::span<T> m) {
        slots[1].write<T>([&](std::span<T> v) {
          autograd::parallel_for(
              p.numel(), autograd::elements_per_piece(),
              [&](Index begin, Index end) { step(x.data(), g, m.data(), v.data(), begin, end); });
        });
      });
    });
  });
}

AdamW::AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options)
    : Adam("AdamW", std::move(groups),
           {options.lr, options.betas, options.eps, options.weight_decay}, Decay::decoupled) {}

AdamW::AdamW(std::vector<NamedParameter> parameters, const AdamWOptions& options)
    : AdamW(std::vector<ParameterGroup>{{std::move(parameters)}}, options) {}

}  // namespace nn
