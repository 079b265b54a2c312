#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autograd/array/array.h"
#include "autograd/graph/anomaly.h"

namespace autograd {

struct Node;

/// The gradient of one input from the gradient of the output. Captures Arrays only, never Tensors
/// of the graph it belongs to: then no reference cycle can arise.
using Rule = std::function<Array(const Array& g)>;

/// A rule that adds its gradient to `into` (the shape of the input, zeros at first): for inputs of
/// which an op touches a part, as split and embedding do.
using ScatterRule = std::function<void(const Array& g, Array& into)>;

using GradientRule = std::variant<Rule, ScatterRule>;

/// The gradients of all inputs at once, where they share heavy work; `needs[i]` says whether input
/// i wants one (the others may stay default Arrays).
using JointRule = std::function<std::vector<Array>(const Array& g, const std::vector<bool>& needs)>;

/// One input of an op, as its node sees it.
struct Edge {
  Ref<Node> input;    // who made it, or its leaf; null where it needs no gradient
  GradientRule rule;  // unused in a node with a joint rule
  Shape shape;        // of the input
  bool broadcast;     // seen to broadcast to the output: the engine sums the gradient back
};

/// One op application in the graph, or a leaf that requires a gradient (no edges, op "leaf"). Ids
/// grow with creation, so descending ids are a reverse topological order.
struct Node : RefCounted {
  Node(const char* op, const Shape& shape, DType dtype);
  ~Node();  // iterative: a chain of a million nodes ends on a small stack
  static void destroy(Node* node) noexcept { delete node; }
  static void* operator new(std::size_t bytes) { return pool::allocate(bytes); }
  static void operator delete(void* node, std::size_t bytes) { pool::release(node, bytes); }
  /// Nodes alive in this process.
  static std::int64_t live();

  std::uint64_t id;
  const char* op;                            // a string literal
  std::shared_ptr<const std::string> scope;  // null outside any scope
  Shape shape;
  DType dtype;
  bool is_leaf = false;
  bool retain_grad = false;
  bool released = false;  // ran backward without Retain::yes: edges are gone
  std::vector<Edge> edges;
  JointRule joint;
  std::vector<std::pair<Index, std::function<Array(const Array&)>>> hooks;
  Index next_hook = 0;                           // ids are not used twice
  std::optional<Array> grad;                     // of a leaf, or of a node that retains it
  std::unique_ptr<std::vector<Range>> operands;  // of the forward, if the anomaly guard saw it
};

/// What Tensor handles share: a value and its place in the graph.
struct TensorImpl : RefCounted {
  explicit TensorImpl(Array array) : data(std::move(array)) {}
  static void destroy(TensorImpl* impl) noexcept { delete impl; }
  static void* operator new(std::size_t bytes) { return pool::allocate(bytes); }
  static void operator delete(void* impl, std::size_t bytes) { pool::release(impl, bytes); }

  Array data;
  Ref<Node> node;            // null for a constant
  const char* op = nullptr;  // what computed it, recorded or not; null for a leaf
};
using TensorRef = Ref<TensorImpl>;

}  // namespace autograd
