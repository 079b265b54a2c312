#include "experiments/training/zscore.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace experiments::training {

std::optional<double> ZScore::add(double x) {
  const std::optional<double> z = judge(x);
  const double step = x - mean_;
  if (!std::isfinite(step * step)) return z;  // of finite values too, where the square overflows
  const double fade = std::exp2(-1 / kHalfLife);
  ++count_;
  weights_ = fade * weights_ + 1;
  squared_weights_ = fade * fade * squared_weights_ + 1;
  mean_ += step / weights_;
  squares_ = fade * squares_ + step * (x - mean_);
  return z;
}

std::optional<double> ZScore::judge(double x) const {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (count_ < kWarmUp) return std::nullopt;
  if (std::isnan(x)) return kInf;
  const double step = x - mean_;
  if (step == 0) return 0;
  return step / std::max(deviation(), kLeastSpread * std::abs(mean_));  // an infinity for a zero
}

ZScore::State ZScore::state() const {
  return {static_cast<double>(count_), weights_, squared_weights_, mean_, squares_};
}

void ZScore::set_state(const State& state) {
  const auto sane = [](double x) { return std::isfinite(x) && std::abs(x) < 1e300; };
  if (!std::all_of(state.begin(), state.end(), sane) || !(state[0] >= 0 && state[0] < 1e15)) return;
  count_ = static_cast<std::ptrdiff_t>(state[0]);
  weights_ = state[1];
  squared_weights_ = state[2];
  mean_ = state[3];
  squares_ = state[4];
}

// Unbiased for independent values with such weights.
double ZScore::deviation() const {
  if (count_ < 2) return 0;
  return std::sqrt(squares_ / (weights_ - squared_weights_ / weights_));
}

}  // namespace experiments::training
