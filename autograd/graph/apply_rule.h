#pragma once

#include "autograd/graph/node.h"

namespace autograd {

/// Runs the rule of one edge of a node on `grad`, the gradient of the node, and adds what it gives
/// to `sum`, the gradient of the input so far (none at first). Sums over what was broadcast.
/// GraphError where a rule gives another shape or dtype than that of the input.
void apply_rule(const Node& node, std::size_t edge, const Array& grad, std::optional<Array>& sum);

}  // namespace autograd
