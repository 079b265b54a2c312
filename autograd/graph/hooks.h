#pragma once

#include "autograd/graph/node.h"

namespace autograd {

/// `grad` after all hooks of a node, oldest first. GraphError where a hook returns another shape or
/// dtype.
Array apply_hooks(const Node& node, Array grad);

}  // namespace autograd
