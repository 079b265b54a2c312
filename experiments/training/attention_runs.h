#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/array/dtype.h"
#include "experiments/cli/options.h"

// The same attention layer trained with the scale and, under other settings, without it.

namespace experiments::training {

using autograd::Index;

/// adamw decays too; so does momentum, through the gradient.
enum class Rule { sgd, momentum, adamw };
inline constexpr Rule kRules[] = {Rule::sgd, Rule::momentum, Rule::adamw};
const char* name(Rule rule);  // "sgd"

/// What the unscaled run multiplies its settings by, for its query and key projections only.
struct Factors {
  double start = 1;  // weights and biases
  double rate = 1;
  double eps = 1;
  double decay = 1;
};

/// The factors that make the unscaled run the scaled one. With W = s W', s = d^(-1/4), logits and
/// outputs are equal, and the gradient grows by 1 / s. SGD has to move W' by s times what W moves
/// by: rate s^2, decay s^-2. Adam's move does not know the size of a gradient: rate s, eps and
/// decay 1 / s. Where d_k is a power of 16 each factor is a power of two, and every rounding is
/// alike.
Factors equivalent(Rule rule, Index d_k);
bool is_power_of_16(Index d_k);

struct AttentionSetting {
  Index d_k = 16;
  Index seq_len = 8;
  double learning_rate = 0;  // adamw's; sgd and momentum take kSgdRate times as much
  Rule rule = Rule::sgd;
  autograd::DType dtype = autograd::DType::f64;
  std::uint64_t seed = 0;
};
inline constexpr double kSgdRate = 10;

/// The largest distance of an unscaled run from the scaled one over all steps; weights are divided
/// by Factors::start first. NaN once the unscaled run has left the finite numbers.
struct Gap {
  double outputs = 0, weights = 0;
  double loss = 0;  // of the unscaled run, now
};

/// A scaled run, and beside it an unscaled one for each of `variants`, from the same draws: fixed
/// normal inputs and targets, mean squared error.
class AttentionRuns {
 public:
  AttentionRuns(const AttentionSetting& setting, std::span<const Factors> variants);
  ~AttentionRuns();
  AttentionRuns(AttentionRuns&&) noexcept;

  /// NumericError if the loss of the scaled run is not finite.
  void train(Index steps);
  double scaled_loss() const;
  const std::vector<Gap>& gaps() const { return gaps_; }  // in the order of the variants

 private:
  class Trained;
  void compare();

  AttentionSetting setting_;
  std::unique_ptr<Trained> scaled_;
  std::vector<std::unique_ptr<Trained>> unscaled_;
  std::vector<Gap> gaps_;
  Index step_ = 0;
};

}  // namespace experiments::training
