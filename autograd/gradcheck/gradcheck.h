#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace autograd {

/// What is allowed between a gradient and the number measured is rtol of that number, plus what the
/// rounding of f may do to it: 64 units in the last place of its outputs over the step. So it
/// follows the size of both, and a gradient of 1e-8 is checked as one of 1 is.
struct GradcheckOptions {
  double rtol = 1e-6;
  double atol = 0;     // allowed besides, for an f that rounds worse inside than its outputs show
  double step = 1e-3;  // of the central differences, times max(1, |x|); where the gradient
                       // disagrees, 0.1, 0.01 and 0.001 of it are tried too
  Index max_elements = 512;    // an input with more is sampled
  std::uint64_t seed = 0;      // of the cotangent and the sample
  bool allow_vacuous = false;  // accept a function whose gradient is zero everywhere, or looks it
  std::vector<std::string> names = {};  // of the inputs, for messages; else "input 0", "input 1"
};

/// Undecided is what could not be checked: f is flat, bit for bit, or whatever it does is lost in
/// its rounding, so that another gradient would have passed as well.
enum class Verdict { right, wrong, undecided };

/// One compared number. `index` is the row-major position in the input, or one of the two below.
struct GradcheckElement {
  static constexpr Index kRandomDirection = -1;  // the derivative along one
  static constexpr Index kKinksTogether = -2;    // along the move of all points at a kink at once

  int input = 0;
  Index index = 0;
  double analytic = 0;
  double numeric = 0;
  double abs_error = 0;  // at a kink: from the nearest of the slopes between left and right
  double rel_error = 0;  // abs_error / max(|analytic|, |numeric|, (atol + rounding) / rtol): what
                         // is forgiven is no large error beside two numbers that are nearly nothing
  double excess = 0;     // abs_error / (atol + rtol * |numeric| + rounding): above 1 fails
};

struct GradcheckReport {
  Verdict verdict = Verdict::right;
  bool ok = true;       // the verdict is right
  Index checked = 0;    // numbers compared
  Index wrong = 0;      // of these, how many are too far apart
  Index undecided = 0;  // and about how many nothing can be told; where it is all of them that are
                        // not flat, the verdict is undecided
  Index kinks = 0;      // points where the function bends: held to the bracket of both slopes
  Index refined = 0;    // points that agree only at a smaller step: a kink or a sharp bend nearby
  GradcheckElement worst;  // largest excess
  std::string message;  // "" when ok (or a note on kinks, or on numbers left undecided); else what
                        // failed and where, one line
};

using GradcheckFunction = std::function<Tensor(const std::vector<Tensor>& inputs)>;

/// Holds the gradients that backward computes for f at `inputs` to numerical ones: f64, central
/// differences at two steps sharpened by Richardson extrapolation, a random cotangent (a plain sum
/// would let softmax pass with any gradient). Checks every input that requires a gradient; f64 only
/// (DTypeError). Inputs are perturbed in place and restored, so modules whose parameters are among
/// them can be checked. Also fails when f is not deterministic, when two backwards differ in a bit,
/// when f changes its inputs, and when a gradient has another shape than its input; it is undecided
/// when f is flat (vacuous) or lost in rounding. Numbers too small to be told from the rounding of
/// f are tried with a cotangent that weighs every output by 1 / |output|, as an output of 1e-18 is
/// known to as many digits as its neighbour of 1, and then over larger steps. At a kink the
/// analytic value has to lie between the one-sided slopes; where there are several, also when all
/// of them move at once (a tie of max must share). GraphError if no input requires a gradient, or
/// one that does is the result of an op. What f throws passes through; the inputs are restored all
/// the same. Their `.grad` is not touched.
GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// The same against gradients claimed by the caller: claimed(inputs, cotangent) returns one
/// gradient per input.
using ClaimedGradient =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs, const Tensor& cotangent)>;
GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const ClaimedGradient& claimed, const GradcheckOptions& options = {});

}  // namespace autograd
