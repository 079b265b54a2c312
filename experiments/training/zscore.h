#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace experiments::training {

/// How unusual a new value is against a running mean and deviation in which old values fade: one of
/// 50 steps ago counts half.
class ZScore {
 public:
  static constexpr double kHalfLife = 50;        // steps
  static constexpr std::ptrdiff_t kWarmUp = 20;  // values before the first verdict
  static constexpr double kLeastSpread = 1e-9;   // of |mean|: less is rounding

  /// (x - mean) / deviation of the values before x, then counts x. Nothing before kWarmUp finite
  /// values. Never NaN: a NaN is infinitely far above, an infinity infinitely far on its side, and
  /// neither is counted.
  std::optional<double> add(double x);

  double mean() const { return mean_; }  // 0 if empty
  double deviation() const;              // 0 for fewer than two values
  std::ptrdiff_t count() const { return count_; }

  /// All there is to go on from, and the reverse; numbers that no state() gives are passed over.
  using State = std::array<double, 5>;
  State state() const;
  void set_state(const State& state);

 private:
  std::optional<double> judge(double x) const;

  std::ptrdiff_t count_ = 0;
  double weights_ = 0;  // sum of the weights, the newest 1
  double squared_weights_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // weighted, about the mean
};

}  // namespace experiments::training
