#pragma once

#include <array>
#include <string_view>

#include "nn/types.h"

namespace nn {

/// How a weight with fan_in inputs per output starts. Biases start at zero, except with torch.
/// An Embedding has no inputs to count: it takes fan_in to be n_embd, and with torch starts at
/// N(0, 1), as PyTorch's does.
enum class Init {
  lesson,  // N(0, 1)
  torch,   // U(-b, b) with b = 1 / sqrt(fan_in), biases too: what PyTorch's Linear does by default
  gpt2,    // N(0, 0.02^2)
  unit,    // N(0, 1 / fan_in): inputs of variance one give outputs of variance one
};

inline constexpr std::array kInits = {Init::lesson, Init::torch, Init::gpt2, Init::unit};

const char* name(Init rule);
/// ValueError with the text and the allowed names.
Init parse_init(std::string_view text);

/// Draws parameters by one rule: Initializer{Init::gpt2, DType::f32, generator}.weight(...).
struct Initializer {
  Init rule;
  DType dtype;  // f32 gives the numbers of f64, rounded
  Generator& generator;

  Tensor weight(const Shape& shape, Index fan_in) const;  // fan_in at least 1
  Tensor bias(const Shape& shape, Index fan_in) const;
};

}  // namespace nn
