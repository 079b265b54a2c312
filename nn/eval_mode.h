#pragma once

#include <utility>
#include <vector>

#include "nn/module.h"

namespace nn {

/// While it lives, `model` is in evaluation mode and nothing is recorded; then every module gets
/// back the mode that it had.
class EvalMode {
 public:
  explicit EvalMode(Module& model) {
    for (const NamedModule& m : model.named_modules()) {
      before_.emplace_back(m.module, m.module->training());
    }
    model.eval();
  }
  ~EvalMode() {
    for (const auto& [module, training] : before_) {  // parents first: they set all below them
      if (training) module->train();
      else module->eval();
    }
  }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> before_;
  autograd::NoGrad no_grad_;
};

}  // namespace nn
