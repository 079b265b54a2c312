#pragma once

#include <string>

#include "autograd/gradcheck/battery.h"

namespace autograd {

/// What dual numbers give for one trial or many, held to what is known otherwise. An excess is an
/// error over what is allowed: above 1 fails.
struct SecondOrderReport {
  bool ok = true;
  Index products = 0;   // Hessian-vector products compared
  double hvp = 0;       // excess of hvp, against central differences of the gradient
  double symmetry = 0;  // of v.Hw = w.Hv
  double jvp = 0;       // of c.(J v) = (J^T c).v, forward against backward
  double worst() const;
  std::string message;  // "" when ok; else what failed and where, one line
};

/// Checks trials 0 to `trials` - 1 of a case, in random directions of all its float inputs at once,
/// and stops at the first that fails. The scalar whose Hessian is taken is c.y + y.y / 2 with a
/// random c, y the result of the case: the products of first derivatives in it leave no op with a
/// Hessian of 0.
SecondOrderReport check_second_order(const GradcheckCase& c, std::uint64_t seed, int trials);

}  // namespace autograd
