#include "autograd/graph/dump.h"

#include <map>
#include <vector>

namespace autograd {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string box(const Node& node) {
  std::string label = fmt::format("{}\\n{} {}", node.op, node.shape.str(), name(node.dtype));
  if (node.scope) label += "\\n" + escaped(*node.scope);
  return fmt::format("  n{} [label=\"{}\"{}];\n", node.id, label,
                     node.is_leaf ? ", shape=ellipse" : "");
}

}  // namespace

std::string dot(const Ref<Node>& root) {
  std::string text = "digraph autograd {\n  rankdir=TB;\n  node [shape=box];\n";
  std::map<std::uint64_t, const Node*> seen;
  std::vector<const Node*> todo;
  if (root) todo.push_back(root.get());
  while (!todo.empty()) {
    const Node* node = todo.back();
    todo.pop_back();
    if (!seen.emplace(node->id, node).second) continue;
    for (const Edge& edge : node->edges) {
      if (edge.input) todo.push_back(edge.input.get());
    }
  }
  for (const auto& [id, node] : seen) text += box(*node);
  for (const auto& [id, node] : seen) {
    for (const Edge& edge : node->edges) {
      if (edge.input) text += fmt::format("  n{} -> n{};\n", edge.input->id, id);
    }
  }
  return text + "}\n";
}

}  // namespace autograd
