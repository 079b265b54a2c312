#pragma once

#include <span>

#include "autograd/graph/node.h"

namespace autograd {

/// An input of an op together with how the gradient flows back to it. Without a rule no gradient
/// does: comparisons have none.
struct Input {
  TensorRef tensor = {};
  GradientRule rule = {};

  bool has_rule() const {
    return std::visit([](const auto& r) { return static_cast<bool>(r); }, rule);
  }
  bool wants_gradient() const { return tensor && tensor->requires_grad() && has_rule(); }
};

/// Whether the anomaly guard lets this op put what it likes into its output: masked_fill and pad
/// do.
enum class Fills : bool { no, yes };

/// How every op ends: wraps `out` and, where gradients are on and an input requires one, remembers
/// the rules of exactly those inputs. A rule that is not remembered is dropped with the arrays it
/// captured, so an op need not ask what will be needed. Where the output has the shape that all
/// inputs broadcast to together, the engine sums the gradient of each back to its shape; any other
/// gradient of a wrong shape throws GraphError in backward.
///
/// GraphError where a recorded op would take a gradient, or what was computed from one, as a
/// constant: rules compute Arrays, which record nothing, so its own derivative would be missing
/// from the result without a word. detach() makes a constant that is meant as one. DTypeError if
/// the output is no float but an input that requires a gradient has a rule. Usage:
///
///     return record("mul", x * y, {{a, rule_of_a}, {b, rule_of_b}});
TensorRef record(const char* op, Array out, std::span<Input> inputs, Fills fills = Fills::no);

template <std::size_t N>
TensorRef record(const char* op, Array out, Input (&&inputs)[N], Fills fills = Fills::no) {
  return record(op, std::move(out), std::span<Input>(inputs, N), fills);
}

}  // namespace autograd
