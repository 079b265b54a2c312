#pragma once

#include <string>

#include "nn/module.h"

namespace nn {

/// Softmax along `dim`, which may be negative; of any shape, without parameters.
class Softmax : public Module {
 public:
  explicit Softmax(int dim) : Module("Softmax"), dim_(dim) {}

 private:
  Tensor forward(const Tensor& x) override;
  std::string details() const override;

  int dim_;
};

}  // namespace nn
