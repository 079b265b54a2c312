#include "autograd/gradcheck/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "autograd/array/reduce.h"

namespace autograd {
namespace {

constexpr Index kRandomElements = 32;  // of an input too large to check whole
constexpr Index kTail = 16;            // its last elements, where vector loops end
constexpr int kDirections = 4;

/// (y1 - y0) . v, elementwise differences first: what did not change cancels exactly. Its size is
/// the norm of the products, changed or not: what is too small to change an element is rounding
/// too.
Moved difference_dot(const Array& y1, const Array& y0, const Array& v) {
  const auto a = y1.read<double>(), b = y0.read<double>(), c = v.read<double>();
  double total = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (a[i] != b[i]) total += (a[i] - b[i]) * c[i];  // an infinity that stays adds nothing
  }
  const Array products = Array::build<double>(v.shape(), [&](std::span<double> p) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double larger = std::max(std::abs(a[i]), std::abs(b[i]));
      p[i] = std::isfinite(larger) ? larger * c[i] : 0;
    }
  });
  return {total, euclidean_norm(products)};
}

}  // namespace

RestoreInputs::RestoreInputs(const std::vector<Tensor>& inputs) : inputs_(inputs) {
  for (const Tensor& x : inputs) originals_.push_back(x.data());
}

RestoreInputs::~RestoreInputs() {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (inputs_[k].requires_grad()) put_back(k);
  }
}

void GradientComparison::compare_input(std::size_t k, const Array& gradient) {
  const Index numel = gradient.numel();
  if (numel == 0) return;
  for (const Index i : chosen_elements(numel)) compare_element(k, i, gradient.at(i));
  if (numel > setting_.options.max_elements) {
    for (int i = 0; i < kDirections; ++i) compare_direction(k, gradient);
  }
  setting_.restore.put_back(k);
}

std::vector<Index> GradientComparison::chosen_elements(Index numel) {
  std::set<Index> chosen;
  if (numel <= setting_.options.max_elements) {
    for (Index i = 0; i < numel; ++i) chosen.insert(i);
  } else {
    const Array random = uniform(Shape{kRandomElements}, 0, 1, DType::f64, generator_.next());
    for (const double r : random.read<double>()) {
      chosen.insert(std::min(numel - 1, static_cast<Index>(r * static_cast<double>(numel))));
    }
    chosen.insert(0);
    for (Index i = std::max<Index>(0, numel - kTail); i < numel; ++i) chosen.insert(i);
  }
  return {chosen.begin(), chosen.end()};
}

Difference GradientComparison::along(std::function<void(double t)> move) const {
  return [this, move = std::move(move)](double t, double s) {
    move(t);
    const Array there = setting_.value();
    move(s);
    return difference_dot(there, setting_.value(), *cotangent_);
  };
}

void GradientComparison::compare_element(std::size_t k, Index index, double analytic) {
  Tensor x = setting_.inputs[k];
  const double center = setting_.restore.original(k).at(index);
  const double unit = std::max(1.0, std::abs(center));
  const auto move = [&](double t) {
    x.write<double>([&](std::span<double> values) { values[index] = center + t * unit; });
  };
  const Difference moved = along(move);
  compare(k, index, analytic, [&](double t, double s) {
    const Moved both = moved(t, s);
    return Moved{both.value / unit, both.size / unit};
  });
  move(0);
}

void GradientComparison::compare_direction(std::size_t k, const Array& gradient) {
  Tensor x = setting_.inputs[k];
  const auto center = setting_.restore.original(k).read<double>();
  const auto g = gradient.read<double>();
  Array direction = normal(x.shape(), 0, 1, DType::f64, generator_.next());
  double analytic = 0;
  direction.write<double>([&](std::span<double> d) {
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] *= std::max(1.0, std::abs(center[i]));
      analytic += d[i] * g[i];
    }
  });
  const auto d = direction.read<double>();
  const auto move = [&](double t) {
    x.write<double>([&](std::span<double> values) {
      for (std::size_t i = 0; i < d.size(); ++i) values[i] = center[i] + t * d[i];
    });
  };
  compare(k, GradcheckElement::kRandomDirection, analytic, along(move));
}

void GradientComparison::compare_undecided(const Array& cotangent,
                                           const std::vector<Array>& gradients) {
  const std::vector<std::pair<std::size_t, Index>> points = std::exchange(undecided_, {});
  cotangent_ = &cotangent;
  for (const auto& [k, index] : points) {
    const double analytic = gradients[k].at(index);
    if (!std::isfinite(analytic)) continue;  // the cotangent was too large for it
    --report_.checked;
    --report_.undecided;
    compare_element(k, index, analytic);
    setting_.restore.put_back(k);
  }
  cotangent_ = &setting_.cotangent;
}

