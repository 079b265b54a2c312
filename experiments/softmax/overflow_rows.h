#pragma once

#include <functional>

#include "autograd/array/array.h"

// Softmax as printed and softmax shifted, on one row of scores at a time, in f32 or f64.

namespace experiments::softmax {

using autograd::Index;

/// T evenly spaced scores from `top` down to top - 1, (1, T): as far apart as scaled scores are,
/// wherever they lie.
autograd::Array row_of_scores(double top, Index T, autograd::DType dtype);

enum class Method { naive, shifted };

/// How the weights of a row came out. `error` is the largest relative error of a weight against
/// long double (with the maximum subtracted); NaN if a weight is NaN.
struct Weights {
  double error;
  const char* outcome;  // "ok"; "inaccurate": error above 100 eps; "zeros": all of them; "nan"
};
Weights weights_of(const autograd::Array& scores, Method method);

/// The scores at which a dtype stops coping, each found by bisection down to neighbouring numbers
/// of that dtype; scores beyond it fail.
struct Breaks {
  double sum;        // the last top whose weights are good: then sum(exp) is inf, every weight 0
  double nan_above;  // the last top without a nan: then exp is inf, inf / inf = nan
  double subnormal;  // the last s at which exp(-s) is a normal number: then digits go
  double nan_below;  // the last s at which a row with top -s has no nan: then all exp are 0, 0 / 0
};
Breaks find_breaks(Index T, autograd::DType dtype);

/// The same in closed form, with L = ln of the sum of exp(score - top) of a row: ln max - L, ln
/// max, -ln of the smallest normal number, -ln of half the smallest subnormal one.
Breaks expected_breaks(Index T, autograd::DType dtype);

}  // namespace experiments::softmax
