#include "nn/gradcheck/gradcheck.h"

namespace nn {

autograd::GradcheckReport gradcheck(Module& module, const Tensor& x,
                                    autograd::GradcheckOptions options) {
  std::vector<Tensor> inputs{x};
  options.names = {"x"};
  for (const NamedParameter& p : module.named_parameters()) {
    inputs.push_back(p.tensor);
    options.names.push_back(p.name);
  }
  return autograd::gradcheck([&module](const std::vector<Tensor>& in) { return module(in[0]); },
                             inputs, options);
}

}  // namespace nn
