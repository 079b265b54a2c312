#pragma once

#include <string>

#include "nn/module.h"

namespace nn {

/// In training each element is 0 with probability p, else divided by 1 - p; p = 0 keeps x, p = 1
/// gives zeros. In evaluation the result is x itself.
class Dropout : public Module {
 public:
  /// Draws from a stream of its own, forked from `generator`. ValueError unless p is in [0, 1].
  explicit Dropout(double p, Generator& generator = autograd::default_generator());

  double p() const { return p_; }
  /// Restoring its state repeats the masks drawn since.
  Generator& generator() { return generator_; }

 private:
  Tensor forward(const Tensor& x) override;
  std::string details() const override;

  double p_;
  Generator& generator_;
};

}  // namespace nn
