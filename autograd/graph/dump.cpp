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

/// " = [1, -0.5]", or nothing where that would be long.
std::string few_numbers(const Array& a) {
  constexpr Index kFew = 8;
  if (a.numel() > kFew) return "";
  std::string text;
  for (Index i = 0; i < a.numel(); ++i) {
    text += fmt::format("{}{:.5g}", text.empty() ? "" : ", ", a.at(i));
  }
  return a.rank() == 0 ? " = " + text : " = [" + text + "]";
}

std::string box(const Node& node, const NodeLabel* label) {
  std::string text = fmt::format("{}\\n{} {}", node.op, node.shape.str(), name(node.dtype));
  if (label) text = escaped(label->name) + few_numbers(label->value) + "\\n" + text;
  if (node.grad) text += "\\ngrad" + few_numbers(*node.grad);
  if (node.scope) text += "\\n" + escaped(*node.scope);
  if (node.released) text += "\\nran backward: inputs dropped (Retain::yes keeps them)";
  return fmt::format("  n{} [label=\"{}\"{}{}];\n", node.id, text,
                     node.is_leaf ? ", shape=ellipse" : "", node.released ? ", style=dashed" : "");
}

}  // namespace

std::string dot(const Ref<Node>& root, const std::map<std::uint64_t, NodeLabel>& labels) {
  std::string text = "digraph autograd {\n  rankdir=TB;\n  node [shape=box];\n";
  if (!root) return text + "}\n";
  const std::map<std::uint64_t, Ref<Node>> nodes = nodes_below(root);
  for (const auto& [id, node] : nodes) {
    const auto label = labels.find(id);
    const NodeLock lock(*node);
    text += box(*node, label == labels.end() ? nullptr : &label->second);
  }
  for (const auto& [id, node] : nodes) {
    const NodeLock lock(*node);
    for (const Edge& edge : node->edges) {
      text += fmt::format("  n{} -> n{};\n", edge.input->id, id);
    }
  }
  return text + "}\n";
}

}  // namespace autograd
