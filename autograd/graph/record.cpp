#include "autograd/graph/record.h"

#include <cmath>

#include "autograd/graph/flow.h"
#include "autograd/graph/grad_mode.h"

namespace autograd {
namespace {

bool wants_gradient(const TensorRef& tensor) { return tensor && tensor->node; }

bool has_rule(const Input& input) {
  return std::visit([](const auto& rule) { return static_cast<bool>(rule); }, input.rule);
}

bool wants_gradient(const Input& input) { return wants_gradient(input.tensor) && has_rule(input); }

std::string describe_all(const std::vector<const TensorImpl*>& inputs,
                         const std::vector<Range>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += fmt::format("{}operand {} {}", i ? ", " : "", i,
                        describe(inputs[i]->data.shape(), ranges[i]));
  }
  return text;
}

// Policy of the anomaly guard, forward: see AnomalyGuard.
std::vector<Range> watch(const char* op, const Array& out,
                         const std::vector<const TensorImpl*>& inputs, Fills fills) {
  std::vector<Range> ranges;
  bool any_nan = false, all_are_finite = true;
  for (const TensorImpl* input : inputs) {
    ranges.push_back(range_of(input->data));
    any_nan = any_nan || ranges.back().nans > 0;
    all_are_finite = all_are_finite && ranges.back().finite();
  }
  const Range made = range_of(out);
  const bool made_nan = made.nans > 0 && !any_nan;
  const bool made_infinity = !made.finite() && made.nans == 0 && all_are_finite;
  if (fills == Fills::no && (made_nan || made_infinity)) {
    fail<NumericError>("{}: forward made {} from {}: result {}", op,
                       made_nan ? "NaN" : "an infinity", describe_all(inputs, ranges),
                       describe(out.shape(), made));
  }
  return ranges;
}

const TensorRef& tensor_of(const Input& input) { return input.tensor; }
const TensorRef& tensor_of(const TensorRef& tensor) { return tensor; }

// Whether `out` is what the inputs broadcast to together, as in every elementwise op. A row that is
// joined to another, (1, 3) of (2, 3), only looks like it.
template <class Inputs>
bool is_broadcast_of(const Inputs& inputs, const Shape& out) {
  Shape together;
  for (const auto& input : inputs) {
    const TensorRef& tensor = tensor_of(input);
    if (!tensor) continue;
    if (!broadcasts_to(tensor->data.shape(), out)) return false;
    together = broadcast(together, tensor->data.shape(), "record");
  }
  return together == out;
}

enum class Broadcast : bool { no, yes };

Edge edge_to(const TensorRef& tensor, Broadcast broadcast, const Shape& out, GradientRule rule) {
  const Shape& shape = tensor->data.shape();
  return {tensor->node, std::move(rule), shape, broadcast == Broadcast::yes && shape != out};
}

void report_cut(const char* op, const TensorRef& input, CutReason reason) {
  if (input) GradientFlow::cut(op, *input, reason);
}

// The output, with a node when an input wants a gradient. `inputs` holds nulls for undefined ones.
TensorRef wrap(const char* op, Array out, const std::vector<const TensorImpl*>& inputs, Fills fills,
               bool any_wants) {
  std::unique_ptr<std::vector<Range>> ranges;
  if (AnomalyGuard::active()) {
    ranges = std::make_unique<std::vector<Range>>(watch(op, out, inputs, fills));
  }
  TensorRef result(new TensorImpl(std::move(out)));
  result->op = op;
  if (any_wants && grad_enabled()) {
    result->node = Ref<Node>(new Node(op, result->data.shape(), result->data.dtype()));
    result->node->operands = std::move(ranges);
  }
  return result;
}

}  // namespace

TensorRef record(const char* op, Array out, std::span<Input> inputs, Fills fills) {
  bool any_wants = false;
  std::vector<const TensorImpl*> defined;
  for (const Input& input : inputs) {
    any_wants = any_wants || wants_gradient(input);
    if (AnomalyGuard::active() && input.tensor) defined.push_back(input.tensor.get());
  }
  const TensorRef result = wrap(op, std::move(out), defined, fills, any_wants);
  if (GradientFlow::active()) {
    for (const Input& input : inputs) {
      if (!has_rule(input)) report_cut(op, input.tensor, CutReason::no_gradient);
      else if (!result->node) report_cut(op, input.tensor, CutReason::no_grad);
    }
  }
  if (!result->node) return result;
  const Shape& out_shape = result->data.shape();
  const Broadcast broadcast{is_broadcast_of(inputs, out_shape)};
  result->node->edges.reserve(inputs.size());
  for (Input& input : inputs) {
    if (!wants_gradient(input)) continue;
    result->node->edges.push_back(
        edge_to(input.tensor, broadcast, out_shape, std::move(input.rule)));
  }
  if (GradientFlow::active()) GradientFlow::recorded(*result->node);
  return result;
}

TensorRef record_joint(const char* op, Array out, const std::vector<TensorRef>& inputs,
                       JointRule rule) {
  bool any_wants = false;
  std::vector<const TensorImpl*> defined;
  for (const TensorRef& input : inputs) {
    any_wants = any_wants || wants_gradient(input);
    if (AnomalyGuard::active() && input) defined.push_back(input.get());
  }
  const TensorRef result = wrap(op, std::move(out), defined, Fills::no, any_wants);
  if (GradientFlow::active() && !result->node) {
    for (const TensorRef& input : inputs) report_cut(op, input, CutReason::no_grad);
  }
  if (!result->node) return result;
  const Shape& out_shape = result->data.shape();
  const Broadcast broadcast{is_broadcast_of(inputs, out_shape)};
  for (const TensorRef& input : inputs) {
    const bool wants = wants_gradient(input);
    result->node->edges.push_back(wants ? edge_to(input, broadcast, out_shape, {}) : Edge{});
  }
  result->node->joint = std::move(rule);
  if (GradientFlow::active()) GradientFlow::recorded(*result->node);
  return result;
}

}  // namespace autograd
