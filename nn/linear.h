#pragma once

#include <string>

#include "nn/module.h"
#include "nn/options.h"

namespace nn {

/// (..., in) -> (..., out): x weight^T + bias.
/// Parameters: weight (out, in); bias (out), unless it is off.
class Linear : public Module {
 public:
  /// ValueError for a size below 1.
  Linear(Index in_features, Index out_features, const LinearOptions& options = {},
         Generator& generator = autograd::default_generator());

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined when off

 private:
  Tensor forward(const Tensor& x) override;
  std::string details() const override;

  Tensor weight_;
  Tensor bias_;
};

}  // namespace nn
