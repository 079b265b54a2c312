#pragma once

#include <map>
#include <string>

#include "autograd/graph/node.h"

namespace autograd {

/// What only the holder of a node's tensor knows: what it calls it, and its value.
struct NodeLabel {
  std::string name;
  Array value;
};

/// The graph below `root` as DOT text: a box for each node, with op, shape, dtype, scope, its label
/// (by id) and the gradient it kept; leaves are ellipses, what ran backward and lost its inputs is
/// dashed; edges run from inputs to outputs. Render it with `dot -Tsvg`.
std::string dot(const Ref<Node>& root, const std::map<std::uint64_t, NodeLabel>& labels);

}  // namespace autograd
