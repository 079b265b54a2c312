#include "autograd/graph/dump.h"

#include "autograd/graph/paths.h"

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
  if (!root) return text + "}\n";
  const std::map<std::uint64_t, const Node*> nodes = nodes_below(*root);
  for (const auto& [id, node] : nodes) text += box(*node);
  for (const auto& [id, node] : nodes) {
    for (const Edge& edge : node->edges) {
      text += fmt::format("  n{} -> n{};\n", edge.input->id, id);
    }
  }
  return text + "}\n";
}

}  // namespace autograd
