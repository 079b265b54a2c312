#include "autograd/graph/backward.h"

#include <map>
#include <set>
#include <unordered_map>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/graph/flow.h"
#include "autograd/graph/grad_mode.h"

namespace autograd {
namespace {

/// A node that gradients have reached, and their sum so far.
struct Waiting {
  Ref<Node> node;
  std::optional<Array> grad;
};

std::string where(const Node& node) {
  return node.scope ? fmt::format("{} (made in {})", node.op, *node.scope) : node.op;
}

/// One backward pass. Ids grow with creation, so taking the largest id first visits every node
/// after all of its consumers: no recursion, no marks, and sums in one fixed order.
class Pass {
 public:
  Pass(const Ref<Node>& root, const Array& seed, Retain retain) : retain_(retain) {
    waiting_[root->id] = {root, seed};
  }

  /// Restricts the pass to the nodes that lead to a target.
  void keep_only(std::span<const Ref<Node>> targets) {
    restricted_ = true;
    std::map<std::uint64_t, const Node*> reachable = reach();
    for (const Ref<Node>& target : targets) needed_.insert(target->id);
    const Node* blocked = nullptr;              // a released node, behind which a target may lie
    for (const auto& [id, node] : reachable) {  // oldest first: inputs before their consumers
      if (node->released && !node->is_leaf && !needed_.count(id)) blocked = node;
      for (const Edge& edge : node->edges) {
        if (edge.input && needed_.count(edge.input->id)) needed_.insert(id);
      }
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (reachable.count(targets[i]->id)) continue;
      if (blocked) fail_released(*blocked);
      fail<GraphError>("grad: the output does not depend on input {}", i);
    }
  }

  /// Calls arrive(node, gradient) for every node with its whole gradient, newest first.
  template <class Arrive>
  void run(Arrive arrive) {
    const NoGrad no_grad;
    while (!waiting_.empty()) {
      const auto newest = std::prev(waiting_.end());
      const Waiting now = std::move(newest->second);
      waiting_.erase(newest);
      Array grad = *now.grad;
      const auto hooks = now.node->hooks;  // a hook may remove itself or add another
      for (const auto& hook : hooks) grad = hooked(*now.node, hook.second, grad);
      if (GradientFlow::active()) GradientFlow::arrived(*now.node, grad);
      arrive(now.node, grad);
      if (!now.node->is_leaf) send(*now.node, grad);
    }
  }

 private:
  std::map<std::uint64_t, const Node*> reach() const {
    std::map<std::uint64_t, const Node*> seen;
    std::vector<const Node*> todo;
    for (const auto& [id, w] : waiting_) todo.push_back(w.node.get());
    while (!todo.empty()) {
      const Node* node = todo.back();
      todo.pop_back();
      if (!seen.emplace(node->id, node).second) continue;
      for (const Edge& edge : node->edges) {
        if (edge.input) todo.push_back(edge.input.get());
      }
    }
    return seen;
  }

  [[noreturn]] static void fail_released(const Node& node) {
    fail<GraphError>(
        "backward: {} already ran backward and dropped what it had saved; pass Retain::yes to the "
        "first backward to run another",
        where(node));
  }

  static Array hooked(const Node& node, const std::function<Array(const Array&)>& hook,
                      const Array& grad) {
    Array replaced = hook(grad);
    if (replaced.shape() != node.shape || replaced.dtype() != node.dtype) {
      fail<GraphError>("hook on {}: expected a gradient of shape {} of {}, got {} of {}",
                       where(node), node.shape.str(), name(node.dtype), replaced.shape().str(),
                       name(replaced.dtype()));
    }
    return replaced;
  }

  void send(Node& node, const Array& grad) {
    if (restricted_ && leads_nowhere(node)) return;  // it keeps its rules
    if (node.released) fail_released(node);
    if (node.joint) {
      send_joint(node, grad);
    } else {
      for (std::size_t i = 0; i < node.edges.size(); ++i) send_along(node, i, grad);
    }
    if (retain_ == Retain::no) release(node);
  }

  // Out of the node first: destroying a rule may end other nodes.
  static void release(Node& node) {
    node.released = true;
    const std::vector<Edge> edges = std::move(node.edges);
    const JointRule joint = std::move(node.joint);
    node.edges.clear();
    node.joint = nullptr;
  }

  bool leads_nowhere(const Node& node) const {
    for (const Edge& edge : node.edges) {
      if (!skips(edge)) return false;
    }
    return true;
  }

  bool skips(const Edge& edge) const {
    return !edge.input || (restricted_ && !needed_.count(edge.input->id));
  }

