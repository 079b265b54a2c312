#include "autograd/graph/apply_rule.h"

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/graph/observer.h"

namespace autograd {
namespace {

void check(const Node& node, std::size_t i, const Array& part) {
  const Edge& edge = node.edges[i];
  if (part.shape() != edge.shape) {
    fail<GraphError>("{}: the gradient of input {} has shape {}, the input {}", node.where(), i,
                     part.shape().str(), edge.shape.str());
  }
  if (part.dtype() != edge.input->dtype) {
    fail<GraphError>("{}: the gradient of input {} is {}, the input {}", node.where(), i,
                     name(part.dtype()), name(edge.input->dtype));
  }
}

void tell(const Node& node, std::size_t i, const Array& grad, const Array& part) {
  tell_observers([&](Observer& observer) { observer.returned(node, i, grad, part); });
}

// An element that was broadcast took part in several elements of the output, so its gradient is the
// sum of theirs.
void add(const Rule& rule, const Node& node, std::size_t i, const Array& grad,
         std::optional<Array>& sum) {
  const Edge& edge = node.edges[i];
  Array part = rule(grad);
  if (edge.broadcast && part.shape() == node.shape) part = sum_to(part, edge.shape);
  check(node, i, part);
  tell(node, i, grad, part);
  if (sum) add_in_place(*sum, part);
  else sum = std::move(part);
}

// Only observers need to know what the rule added. They must not change a bit of the sum, so the
// rule runs as it would without them, and the part is the difference. An infinity that was there
// before is no part of it.
void scatter(const ScatterRule& rule, const Node& node, std::size_t i, const Array& grad,
             std::optional<Array>& sum) {
  const Edge& edge = node.edges[i];
  Array into = sum ? std::move(*sum) : Array::zeros(edge.shape, edge.input->dtype);
  sum.reset();  // so that `into` is the only owner and is written in place
  bool wanted = false;
  tell_observers([&](Observer& observer) { wanted = wanted || observer.wants_parts(); });
  const std::optional<Array> before = wanted ? std::optional(into) : std::nullopt;
  rule(grad, into);
  check(node, i, into);
  if (before) {
    tell(node, i, grad, zip(into, *before, node.op, [](auto now, auto then) {
           return now == then ? decltype(now)(0) : now - then;
         }));
  }
  sum = std::move(into);
}

}  // namespace

void apply_rule(const Node& node, std::size_t edge, const Array& grad, std::optional<Array>& sum) {
  const GradientRule& rule = node.edges[edge].rule;
  if (const auto* plain = std::get_if<Rule>(&rule)) add(*plain, node, edge, grad, sum);
  else scatter(std::get<ScatterRule>(rule), node, edge, grad, sum);
}

}  // namespace autograd
