#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck/draw.h"
#include "autograd/gradcheck/gradcheck.h"

namespace autograd {

/// What one trial checks: f at these inputs. f has to compute in the dtype of its inputs and give
/// the same result at each call (dropout: make a Generator with a fixed seed inside f). It may read
/// tensors of its own, such as the parameters of a module, as long as they are among the inputs.
struct Trial {
  std::vector<Tensor> inputs = {};
  GradcheckFunction f = {};
  bool allow_vacuous = false;  // this trial's gradient may be zero everywhere
};

/// One line of a gradcheck table. `make` has to build everything from the draw alone.
struct GradcheckCase {
  std::string name = {};
  std::function<Trial(Draw&)> make = {};
};

/// gradcheck over trials 0 to `trials` - 1; stops at the first that fails. Otherwise the report
/// sums the counts and holds the worst element. The message names case, trial and input shapes.
GradcheckReport check_case(const GradcheckCase& c, std::uint64_t seed, int trials,
                           const GradcheckOptions& options = {});

/// Everything that has to hold for one trial: gradcheck; any subset of inputs may require gradients
/// and the others do not change; f32 agrees with f64; two backwards give exactly twice the
/// gradient; a zero cotangent gives exactly zero; inputs keep their bits; under NoGrad the same
/// bits and no node; the same bits on 1 to 4 threads. Returns what failed, one line each.
std::vector<std::string> battery(const GradcheckCase& c, std::uint64_t seed, int trial);

}  // namespace autograd
