#include "autograd/graph/record.h"

#include "autograd/graph/grad_mode.h"
#include "autograd/graph/observer.h"

namespace autograd {
namespace {

// Whether `out` is what the inputs broadcast to together, as in every elementwise op. concat of
// (1, 3) and (1, 3) gives (2, 3): each would broadcast to it, but together they give (1, 3).
bool is_broadcast_of(std::span<const Input> inputs, const Shape& out) {
  Shape together;
  for (const Input& input : inputs) {
    if (!input.tensor) continue;
    const Shape& shape = input.tensor->data.shape();
    if (!broadcasts_to(shape, out)) return false;
    together = broadcast(together, shape, "record");
  }
  return together == out;
}

[[noreturn]] void fail_derivative(const char* op, std::ptrdiff_t input) {
  fail<GraphError>(
      "{}: input {} is a gradient, or was computed from one: the result's gradient would lack its "
      "part; detach() it if it is meant as a constant, or take second derivatives with hvp()",
      op, input);
}

}  // namespace

TensorRef record(const char* op, Array out, std::span<Input> inputs, Fills fills) {
  // The value becomes a tensor; it is a node of the graph only where a gradient may be asked for.
  bool wanted = false;
  const Input* derivative = nullptr;
  for (const Input& input : inputs) {
    wanted = wanted || input.wants_gradient();
    if (input.tensor && input.tensor->derivative && input.has_rule()) derivative = &input;
  }
  if (wanted && !is_float(out.dtype())) {
    fail<DTypeError>("{}: expected no rule, as a result of {} carries no gradient", op,
                     name(out.dtype()));
  }
  wanted = wanted && grad_enabled();
  if (wanted && derivative) fail_derivative(op, derivative - inputs.data());
  TensorRef result(new TensorImpl(std::move(out)));
  result->op = op;
  result->derivative = derivative != nullptr;
  const Shape& shape = result->data.shape();
  if (wanted) {
    result->node = Ref<Node>(new Node(op, shape, result->data.dtype()));
  }
  tell_observers([&](Observer& observer) {
    observer.recorded({op, result->data, inputs, fills, result->node.get()});
  });
  if (!result->node) return result;  // a constant: what the rules captured ends here

  // One edge back to every input that wants a gradient, with the rule for it.
  const bool elementwise = is_broadcast_of(inputs, shape);
  result->node->edges.reserve(inputs.size());
  for (Input& input : inputs) {
    if (!input.wants_gradient()) continue;
    const Shape& from = input.tensor->data.shape();
    result->node->edges.push_back(
        {input.tensor->node, std::move(input.rule), from, elementwise && from != shape});
  }
  return result;
}

}  // namespace autograd