void GradientComparison::compare_kinks() {
  if (kinks_.size() < 2) return;
  const std::vector<GradcheckElement> points = kinks_;
  double analytic = 0;
  for (const GradcheckElement& point : points) analytic += point.analytic;
  const auto move = [&](double t) {
    for (const GradcheckElement& point : points) {
      const auto k = static_cast<std::size_t>(point.input);
      const double center = setting_.restore.original(k).at(point.index);
      Tensor x = setting_.inputs[k];
      x.write<double>([&](std::span<double> values) { values[point.index] = center + t; });
    }
  };
  const auto first = static_cast<std::size_t>(points.front().input);
  compare(first, GradcheckElement::kKinksTogether, analytic, along(move));
  move(0);
}

void GradientComparison::compare(std::size_t k, Index index, double analytic,
                                 const Difference& difference) {
  const Tolerance tolerance{setting_.options.rtol, setting_.options.atol};
  // Single elements are tried again with another cotangent before anything else is.
  const bool again = index >= 0 && cotangent_ == &setting_.cotangent;
  const Slope slope = measure_slope(difference, analytic, setting_.options.step, tolerance,
                                    again ? Effort::first : Effort::all);
  const double numeric = slope.numeric.slope, error = std::abs(analytic - numeric);
  // An error that rounding explains is no large one beside two numbers that are nearly nothing.
  const double knee =
      tolerance.rtol > 0 ? (tolerance.atol + slope.numeric.noise) / tolerance.rtol : 0;
  const double larger = std::max({std::abs(analytic), std::abs(numeric), knee});
  GradcheckElement element{static_cast<int>(k),
                           index,
                           analytic,
                           numeric,
                           error,
                           error == 0 ? 0 : error / larger,
                           error == 0 ? 0 : error / tolerance.of(slope.numeric)};
  if (!std::isfinite(error)) element.rel_error = element.excess = error;
  if (std::isnan(error)) element.excess = std::numeric_limits<double>::infinity();

  ++report_.checked;
  if (slope.kind == SlopeKind::flat) ++flat_;
  if (slope.kind == SlopeKind::undecided) {
    ++report_.undecided;
    undecided_text_ =
        fmt::format("{} at {}: analytic {:.3g}, numeric {:.3g}, of which rounding may be {:.3g}",
                    input_of(element), place(element), analytic, numeric, slope.numeric.noise);
    if (index >= 0) undecided_.emplace_back(k, index);
  }
  if (element.excess > 1) ++report_.wrong;
  if (slope.kind == SlopeKind::kink) ++report_.kinks;
  if (slope.kind == SlopeKind::kink && index >= 0) kinks_.push_back(element);
  if (slope.kind == SlopeKind::refined) ++report_.refined;
  if (slope.kind == SlopeKind::kink || slope.kind == SlopeKind::refined) note_kink(element, slope);
  if (report_.checked == 1 || element.excess > report_.worst.excess) report_.worst = element;
}

void GradientComparison::note_kink(const GradcheckElement& element, const Slope& slope) {
  const bool outside = element.excess > 1;
  if (!kink_text_.empty() && !(outside && report_.wrong == 1)) return;
  kink_text_ = fmt::format("kink within step of {} at {}: analytic {:.10g} ", input_of(element),
                           place(element), element.analytic);
  if (slope.kind == SlopeKind::refined) {
    kink_text_ += fmt::format("agrees at the smaller step {:.0e}", slope.step);
  } else {
    kink_text_ += fmt::format("lies {} the one-sided slopes {:.10g} and {:.10g}",
                              outside ? "outside" : "between", slope.left, slope.right);
  }
}

std::string GradientComparison::input_name(const GradcheckOptions& options, std::size_t k) {
  return k < options.names.size() ? options.names[k] : fmt::format("input {}", k);
}

std::string GradientComparison::place(const GradcheckElement& element) const {
  const Shape& shape = setting_.inputs[static_cast<std::size_t>(element.input)].shape();
  if (element.index == GradcheckElement::kKinksTogether) return "all kinks moved at once";
  if (element.index < 0) return "a random direction of " + shape.str();
  std::string text;
  const auto strides = shape.strides();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Index at = element.index / strides[static_cast<std::size_t>(axis)] % shape[axis];
    text += fmt::format("{}{}", axis > 0 ? ", " : "", at);
  }
  return fmt::format("index {} = ({}) of {}", element.index, text, shape.str());
}

std::string GradientComparison::wrong_text() const {
  const GradcheckElement& e = report_.worst;
  return fmt::format(
      "gradient of {} wrong at {}: analytic {:.10g}, numeric {:.10g}, absolute "
      "error {:.2e}, relative error {:.2e}; {} of {} numbers wrong",
      input_of(e), place(e), e.analytic, e.numeric, e.abs_error, e.rel_error, report_.wrong,
      report_.checked);
}

std::string GradientComparison::undecided_text() const {
  if (report_.undecided == 0) return "";
  return fmt::format(
      "{} of {} numbers are below the rounding of f, which leaves them undecided ({})",
      report_.undecided, report_.checked, undecided_text_);
}

std::string GradientComparison::kink_text() const {
  if (kink_text_.empty()) return "";
  const Index more = report_.kinks + report_.refined - 1;
  return more > 0 ? fmt::format("{}; {} more such points", kink_text_, more) : kink_text_;
}

}  // namespace autograd
