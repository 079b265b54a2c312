#pragma once

#include <string>

#include "nn/module.h"
#include "nn/options.h"

namespace nn {

/// A table of vectors, looked up by index: i64 (...) -> (..., n_embd). An index outside
/// [0, count) is a ValueError. Parameter: weight (count, n_embd).
class Embedding : public Module {
 public:
  /// ValueError for a size below 1.
  Embedding(Index count, Index n_embd, const EmbeddingOptions& options = {},
            Generator& generator = autograd::default_generator());

  const Tensor& weight() const { return weight_; }

 private:
  Tensor forward(const Tensor& index) override;
  std::string details() const override;

  Tensor weight_;
};

}  // namespace nn
