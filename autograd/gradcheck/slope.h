#pragma once

#include <functional>

namespace autograd {

/// phi(t) - phi(s) for a function phi of one number. As one call, so that it can be computed
/// without the cancellation of two sums.
struct Moved {
  double value = 0;
  double size = 0;  // of what phi is a sum of: it is known to some roundings of this, no better
};
using Difference = std::function<Moved(double t, double s)>;

/// A measured slope, and how far the rounding of phi may have put it off.
struct Quotient {
  double slope = 0;
  double noise = 0;
};

struct Tolerance {
  double rtol;
  double atol;
  /// How far a right gradient may be from the measured one.
  double of(const Quotient& numeric) const;
  bool agree(double analytic, const Quotient& numeric) const;  // never for NaN or infinities
};

enum class SlopeKind {
  smooth,     // the first step decided
  refined,    // agreed at a smaller step only
  kink,       // the slope jumps at 0 itself
  flat,       // phi does not change by a bit, and the gradient is 0 to rounding
  undecided,  // both numbers drown in the rounding of phi, so neither agrees with the other
};

struct Slope {
  SlopeKind kind = SlopeKind::smooth;
  Quotient numeric = {};  // phi'(0); at a kink, the value between both slopes nearest to `analytic`
  double step = 0;        // at which it was found
  double left = 0;        // one-sided slopes, at a kink only
  double right = 0;
};

/// Measures phi'(0) to hold `analytic` to it. Central differences at h and h / 2 with Richardson
/// extrapolation are exact up to h^4, so that for a smooth phi the first step decides. Where it
/// disagrees, smaller steps are tried (a kink may lie within h of 0), and then the one-sided
/// slopes: where phi is smooth their jump halves with the step, at a kink it stays. Where both
/// numbers are too small to be told from the rounding of phi, it is left undecided, or, with
/// Effort::all, larger steps are tried, over which phi moves further.
enum class Effort { first, all };
Slope measure_slope(const Difference& difference, double analytic, double step,
                    const Tolerance& tolerance, Effort effort = Effort::all);

}  // namespace autograd
