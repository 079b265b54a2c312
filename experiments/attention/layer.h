#pragma once

#include <string>

#include "experiments/experiment.h"
#include "nn/attention.h"

namespace experiments::attention {

/// The options of the commands that look into one attention layer.
struct LayerOptions {
  Index n_embd = 64, n_head = 4;
  std::string init = "unit";
  nn::Scale scale = nn::Scale::sqrt_dk();

  /// `heads` are the spellings of --n-head.
  void add_to(Options& options, const std::string& heads = "--n-head");
  /// UsageError unless the heads divide the channels.
  nn::MultiHeadAttentionOptions config(autograd::DType dtype) const;
  /// A rough estimate for the layer and one forward and backward pass over T positions.
  double bytes(autograd::DType dtype, Index T) const;
};

}  // namespace experiments::attention
