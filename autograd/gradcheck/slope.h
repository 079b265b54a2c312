#pragma once

#include <functional>

namespace autograd {

/// phi(t) - phi(s) for a function phi of one number. As one call, so that it can be computed
/// without the cancellation of two sums.
using Difference = std::function<double(double t, double s)>;

struct Tolerance {
  double rtol;
  double atol;
  double of(double numeric) const;
  bool agree(double analytic, double numeric) const;  // never for NaN or infinities
  /// The size of a number of which both tolerances allow the same error.
  double knee() const { return rtol > 0 ? atol / rtol : 0; }
};

enum class SlopeKind {
  smooth,   // the first step decided
  refined,  // agreed at a smaller step only
  kink,     // the slope jumps at 0 itself
};

struct Slope {
  SlopeKind kind = SlopeKind::smooth;
  double numeric = 0;  // phi'(0); at a kink, the value between both slopes nearest to `analytic`
  double step = 0;     // at which it was found
  double left = 0;     // one-sided slopes, at a kink only
  double right = 0;
};

/// Measures phi'(0) to hold `analytic` to it. Central differences at h and h / 2 with Richardson
/// extrapolation are exact up to h^4, so that for a smooth phi the first step decides. Only where
/// it disagrees, smaller steps are tried (a kink may lie within h of 0), and then the one-sided
/// slopes: where phi is smooth their jump halves with the step, at a kink it stays.
Slope measure_slope(const Difference& difference, double analytic, double step,
                    const Tolerance& tolerance);

}  // namespace autograd
