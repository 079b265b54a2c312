#include "autograd/graph/anomaly.h"

#include <algorithm>
#include <limits>

namespace autograd {
namespace {

/// The ranges that the operands of a node had: backward is judged by them too.
struct Operands : Note {
  std::vector<Range> ranges;
  bool any_nan = false;
  bool all_finite = true;

  void add(const Range& range) {
    ranges.push_back(range);
    any_nan = any_nan || range.nans > 0;
    all_finite = all_finite && range.finite();
  }
};

/// "NaN" or "an infinity" if `result` has what its operands do not explain; null otherwise.
const char* anomaly_in(const Range& result, const Operands& operands) {
  if (result.nans > 0) return operands.any_nan ? nullptr : "NaN";
  return !result.finite() && operands.all_finite ? "an infinity" : nullptr;
}

}  // namespace

void AnomalyGuard::recorded(const Recording& recording) {
  auto operands = std::make_unique<Operands>();
  std::string text;
  for (const Input& input : recording.inputs) {
    if (!input.tensor) continue;
    const Array& operand = input.tensor->data;
    const std::size_t i = operands->ranges.size();
    operands->add(range_of(operand));
    text += fmt::format("{}operand {} {}", i ? ", " : "", i,
                        describe(operand.shape(), operands->ranges[i]));
  }
  const Range result = range_of(recording.out);
  const char* made = recording.fills == Fills::no ? anomaly_in(result, *operands) : nullptr;
  if (made) {
    fail<NumericError>("{}: forward made {} from {}: result {}", recording.op, made, text,
                       describe(recording.out.shape(), result));
  }
  if (recording.node) recording.node->note = std::move(operands);
}

void AnomalyGuard::returned(const Node& node, std::size_t edge, const Array& grad,
                            const Array& part) {
  const auto* saved = dynamic_cast<const Operands*>(node.note.get());
  Operands operands = saved ? *saved : Operands();
  std::string text;
  for (std::size_t i = 0; i < operands.ranges.size(); ++i) {
    const Range& range = operands.ranges[i];
    text += fmt::format(", operand {} in [{:.6g}, {:.6g}]", i, range.min, range.max);
  }
  const Range in = range_of(grad), out = range_of(part);
  operands.add(in);
  if (const char* made = anomaly_in(out, operands)) {
    fail<NumericError>("{}: backward made {} for input {} {} from the gradient {}{}", node.where(),
                       made, edge, describe(part.shape(), out), describe(grad.shape(), in), text);
  }
}

Range range_of(const Array& a) {
  if (a.dtype() == DType::dual) {  // of both parts
    const Range v = range_of(value_of(a)), t = range_of(tangent_of(a));
    return {std::min(v.min, t.min), std::max(v.max, t.max), v.nans + t.nans};
  }
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  dispatch_any(a.dtype(), [&](auto tag) {
    if constexpr (!std::is_same_v<decltype(tag), Dual>) {
      for (const auto v : a.read<decltype(tag)>()) {
        const auto x = static_cast<double>(v);
        range.nans += x != x;
        range.min = x < range.min ? x : range.min;
        range.max = x > range.max ? x : range.max;
      }
    }
  });
  return range;
}

std::string describe(const Shape& shape, const Range& range) {
  std::string text = shape.str();
  if (range.min <= range.max) text += fmt::format(" in [{:.6g}, {:.6g}]", range.min, range.max);
  if (range.nans > 0) text += fmt::format(", {} NaN", range.nans);
  return text;
}

}  // namespace autograd
