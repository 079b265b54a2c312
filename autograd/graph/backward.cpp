#include "autograd/graph/backward.h"

#include <algorithm>
#include <map>

#include "autograd/array/elementwise.h"
#include "autograd/graph/apply_rule.h"
#include "autograd/graph/grad_mode.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/observer.h"
#include "autograd/graph/paths.h"

namespace autograd {
namespace {

/// A node that gradients have reached, and their sum so far.
struct Waiting {
  Ref<Node> node;
  std::optional<Array> sum;
};

/// One backward pass. An op is newer than its inputs. So when the newest of the waiting nodes is
/// taken first, all of its consumers have run and its sum is complete: no recursion, no marks, and
/// sums in one fixed order.
class Pass {
 public:
  /// Follows every edge, or with `paths` only those that lead to one of its nodes.
  explicit Pass(const char* name, Retain retain, const std::set<std::uint64_t>* paths = nullptr)
      : name_(name), retain_(retain), paths_(paths) {}

  /// Calls arrive(node, gradient) for every node that a gradient reaches, newest first.
  template <class Arrive>
  void run(const Ref<Node>& root, const Array& seed, Arrive arrive) {
    const NoGrad no_grad;
    waiting_[root->id] = {root, seed};
    while (!waiting_.empty()) {
      const auto newest = std::prev(waiting_.end());
      const Ref<Node> node = newest->second.node;
      const Array grad = apply_hooks(*node, std::move(*newest->second.sum));
      waiting_.erase(newest);
      tell_observers([&](Observer& observer) { observer.arrived(*node, grad); });
      arrive(node, grad);
      if (goes_on(*node)) send_to_inputs(*node, grad);
    }
  }

 private:
  void send_to_inputs(Node& node, const Array& grad) {
    const NodeLock lock(node, node.unique() ? NodeLock::Reach::own : NodeLock::Reach::others);
    if (node.released) fail_released(name_, node);
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& edge = node.edges[i];
      if (!follows(edge)) continue;
      Waiting& input = waiting_[edge.input->id];
      input.node = edge.input;
      apply_rule(node, i, grad, input.sum);
    }
    if (retain_ == Retain::no) release(node);
  }

  /// Drops the rules and what they saved, so that memory falls during the pass.
  static void release(Node& node) {
    node.released = true;
    // Out of the node first: the end of a rule may end other nodes, even this one's inputs.
    const std::vector<Edge> edges = std::exchange(node.edges, {});
  }

  bool follows(const Edge& edge) const { return !paths_ || paths_->count(edge.input->id); }

  /// Leaves end the walk. So does a target of grad() with no other target behind it: it keeps its
  /// rules.
  bool goes_on(const Node& node) const {
    if (node.is_leaf || !paths_) return !node.is_leaf;
    const NodeLock lock(node);
    return std::any_of(node.edges.begin(), node.edges.end(),
                       [this](const Edge& edge) { return follows(edge); });
  }

  const char* name_;  // of the function that was called, for messages
  Retain retain_;
  const std::set<std::uint64_t>* paths_;      // null: everywhere
  std::map<std::uint64_t, Waiting> waiting_;  // by id, so the newest is last
};

}  // namespace

void run_backward(const Ref<Node>& root, const Array& seed, Retain retain) {
  std::vector<std::pair<Ref<Node>, Array>> arrived;
  Pass("backward", retain).run(root, seed, [&](const Ref<Node>& node, const Array& grad) {
    if (node->is_leaf || node->retain_grad) arrived.emplace_back(node, grad);
  });
  // Only now, so that a pass that throws leaves every leaf as it was.
  for (auto& [node, grad] : arrived) {
    const NodeLock lock(*node);
    if (node->grad) add_in_place(*node->grad, grad);
    else node->grad = std::move(grad);
  }
}

std::vector<Array> run_grad(const Ref<Node>& root, const Array& seed,
                            std::span<const Ref<Node>> targets, Retain retain) {
  const std::set<std::uint64_t> paths = paths_to(root, targets);
  std::map<std::uint64_t, Array> arrived;
  Pass("grad", retain, &paths).run(root, seed, [&](const Ref<Node>& node, const Array& grad) {
    for (const Ref<Node>& target : targets) {
      if (node == target) arrived.insert_or_assign(node->id, grad);
    }
  });
  std::vector<Array> grads;
  for (const Ref<Node>& target : targets) {
    const auto at = arrived.find(target->id);
    if (at == arrived.end()) fail_released("grad", *root);  // by another thread, meanwhile
    grads.push_back(at->second);
  }
  return grads;
}

}  // namespace autograd
