#include "autograd/graph/flow.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

namespace autograd {
namespace {

/// What has been seen of a gradient, in all passes so far.
enum class Signal : std::uint8_t { none, zero, some };

Signal signal_of(const Array& grad) {
  return dispatch_float(grad.dtype(), "GradientFlow", [&](auto tag) {
    for (const auto v : grad.read<decltype(tag)>()) {
      if (v != 0) return Signal::some;  // so is a NaN
    }
    return Signal::zero;
  });
}

void raise(Signal& signal, Signal to) { signal = std::max(signal, to); }

/// One input of a step and what the step sent back to it.
struct Way {
  std::uint64_t input;  // the id of its node
  Shape shape;
  Signal back = Signal::none;
};

/// An op application that took tensors with a history.
struct Step {
  const char* op;
  std::shared_ptr<const std::string> scope;
  std::uint64_t id = 0;                     // of its node; 0 for a cut, which has none
  CutReason reason = CutReason::zero_rule;  // of a cut
  std::vector<Way> ways = {};
};

struct Taker {
  const Step& step;
  const Way& way;
};

}  // namespace

struct GradientFlow::Trail {
  void add(const Node& node, std::vector<Way> ways) {
    if (step_of.emplace(node.id, steps.size()).second) {
      push({node.op, node.scope, node.id, CutReason::zero_rule, std::move(ways)});
    }
  }

  void cut(const char* op, const TensorImpl& input, CutReason reason) {
    if (!input.requires_grad()) return;
    push({op, Scope::shared_path(), 0, reason, {{input.node->id, input.data.shape()}}});
  }

  void push(Step step) {
    for (std::size_t i = 0; i < step.ways.size(); ++i) {
      takers[step.ways[i].input].emplace_back(steps.size(), i);
    }
    steps.push_back(std::move(step));
  }

  std::vector<Taker> takers_of(std::uint64_t id) const {
    std::vector<Taker> all;
    const auto found = takers.find(id);
    if (found == takers.end()) return all;
    for (const auto& at : found->second) {
      all.push_back({steps[at.first], steps[at.first].ways[at.second]});
    }
    return all;
  }

  Signal signal(std::uint64_t id) const {
    const auto found = signals.find(id);
    return found == signals.end() ? Signal::none : found->second;
  }

  std::vector<Step> steps;
  std::unordered_map<std::uint64_t, std::size_t> step_of;  // by the id of its node
  /// By the id of a node: (step, way) of all that took its value.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::size_t, std::size_t>>> takers;
  std::unordered_map<std::uint64_t, Signal> signals;  // the whole gradient of a node, by id
};

namespace {

Cut made(CutKind kind, CutReason reason, const Taker& at) {
  return {kind, reason, at.step.op, at.step.scope ? *at.step.scope : "", at.way.shape};
}

/// Breadth first from a leaf to what was computed from it, until visit(taker) returns a cut: so the
/// cut that is found is the nearest one.
template <class Takers, class Visit>
std::optional<Cut> nearest(std::uint64_t leaf, Takers takers_of, Visit visit) {
  std::deque<std::uint64_t> todo{leaf};
  std::set<std::uint64_t> seen{leaf};
  while (!todo.empty()) {
    const std::uint64_t id = todo.front();
    todo.pop_front();
    for (const Taker& taker : takers_of(id)) {
      if (auto cut = visit(taker)) return cut;
      if (taker.step.id && seen.insert(taker.step.id).second) todo.push_back(taker.step.id);
    }
  }
  return std::nullopt;
}

}  // namespace

GradientFlow::GradientFlow() : trail_(std::make_unique<Trail>()) {}
GradientFlow::~GradientFlow() = default;

void GradientFlow::recorded(const Recording& recording) {
  std::vector<Way> ways;
  for (const Input& input : recording.inputs) {
    if (!input.tensor) continue;
    const TensorImpl& x = *input.tensor;
    if (!input.has_rule()) trail_->cut(recording.op, x, CutReason::no_gradient);
    else if (!recording.node) trail_->cut(recording.op, x, CutReason::no_grad);
    else if (x.requires_grad()) ways.push_back({x.node->id, x.data.shape()});
  }
  if (recording.node) trail_->add(*recording.node, std::move(ways));
}

void GradientFlow::detached(const TensorImpl& input) {
  trail_->cut("detach", input, CutReason::detach);
}

void GradientFlow::arrived(const Node& node, const Array& grad) {
  if (!node.is_leaf) {  // where it was made before the flow began
    std::vector<Way> ways;
    for (const Edge& edge : node.edges) ways.push_back({edge.input->id, edge.shape});
    trail_->add(node, std::move(ways));
  }
  raise(trail_->signals[node.id], signal_of(grad));
}

void GradientFlow::returned(const Node& node, std::size_t edge, const Array&, const Array& part) {
  raise(trail_->steps[trail_->step_of.at(node.id)].ways[edge].back, signal_of(part));
}

std::optional<Cut> GradientFlow::cut_of(const TensorRef& leaf) const {
  if (!leaf || !leaf->requires_grad()) fail<GraphError>("cut_of: the tensor requires no gradient");
  const std::uint64_t id = leaf->node->id;
  const CutKind kind =
      trail_->signal(id) == Signal::none ? CutKind::none_reached : CutKind::all_zero;
  if (trail_->signal(id) == Signal::some) return std::nullopt;
  const auto takers_of = [this](std::uint64_t node) { return trail_->takers_of(node); };

  Cut last{kind, CutReason::unused, "", "", leaf->data.shape()};  // where nothing explains it
  const auto missing = [&](const Taker& at) -> std::optional<Cut> {
    if (at.step.id == 0) return made(kind, at.step.reason, at);
    last = made(kind, CutReason::not_reached, at);
    return std::nullopt;
  };
  const auto zero = [&](const Taker& at) -> std::optional<Cut> {
    if (at.way.back == Signal::none) return std::nullopt;
    if (at.way.back == Signal::some) return made(kind, CutReason::cancelled, at);
    if (trail_->signal(at.step.id) == Signal::some) return made(kind, CutReason::zero_rule, at);
    last = made(kind, CutReason::zero_seed, at);
    return std::nullopt;
  };
  const auto found = kind == CutKind::none_reached ? nearest(id, takers_of, missing)
                                                   : nearest(id, takers_of, zero);
  return found ? found : last;
}

std::string describe(const Cut& cut) {
  const std::string start =
      cut.kind == CutKind::none_reached ? "no gradient; " : "gradient all zero; ";
  const std::string at = fmt::format("{} of {}", cut.op, cut.shape.str());
  const std::string in = cut.scope.empty() ? "" : " in " + cut.scope;
  switch (cut.reason) {
    case CutReason::unused: return start + "no op took it";
    case CutReason::detach: return start + "cut at " + at + in;
    case CutReason::no_grad: return start + "cut at " + at + in + ", which ran under NoGrad";
    case CutReason::no_gradient: return start + "cut at " + at + in + ", which has none";
    case CutReason::not_reached: return start + "no backward came to " + at + in;
    case CutReason::zero_rule: return start + "lost in " + at + in;
    case CutReason::cancelled:
      return start + "parts cancel, or a hook dropped what came from " + at + in;
    case CutReason::zero_seed: return start + "backward began with zeros at " + at + in;
  }
  return start;
}

}  // namespace autograd
