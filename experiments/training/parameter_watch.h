#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/module.h"

namespace experiments::training {

/// What one optimizer step did to one parameter. Euclidean norms.
struct ParameterStats {
  std::string name;
  std::optional<double> grad_norm;  // of the gradient that the step used; empty without one
  double norm = 0;                  // before the step
  /// |change| / norm; where the norm was 0, of the norm after: 1 if the step left zero, 0 if not.
  /// Not finite only where the values are not.
  double update_ratio = 0;
};

/// Around an optimizer step: before(), step(), after(). Remembers arrays that are copied only when
/// the step writes to them, so a watched step costs one copy of the parameters.
class ParameterWatch {
 public:
  explicit ParameterWatch(std::vector<nn::NamedParameter> parameters);

  void before();
  /// In the order of the parameters; forgets them. std::logic_error without before().
  std::vector<ParameterStats> after();

 private:
  struct Memory {
    autograd::Array value;
    std::optional<double> grad_norm;
  };

  std::vector<nn::NamedParameter> parameters_;
  std::optional<std::vector<Memory>> memory_;
};

}  // namespace experiments::training
