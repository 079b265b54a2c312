#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "autograd/array/array.h"

namespace autograd {

struct Node;

/// The gradient of one input from the gradient of the output. Captures Arrays only, never Tensors
/// of the graph it belongs to: then no reference cycle can arise.
using Rule = std::function<Array(const Array& g)>;

/// A rule that adds its gradient to `into` (the shape of the input, zeros at first): for inputs of
/// which an op touches a part, as split and embedding do.
using ScatterRule = std::function<void(const Array& g, Array& into)>;

using GradientRule = std::variant<Rule, ScatterRule>;

/// The way back from an op to one of its inputs. Only inputs that need a gradient have one.
struct Edge {
  Ref<Node> input;  // who made it, or its leaf
  GradientRule rule;
  Shape shape;     // of the input
  bool broadcast;  // seen to broadcast to the output: the engine sums the gradient back
};

/// What an observer remembers about one node; see Observer.
struct Note {
  virtual ~Note() = default;
};

/// One op application in the graph, or a leaf that requires a gradient (no edges, op "leaf"). Ids
/// grow with creation, so descending ids are a reverse topological order.
struct Node : RefCounted {
  /// A hook takes the gradient of its node and returns what shall take its place.
  using Hook = std::function<Array(const Array& grad)>;

  Node(const char* op, const Shape& shape, DType dtype);
  ~Node();  // iterative: a chain of a million nodes ends on a small stack
  static void destroy(Node* node) noexcept { delete node; }
  static void* operator new(std::size_t bytes) { return pool::allocate(bytes); }
  static void operator delete(void* node, std::size_t bytes) { pool::release(node, bytes); }
  /// Nodes alive in this process.
  static std::int64_t live();
  /// "softmax (made in gpt.block.1.attn)", for messages.
  std::string where() const;

  std::uint64_t id;
  const char* op;                            // a string literal
  std::shared_ptr<const std::string> scope;  // null outside any scope
  Shape shape;
  DType dtype;
  bool is_leaf = false;
  bool frozen = false;       // a leaf that requires no gradient any more; see requires_grad_()
  bool retain_grad = false;  // keep the gradient, though this is no leaf
  bool released = false;     // ran backward without Retain::yes: the edges are gone
  std::vector<Edge> edges;
  std::vector<std::pair<Index, Hook>> hooks;  // by id
  Index next_hook = 0;                        // ids are not used twice
  std::optional<Array> grad;                  // of a leaf, or of a node that retains it
  std::unique_ptr<Note> note;                 // null unless an observer left one
  mutable std::atomic_flag busy;              // see NodeLock
};

/// While it lives, no other thread runs or drops the rules of the node, or touches its gradient.
/// One lock per node, so that passes that share only leaves do not wait for each other. Not
/// recursive: a rule must not run backward through its own node.
class NodeLock {
 public:
  enum class Reach { others, own };  // own: nobody else holds the node, so there is no need to lock
  explicit NodeLock(const Node& node, Reach reach = Reach::others)
      : busy_(reach == Reach::others ? &node.busy : nullptr) {
    // No wait() and notify(), which every unlocking would pay for: threads hardly ever meet here.
    while (busy_ && busy_->test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~NodeLock() {
    if (busy_) busy_->clear(std::memory_order_release);
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

 private:
  std::atomic_flag* busy_;
};

/// What Tensor handles share: a value and its place in the graph.
struct TensorImpl : RefCounted {
  explicit TensorImpl(Array array) : data(std::move(array)) {}
  static void destroy(TensorImpl* impl) noexcept { delete impl; }
  static void* operator new(std::size_t bytes) { return pool::allocate(bytes); }
  static void operator delete(void* impl, std::size_t bytes) { pool::release(impl, bytes); }

  /// Whether ops that take this tensor are recorded.
  bool requires_grad() const { return node && !node->frozen; }

  Array data;
  Ref<Node> node;            // null for a constant
  const char* op = nullptr;  // what computed it, recorded or not; null for a leaf
  bool derivative = false;   // a gradient, or a constant computed from one; see record()
};
using TensorRef = Ref<TensorImpl>;

}  // namespace autograd
