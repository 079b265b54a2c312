#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "autograd/graph/node.h"

namespace autograd {

/// Every node that `root` was computed from, itself among them, by id: oldest first.
std::map<std::uint64_t, Ref<Node>> nodes_below(const Ref<Node>& root);

/// The ids of the nodes on a path from `root` to a target, both ends included: where grad() has to
/// go. GraphError for a target that root does not depend on.
std::set<std::uint64_t> paths_to(const Ref<Node>& root, std::span<const Ref<Node>> targets);

/// GraphError in the name of `op`: the node dropped its rules in an earlier pass.
[[noreturn]] void fail_released(const char* op, const Node& node);

}  // namespace autograd
