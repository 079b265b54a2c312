#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace nn {

using autograd::Gelu;

struct MlpOptions {
  double dropout = 0.0;
  Bias bias = Bias::yes;
  Gelu gelu = Gelu::erf;
  Init init = Init::gpt2;
  DType dtype = DType::f32;
};

/// What follows attention in a block, each position by itself: n_embd -> 4 n_embd, gelu,
/// -> n_embd, dropout. Parameters: fc.weight (4 n_embd, n_embd), [fc.bias], proj.weight (n_embd,
/// 4 n_embd), [proj.bias].
class Mlp : public Module {
 public:
  explicit Mlp(Index n_embd, const MlpOptions& options = {},
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