  void send_along(const Node& node, std::size_t i, const Array& grad) {
    const Edge& edge = node.edges[i];
    if (skips(edge)) return;
    if (const auto* rule = std::get_if<Rule>(&edge.rule)) {
      deliver(node, i, grad, (*rule)(grad));
      return;
    }
    Waiting& w = at(edge);
    Array into = w.grad ? std::move(*w.grad) : Array::zeros(edge.shape, edge.input->dtype);
    w.grad.reset();  // so that `into` is the only owner and is written in place
    std::optional<Array> before;
    if (GradientFlow::active()) before = into;
    std::get<ScatterRule>(edge.rule)(grad, into);
    check(node, i, grad, into);
    if (before) GradientFlow::returned(node, i, into - *before);
    w.grad = std::move(into);
  }

  void send_joint(const Node& node, const Array& grad) {
    std::vector<bool> needs;
    for (const Edge& edge : node.edges) needs.push_back(!skips(edge));
    std::vector<Array> grads = node.joint(grad, needs);
    if (grads.size() != node.edges.size()) {
      fail<GraphError>("{}: its rule returned {} gradients for {} inputs", where(node),
                       grads.size(), node.edges.size());
    }
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (needs[i]) deliver(node, i, grad, std::move(grads[i]));
    }
  }

  void deliver(const Node& node, std::size_t i, const Array& grad, Array part) {
    const Edge& edge = node.edges[i];
    if (edge.broadcast && part.shape() == node.shape) part = sum_to(part, edge.shape);
    check(node, i, grad, part);
    if (GradientFlow::active()) GradientFlow::returned(node, i, part);
    Waiting& w = at(edge);
    if (!w.grad) w.grad = std::move(part);
    else add_in_place(*w.grad, part);
  }

  Waiting& at(const Edge& edge) {
    Waiting& w = waiting_[edge.input->id];
    if (!w.node) w.node = edge.input;
    return w;
  }

  static void check(const Node& node, std::size_t i, const Array& grad, const Array& part) {
    const Edge& edge = node.edges[i];
    if (part.shape() != edge.shape) {
      fail<GraphError>("{}: the gradient of input {} has shape {}, the input {}", where(node), i,
                       part.shape().str(), edge.shape.str());
    }
    if (part.dtype() != edge.input->dtype) {
      fail<GraphError>("{}: the gradient of input {} is {}, the input {}", where(node), i,
                       name(part.dtype()), name(edge.input->dtype));
    }
    if (AnomalyGuard::active()) watch(node, i, grad, part);
  }

  // Policy of the anomaly guard, backward: see AnomalyGuard.
  static void watch(const Node& node, std::size_t i, const Array& grad, const Array& part) {
    const Range in = range_of(grad), out = range_of(part);
    bool finite = in.finite(), any_nan = in.nans > 0;
    std::string operands;
    for (std::size_t j = 0; node.operands && j < node.operands->size(); ++j) {
      const Range& range = (*node.operands)[j];
      finite = finite && range.finite();
      any_nan = any_nan || range.nans > 0;
      operands += fmt::format(", operand {} in [{:.6g}, {:.6g}]", j, range.min, range.max);
    }
    const bool made_nan = out.nans > 0 && !any_nan;
    if (!made_nan && (out.finite() || out.nans > 0 || !finite)) return;
    fail<NumericError>("{}: backward made {} for input {} {} from the gradient {}{}", where(node),
                       made_nan ? "NaN" : "an infinity", i, describe(part.shape(), out),
                       describe(grad.shape(), in), operands);
  }

  Retain retain_;
  bool restricted_ = false;
  std::set<std::uint64_t> needed_;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace

void run_backward(const Ref<Node>& root, const Array& seed, Retain retain) {
  Pass pass(root, seed, retain);
  std::vector<std::pair<Ref<Node>, Array>> arrived;
  pass.run([&](const Ref<Node>& node, const Array& grad) {
    if (node->is_leaf || node->retain_grad) arrived.emplace_back(node, grad);
  });
  for (auto& [node, grad] : arrived) {
    if (node->grad) add_in_place(*node->grad, grad);
    else node->grad = std::move(grad);
  }
}

std::vector<Array> run_grad(const Ref<Node>& root, const Array& seed,
                            std::span<const Ref<Node>> targets, Retain retain) {
  Pass pass(root, seed, retain);
  pass.keep_only(targets);
  std::unordered_map<std::uint64_t, std::optional<Array>> found;
  for (const Ref<Node>& target : targets) found[target->id];
  pass.run([&](const Ref<Node>& node, const Array& grad) {
    const auto it = found.find(node->id);
    if (it != found.end()) it->second = grad;
  });
  std::vector<Array> grads;
  for (const Ref<Node>& target : targets) grads.push_back(found.at(target->id).value());
  return grads;
}

}  // namespace autograd
