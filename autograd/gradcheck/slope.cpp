#include "autograd/gradcheck/slope.h"

#include <algorithm>
#include <cmath>

namespace autograd {
namespace {

constexpr int kSmaller = 3, kLarger = 2;  // tenfold steps tried below the first one, and above
constexpr double kLargestStep = 0.5;
constexpr double kRoundings = 64;  // of 2^-53 each, that a value of phi may be off by
constexpr double kDoubt = 64;      // times the noise: as far as worse rounding inside phi may go
// A gradient is told from twice itself, and from nothing, where the noise is less than a quarter of
// it. Where there may be a better way to tell, it has to be less than a hundredth.
constexpr double kTelling = 0.25, kTellingWell = 0.01;
constexpr double kCoarse = 0.05;  // of a larger step: how far truncation may put it off

Quotient central(const Difference& difference, double h) {
  const Moved moved = difference(h, -h);
  return {moved.value / (2 * h), kRoundings * 0x1p-53 * moved.size / h};
}

struct Extrapolated : Quotient {
  double correction;  // by the h^2 term: what it took away bounds what is left
};

/// (4 D(h / 2) - D(h)) / 3: the h^2 terms of both central differences cancel.
Extrapolated richardson(const Difference& difference, double h) {
  const Quotient half = central(difference, h / 2), whole = central(difference, h);
  const double slope = (4 * half.slope - whole.slope) / 3;
  return {{slope, half.noise}, slope - half.slope};
}

struct OneSided {
  double left, right;  // extrapolated to h = 0
  double jump;         // right - left at h
  double half_jump;    // and at h / 2
  double noise;
};

OneSided one_sided(const Difference& difference, double h) {
  const Moved up = difference(h, 0), half_up = difference(h / 2, 0);
  const Moved down = difference(0, -h), half_down = difference(0, -h / 2);
  const double right = up.value / h, right_half = half_up.value / (h / 2);
  const double left = down.value / h, left_half = half_down.value / (h / 2);
  const double noise = kRoundings * 0x1p-53 * std::max(up.size, down.size) / (h / 2);
  return {2 * left_half - left, 2 * right_half - right, right - left, right_half - left_half,
          noise};
}

/// The slope, and noise that is not known from the size of phi alone: what rounds worse inside than
/// its result shows gives another number at another step, while a slope stays.
Quotient measured(const Difference& difference, double analytic, double h,
                  const Tolerance& tolerance) {
  Quotient at = richardson(difference, h);
  const bool doubtful = std::abs(analytic - at.slope) <= kDoubt * at.noise;
  if (!doubtful || tolerance.agree(analytic, at)) return at;
  const double spread = std::abs(richardson(difference, 10 * h).slope - at.slope);
  if (std::isfinite(spread)) at.noise = std::max(at.noise, 2 * spread);
  return at;
}

/// Whether the larger of both numbers stands out of the noise.
bool tells(double analytic, const Quotient& numeric, double telling = kTelling) {
  const double larger = std::max(std::abs(analytic), std::abs(numeric.slope));
  return numeric.noise <= telling * larger;
}

/// What larger steps say where `first` says nothing.
Slope from_larger_steps(const Difference& difference, double analytic, double step,
                        const Quotient& first) {
  bool still = first.slope == 0;
  Quotient last = first;
  double h = step * 10;
  for (int i = 0; i < kLarger && h <= kLargestStep; ++i, h *= 10) {
    Extrapolated at = richardson(difference, h);
    if (!std::isfinite(at.slope)) break;
    at.noise = std::max(at.noise, first.noise * step / h);
    still = still && at.slope == 0;
    last = at;
    if (!tells(analytic, at)) continue;
    if (std::abs(at.correction) > kCoarse * std::abs(at.slope)) break;  // bends: no word on 0
    Quotient numeric = at;
    numeric.noise += kCoarse * std::abs(at.slope);
    return {SlopeKind::smooth, numeric, h};
  }
  const bool flat = still && std::abs(analytic) <= last.noise;
  return {flat ? SlopeKind::flat : SlopeKind::undecided, flat ? last : first, step};
}

}  // namespace

double Tolerance::of(const Quotient& numeric) const {
  return atol + rtol * std::abs(numeric.slope) + numeric.noise;
}

bool Tolerance::agree(double analytic, const Quotient& numeric) const {
  return std::isfinite(numeric.slope) && std::abs(analytic - numeric.slope) <= of(numeric);
}

Slope measure_slope(const Difference& difference, double analytic, double step,
                    const Tolerance& tolerance, Effort effort) {
  const double telling = effort == Effort::first ? kTellingWell : kTelling;
  Slope first;
  double h = step;
  for (int i = 0; i <= kSmaller; ++i, h /= 10) {
    const Quotient numeric =
        i == 0 ? measured(difference, analytic, h, tolerance) : Quotient(richardson(difference, h));
    const bool nothing = analytic == 0 && numeric.slope == 0;
    if (tolerance.agree(analytic, numeric)) {
      if (i > 0 && (nothing || tells(analytic, numeric))) return {SlopeKind::refined, numeric, h};
      if (i == 0 && nothing) return {SlopeKind::flat, numeric, h};
      if (i == 0 && tells(analytic, numeric, telling)) return {SlopeKind::smooth, numeric, h};
      if (i == 0 && effort == Effort::first) return {SlopeKind::undecided, numeric, h};
      if (i == 0) return from_larger_steps(difference, analytic, step, numeric);
    }
    if (i == 0 || !std::isfinite(first.numeric.slope)) first = {SlopeKind::smooth, numeric, h};
  }
  h *= 10;  // the smallest step tried

  const OneSided slopes = one_sided(difference, h);
  const double jump = std::abs(slopes.jump);
  const auto [low, high] = std::minmax({slopes.left, slopes.right});
  const double nearest = std::clamp(analytic, low, high);
  // A jump within rounding, or far smaller than the disagreement, explains nothing.
  const Quotient steepest{std::max(std::abs(low), std::abs(high)), slopes.noise};
  const bool explains = jump > tolerance.of(steepest) && jump > 1e-3 * std::abs(analytic - nearest);
  // At half the step a smooth function halves the jump, a kink keeps it, a discontinuity doubles
  // it.
  const double half_jump = std::abs(slopes.half_jump);
  const bool stays = half_jump > 0.75 * jump && half_jump < 1.5 * jump;
  if (!explains || !stays || !std::isfinite(low) || !std::isfinite(high)) return first;
  return {SlopeKind::kink, {nearest, slopes.noise}, h, slopes.left, slopes.right};
}

}  // namespace autograd
