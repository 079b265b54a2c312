#include "autograd/gradcheck/slope.h"

#include <algorithm>
#include <cmath>

namespace autograd {
namespace {

constexpr int kSteps = 4;  // h, h / 10, h / 100, h / 1000
constexpr double kShrink = 0.1;

double central(const Difference& difference, double h) { return difference(h, -h) / (2 * h); }

/// (4 D(h / 2) - D(h)) / 3: the h^2 terms of both central differences cancel.
double richardson(const Difference& difference, double h) {
  return (4 * central(difference, h / 2) - central(difference, h)) / 3;
}

struct OneSided {
  double left, right;  // extrapolated to h = 0
  double jump;         // right - left at h
  double half_jump;    // and at h / 2
};

OneSided one_sided(const Difference& difference, double h) {
  const double right = difference(h, 0) / h, right_half = difference(h / 2, 0) / (h / 2);
  const double left = difference(0, -h) / h, left_half = difference(0, -h / 2) / (h / 2);
  return {2 * left_half - left, 2 * right_half - right, right - left, right_half - left_half};
}

}  // namespace

double Tolerance::of(double numeric) const { return atol + rtol * std::abs(numeric); }

bool Tolerance::agree(double analytic, double numeric) const {
  return std::isfinite(numeric) && std::abs(analytic - numeric) <= of(numeric);
}

Slope measure_slope(const Difference& difference, double analytic, double step,
                    const Tolerance& tolerance) {
  Slope first;
  double h = step;
  for (int i = 0; i < kSteps; ++i, h *= kShrink) {
    const double numeric = richardson(difference, h);
    const SlopeKind kind = i == 0 ? SlopeKind::smooth : SlopeKind::refined;
    if (tolerance.agree(analytic, numeric)) return {kind, numeric, h};
    if (i == 0 || !std::isfinite(first.numeric)) first = {SlopeKind::smooth, numeric, h};
  }
  h /= kShrink;  // the smallest step tried

  const OneSided slopes = one_sided(difference, h);
  const double jump = std::abs(slopes.jump);
  const auto [low, high] = std::minmax({slopes.left, slopes.right});
  const double nearest = std::clamp(analytic, low, high);
  // A jump within rounding, or far smaller than the disagreement, explains nothing.
  const bool explains = jump > tolerance.of(std::max(std::abs(low), std::abs(high))) &&
                        jump > 1e-3 * std::abs(analytic - nearest);
  // At half the step a smooth function halves the jump, a kink keeps it, a discontinuity doubles
  // it.
  const double half_jump = std::abs(slopes.half_jump);
  const bool stays = half_jump > 0.75 * jump && half_jump < 1.5 * jump;
  if (!explains || !stays || !std::isfinite(low) || !std::isfinite(high)) return first;
  return {SlopeKind::kink, nearest, h, slopes.left, slopes.right};
}

}  // namespace autograd
