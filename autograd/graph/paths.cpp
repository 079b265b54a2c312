#include "autograd/graph/paths.h"

namespace autograd {

// With a list of its own instead of recursion, which a deep graph would not survive.
std::map<std::uint64_t, Ref<Node>> nodes_below(const Ref<Node>& root) {
  std::map<std::uint64_t, Ref<Node>> seen;
  std::vector<Ref<Node>> todo{root};
  while (!todo.empty()) {
    const Ref<Node> node = std::move(todo.back());
    todo.pop_back();
    if (!seen.emplace(node->id, node).second) continue;
    const NodeLock lock(*node);
    for (const Edge& edge : node->edges) todo.push_back(edge.input);
  }
  return seen;
}

// Oldest first, a node is on a path if one of its inputs is: by then that is known.
std::set<std::uint64_t> paths_to(const Ref<Node>& root, std::span<const Ref<Node>> targets) {
  const std::map<std::uint64_t, Ref<Node>> below = nodes_below(root);
  std::set<std::uint64_t> paths;
  for (const Ref<Node>& target : targets) paths.insert(target->id);
  const Node* released = nullptr;  // a target may lie behind it
  for (const auto& [id, node] : below) {
    const NodeLock lock(*node);
    if (node->released && !paths.count(id)) released = node.get();
    for (const Edge& edge : node->edges) {
      if (paths.count(edge.input->id)) paths.insert(id);
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (below.count(targets[i]->id)) continue;
    if (released) fail_released("grad", *released);
    fail<GraphError>("grad: the output does not depend on input {}", i);
  }
  return paths;
}

void fail_released(const char* op, const Node& node) {
  fail<GraphError>(
      "{}: {} already ran backward and dropped what it had saved; pass Retain::yes to the first "
      "backward() or grad() to run another",
      op, node.where());
}

}  // namespace autograd
