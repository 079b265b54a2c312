#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace nn {

/// The part of a block after attention, each position by itself: n_embd -> 4 n_embd, gelu,
/// -> n_embd, dropout. Parameters: fc.weight (4 n_embd, n_embd), [fc.bias], proj.weight (n_embd,
/// 4 n_embd), [proj.bias].
class MLP : public Module {
 public:
  explicit MLP(Index n_embd, const MLPOptions& options = {},
               Generator& generator = autograd::default_generator());

  const Linear& proj() const { return proj_; }  // what is added to the residual stream

 private:
  Tensor forward(const Tensor& x) override;

  Gelu gelu_;
  Linear& fc_;
  Linear& proj_;
  Dropout& dropout_;
};

}  // namespace nn
