#include "nn/embedding.h"

namespace nn {

Embedding::Embedding(Index count, Index n_embd, const EmbeddingOptions& options,
                     Generator& generator)
    : Module("Embedding") {
  if (count < 1 || n_embd < 1) {
    autograd::fail<autograd::ValueError>("Embedding: sizes must be at least 1, got {} of {}", count,
                                         n_embd);
  }
  const Init rule = options.init == Init::torch ? Init::lesson : options.init;  // N(0, 1)
  const Initializer init{rule, options.dtype, generator};
  const Shape shape{count, n_embd};
  weight_ = register_parameter("weight", shape, [&] { return init.weight(shape, n_embd); });
}

Tensor Embedding::forward(const Tensor& index) { return embedding(weight_, index); }

std::string Embedding::details() const {
  const Shape& shape = shape_of("weight");
  return fmt::format("{} of {}", shape[0], shape[1]);
}

}  // namespace nn
