#pragma once

#include <string>

#include "autograd/graph/node.h"

namespace autograd {

/// The graph below `root` as DOT text: a box for each node, with op, shape, dtype and scope; leaves
/// are ellipses; edges run from inputs to outputs. Render it with `dot -Tsvg`.
std::string dot(const Ref<Node>& root);

}  // namespace autograd
