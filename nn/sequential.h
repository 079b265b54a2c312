#pragma once

#include "nn/module_list.h"

namespace nn {

/// Its children one after the other, each on the result of the one before; empty, it returns x.
class Sequential : public ModuleList<Module> {
 public:
  Sequential() : ModuleList("Sequential") {}

 private:
  Tensor forward(const Tensor& x) override;
};

}  // namespace nn
