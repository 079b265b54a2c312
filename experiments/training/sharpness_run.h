#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/measure/lanczos.h"
#include "nn/scale.h"

// One attention head under plain gradient descent, and the curvature of its loss.

namespace experiments::training {

using autograd::Index;

struct SharpnessOptions {
  Index d_k = 16;
  nn::Scale scale = nn::Scale::sqrt_dk();
  Index batch_size = 4, seq_len = 8, width = 8;  // B, T, C: inputs and targets are (B, T, C)
  double learning_rate = 1;
  std::uint64_t seed = 0;
};

/// Softmax(scale q k^T) v of fixed normal inputs, trained on fixed normal targets by the mean
/// squared error of all of them: nothing is drawn anew, so only the step size is left to make it
/// unstable. Weights start with variance 1 / C, so that q and k are N(0, I). All in f64.
class SharpnessRun {
 public:
  explicit SharpnessRun(const SharpnessOptions& options);
  ~SharpnessRun();
  SharpnessRun(SharpnessRun&&) noexcept;

  void step();  // p -= learning_rate * gradient
  double loss() const;
  /// The largest eigenvalue of the Hessian of the loss.
  measure::Eigenvalue sharpness() const;
  Index parameter_count() const;
  /// The Hessian, (n, n) row-major for n parameters: n times as much work as a product with it.
  std::vector<double> dense_hessian() const;

 private:
  class Head;
  SharpnessOptions options_;
  std::unique_ptr<Head> head_;
};

}  // namespace experiments::training
