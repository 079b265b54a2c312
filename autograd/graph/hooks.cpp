#include "autograd/graph/hooks.h"

namespace autograd {

Array apply_hooks(const Node& node, Array grad) {
  const auto hooks = node.hooks;  // a copy: a hook may remove itself or add another
  for (const auto& hook : hooks) {
    grad = hook.second(grad);
    if (grad.shape() != node.shape || grad.dtype() != node.dtype) {
      fail<GraphError>("hook on {}: expected a gradient of shape {} of {}, got {} of {}",
                       node.where(), node.shape.str(), name(node.dtype), grad.shape().str(),
                       name(grad.dtype()));
    }
  }
  return grad;
}

}  // namespace autograd
