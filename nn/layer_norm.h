#pragma once

#include <string>

#include "nn/module.h"
#include "nn/options.h"

namespace nn {

/// Normalisation of the last dim: (x - mean) / sqrt(variance + eps) * weight + bias, (..., size) ->
/// (..., size). Parameters: weight (size), ones at first; bias (size), zeros, unless it is off.
class LayerNorm : public Module {
 public:
  /// ValueError for a size below 1 or an eps that is not above 0.
  explicit LayerNorm(Index size, const LayerNormOptions& options = {});

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined when off

 private:
  Tensor forward(const Tensor& x) override;
  std::string details() const override;

  double eps_;
  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
