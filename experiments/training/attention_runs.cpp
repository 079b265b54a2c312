#include "experiments/training/attention_runs.h"

#include <cmath>
#include <memory>
#include <string>

#include "autograd/ops.h"
#include "experiments/report/numbers.h"
#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/optim.h"

namespace experiments::training {
namespace {

using autograd::DType;
using autograd::Tensor;

constexpr Index kBatch = 4, kWidth = 16;  // B, C
constexpr double kEps = 1e-8, kMomentum = 0.9;

/// One head with three separate projections: a fused one is a single parameter, which cannot have
/// two rates.
class Head : public nn::Module {
 public:
  Head(Index d_k, nn::Scale scale, DType dtype, nn::Generator& generator)
      : Module("Head"),
        scale_(scale),
        q_(register_module<nn::Linear>("q", kWidth, d_k, options(dtype), generator)),
        k_(register_module<nn::Linear>("k", kWidth, d_k, options(dtype), generator)),
        v_(register_module<nn::Linear>("v", kWidth, kWidth, options(dtype), generator)) {}

 private:
  static nn::LinearOptions options(DType dtype) {
    return {.bias = nn::Bias::yes, .init = nn::Init::torch, .dtype = dtype};  // biases not 0
  }
  Tensor forward(const Tensor& x) override {  // (B, T, C)
    return nn::attention(q_(x), k_(x), v_(x), {.scale = scale_});
  }

  nn::Scale scale_;
  nn::Linear& q_;
  nn::Linear& k_;
  nn::Linear& v_;
};

double decay_of(Rule rule) {
  switch (rule) {
    case Rule::sgd: return 0;
    case Rule::momentum: return 1e-3;
    case Rule::adamw: break;
  }
  return 0.1;
}

/// Whether p belongs to the query or the key projection.
bool makes_scores(const nn::NamedParameter& p) {
  return p.name.starts_with("q.") || p.name.starts_with("k.");
}

std::vector<nn::ParameterGroup> groups_of(const Head& head, Rule rule, const Factors& factors) {
  const double decay = decay_of(rule);
  nn::ParameterGroup scores{
      .lr_scale = factors.rate, .weight_decay = decay * factors.decay, .eps = kEps * factors.eps};
  nn::ParameterGroup others{.weight_decay = decay, .eps = kEps};
  for (const nn::NamedParameter& p : head.named_parameters())
    (makes_scores(p) ? scores : others).parameters.push_back(p);
  return {scores, others};
}

std::unique_ptr<nn::Optimizer> optimizer_of(const Head& head, const AttentionSetting& setting,
                                            const Factors& factors) {
  std::vector<nn::ParameterGroup> groups = groups_of(head, setting.rule, factors);
  const double lr = setting.learning_rate;
  if (setting.rule == Rule::adamw)
    return std::make_unique<nn::AdamW>(std::move(groups), nn::AdamWOptions{.lr = lr});
  const double momentum = setting.rule == Rule::momentum ? kMomentum : 0;
  return std::make_unique<nn::SGD>(std::move(groups),
                                   nn::SGDOptions{.lr = kSgdRate * lr, .momentum = momentum});
}

/// max |a / start - b|, in f64; NaN if one is.
double gap(const Tensor& a, const Tensor& b, double start) {
  const autograd::NoGrad no_grad;
  return (a.to(DType::f64) / start - b.to(DType::f64)).abs().max().item();
}

void keep_larger(double& worst, double here) {  // a NaN stays
  if (std::isnan(here) || here > worst) worst = here;
}

}  // namespace

const char* name(Rule rule) {
  switch (rule) {
    case Rule::sgd: return "sgd";
    case Rule::momentum: return "momentum";
    case Rule::adamw: break;
  }
  return "adamw";
}

Factors equivalent(Rule rule, Index d_k) {
  const double root = std::sqrt(static_cast<double>(d_k)), s = 1 / std::sqrt(root);
  if (rule == Rule::adamw) return {.start = s, .rate = s, .eps = 1 / s, .decay = 1 / s};
  return {.start = s, .rate = 1 / root, .decay = root};
}

bool is_power_of_16(Index d_k) {
  while (d_k > 1 && d_k % 16 == 0) d_k /= 16;
  return d_k == 1;
}

/// A head in training. Runs of one setting start from the same draws, except for Factors::start.
class AttentionRuns::Trained {
 public:
  Trained(const AttentionSetting& setting, nn::Scale scale, const Factors& factors)
      : generator_(setting.seed),
        x_(randn({kBatch, setting.seq_len, kWidth}, setting.dtype, generator_)),
        target_(randn({kBatch, setting.seq_len, kWidth}, setting.dtype, generator_)),
        head_(setting.d_k, scale, setting.dtype, generator_),
        parameters_(head_.named_parameters()),
        start_(factors.start),
        optimizer_(optimizer_of(head_, setting, factors)) {
    for (nn::NamedParameter& p : parameters_)
      if (makes_scores(p)) p.tensor.set_data((p.tensor.detach() * start_).data());
    look();
  }

  void step() {
    optimizer_->zero_grad();
    loss_.backward();
    optimizer_->step();
    look();
  }

  double loss() const { return loss_.item(); }
  void compare(const Trained& scaled, Gap& worst) const {
    keep_larger(worst.outputs, gap(output_, scaled.output_, 1));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const double start = makes_scores(parameters_[i]) ? start_ : 1;
      keep_larger(worst.weights, gap(parameters_[i].tensor, scaled.parameters_[i].tensor, start));
    }
    worst.loss = loss();
  }

 private:
  void look() {
    output_ = head_(x_);
    loss_ = mse(output_, target_);
  }

  nn::Generator generator_;
  Tensor x_, target_;  // (B, T, C)
  Head head_;
  std::vector<nn::NamedParameter> parameters_;
  double start_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  Tensor output_, loss_;
};

AttentionRuns::AttentionRuns(const AttentionSetting& setting, std::span<const Factors> variants)
    : setting_(setting),
      scaled_(std::make_unique<Trained>(setting, nn::Scale::sqrt_dk(), Factors{})),
      gaps_(variants.size()) {
  for (const Factors& factors : variants)
    unscaled_.push_back(std::make_unique<Trained>(setting, nn::Scale::none(), factors));
  compare();
}

AttentionRuns::~AttentionRuns() = default;
AttentionRuns::AttentionRuns(AttentionRuns&&) noexcept = default;

void AttentionRuns::train(Index steps) {
  for (const Index end = step_ + steps; step_ < end;) {
    scaled_->step();
    for (const auto& run : unscaled_) run->step();
    ++step_;
    compare();
  }
}

double AttentionRuns::scaled_loss() const { return scaled_->loss(); }

void AttentionRuns::compare() {
  if (!std::isfinite(scaled_loss())) {
    autograd::fail<autograd::NumericError>(
        "d_k {}, {}, {}: the scaled run's loss is {} after {} steps; try a --learning-rate below "
        "{}",
        setting_.d_k, autograd::name(setting_.dtype), name(setting_.rule),
        report::shortest(scaled_loss()), step_, setting_.learning_rate);
  }
  for (std::size_t i = 0; i < unscaled_.size(); ++i) unscaled_[i]->compare(*scaled_, gaps_[i]);
}

}  // namespace experiments::training
