#include "nn/init.h"

#include <cmath>

namespace nn {

using autograd::fail;
using autograd::ValueError;

const char* name(Init rule) {
  switch (rule) {
    case Init::lesson: return "lesson";
    case Init::torch: return "torch";
    case Init::gpt2: return "gpt2";
    case Init::unit: break;
  }
  return "unit";
}

Init parse_init(std::string_view text) {
  for (const Init rule : kInits) {
    if (text == name(rule)) return rule;
  }
  fail<ValueError>("init: expected lesson, torch, gpt2 or unit, got '{}'", text);
}

namespace {

double inverse_sqrt(Index fan_in) {
  if (fan_in < 1) fail<ValueError>("init: fan_in must be at least 1, got {}", fan_in);
  return 1.0 / std::sqrt(static_cast<double>(fan_in));
}

}  // namespace

Tensor Initializer::weight(const Shape& shape, Index fan_in) const {
  const double bound = inverse_sqrt(fan_in);
  switch (rule) {
    case Init::lesson: return normal(shape, 0.0, 1.0, dtype, generator);
    case Init::torch: return uniform(shape, -bound, bound, dtype, generator);
    case Init::gpt2: return normal(shape, 0.0, 0.02, dtype, generator);
    case Init::unit: break;
  }
  return normal(shape, 0.0, bound, dtype, generator);
}

Tensor Initializer::bias(const Shape& shape, Index fan_in) const {
  const double bound = inverse_sqrt(fan_in);
  if (rule == Init::torch) return uniform(shape, -bound, bound, dtype, generator);
  return autograd::zeros(shape, dtype);
}

}  // namespace nn
