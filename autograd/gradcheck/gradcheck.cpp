#include "autograd/gradcheck/gradcheck.h"

#include <cmath>

#include "autograd/gradcheck/compare.h"
#include "autograd/graph/paths.h"

namespace autograd {
namespace {

constexpr int kExtraEvaluations = 8;  // before a gradient is called wrong, f must repeat itself

void check_options(const GradcheckOptions& options) {
  const bool tolerances = options.rtol >= 0 && options.atol >= 0 && std::isfinite(options.rtol) &&
                          std::isfinite(options.atol) && options.rtol + options.atol > 0;
  if (!tolerances || !(options.step > 0 && options.step < 1)) {
    fail<ValueError>(
        "gradcheck: expected finite rtol and atol >= 0, not both 0, and a step in (0, 1), got {}, "
        "{} and {}",
        options.rtol, options.atol, options.step);
  }
}

std::string input_name(const GradcheckOptions& options, std::size_t k) {
  return GradientComparison::input_name(options, k);
}

void check_inputs(const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  if (!grad_enabled()) fail<GraphError>("gradcheck: gradients are off here (NoGrad)");
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor& x = inputs[k];
    if (!x.requires_grad()) continue;
    any = true;
    if (x.dtype() != DType::f64) {
      fail<DTypeError>(
          "gradcheck: expected f64, got {} in {}, whose rounding would drown the "
          "differences",
          input_name(options, k), name(x.dtype()));
    }
    if (!x.is_leaf()) {
      fail<GraphError>(
          "gradcheck: expected leaves, got {}, a result of '{}'; "
          "x.detach().requires_grad_() makes one",
          input_name(options, k), x.op());
    }
  }
  if (!any) fail<GraphError>("gradcheck: none of the {} inputs requires a gradient", inputs.size());
}

bool depends_on(const Tensor& y, const Tensor& x) {
  return y.node() && nodes_below(y.node()).count(x.node()->id) > 0;
}

/// One gradient per input, from the graph; zeros where y does not depend on it.
std::vector<Array> graph_gradients(const Tensor& y, const std::vector<Tensor>& inputs,
                                   const Tensor& cotangent) {
  std::vector<Array> gradients;
  std::vector<Tensor> targets;
  std::vector<std::size_t> positions;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    gradients.push_back(Array::zeros(inputs[k].shape(), inputs[k].dtype()));
    if (!inputs[k].requires_grad() || !depends_on(y, inputs[k])) continue;
    targets.push_back(inputs[k]);
    positions.push_back(k);
  }
  if (targets.empty()) return gradients;
  const std::vector<Tensor> found = grad(y, targets, cotangent, Retain::yes);
  for (std::size_t i = 0; i < found.size(); ++i) gradients[positions[i]] = found[i].data();
  return gradients;
}

/// One call of gradcheck. Each step returns false when it has found a reason to refuse.
class Checker {
 public:
  Checker(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
          const GradcheckOptions& options)
      : f_(f), inputs_(inputs), options_(options), restore_(inputs), generator_(options.seed) {}

  GradcheckReport run(const ClaimedGradient* claimed) {
    if (evaluate() && find_gradients(claimed)) compare(claimed);
    return report_;
  }

 private:
  bool evaluate() {
    y_ = f_(inputs_);
    if (y_.dtype() != DType::f64) {
      fail<DTypeError>("gradcheck: expected f to return f64, got {}", name(y_.dtype()));
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (!bit_equal(inputs_[k].data(), restore_.original(k))) {
        return refuse(fmt::format("f changed {}", input_name(options_, k)));
      }
    }
    again_ = f_(inputs_);
    if (!bit_equal(again_.data(), y_.data()) || value_changes(1)) {
      return refuse("f is not deterministic: two evaluations differ");
    }
    cotangent_ = Tensor(normal(y_.shape(), 0, 1, DType::f64, generator_.next()));
    return true;
  }

  bool find_gradients(const ClaimedGradient* claimed) {
    std::vector<Array> repeated, rebuilt;
    try {
      gradients_ = gradients_of(y_, claimed, cotangent_);
      repeated = gradients_of(y_, claimed, cotangent_);
      rebuilt = gradients_of(again_, claimed, cotangent_);
    } catch (const Error& error) {
      return refuse(fmt::format("backward failed: {}", error.what()));
    }
    if (!check_shapes(gradients_) || !check_shapes(repeated) || !check_shapes(rebuilt))
      return false;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (!inputs_[k].requires_grad()) continue;
      if (!bit_equal(gradients_[k], repeated[k]) || !bit_equal(gradients_[k], rebuilt[k])) {
        return refuse(
            fmt::format("backward is not deterministic: two runs differ in the gradient of "
                        "{}",
                        input_name(options_, k)));
      }
    }
    return true;
  }

  std::vector<Array> gradients_of(const Tensor& y, const ClaimedGradient* claimed,
                                  const Tensor& cotangent) {
    if (!claimed) return graph_gradients(y, inputs_, cotangent);
    std::vector<Array> gradients;
    for (const Tensor& g : (*claimed)(inputs_, cotangent)) {
      gradients.push_back(g.defined() ? g.data() : Array());
    }
    return gradients;
  }

  bool check_shapes(const std::vector<Array>& gradients) {
    if (gradients.size() != inputs_.size()) {
      return refuse(fmt::format("expected {} gradients, one per input, got {}", inputs_.size(),
                                gradients.size()));
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const Array& g = gradients[k];
      const Tensor& x = inputs_[k];
      if (!x.requires_grad() || (g.shape() == x.shape() && g.dtype() == x.dtype())) continue;
      return refuse(fmt::format("gradient of {}: expected {} {}, got {} {}",
                                input_name(options_, k), name(x.dtype()), x.shape().str(),
                                name(g.dtype()), g.shape().str()));
    }
    return true;
  }

  /// The cotangent, each element over the size of its output.
  Tensor weighed_by_output() const {
    const auto y = y_.data().read<double>();
    Tensor weighed = cotangent_.detach();
    weighed.write<double>([&](std::span<double> v) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        const double size = std::abs(y[i]);
        if (size > 1e-250 && std::isfinite(size)) v[i] /= size;
      }
    });
    return weighed;
  }

  void compare(const ClaimedGradient* claimed) {
    GradientComparison comparison(
        {[this] { return value(); }, inputs_, restore_, cotangent_.data(), options_}, generator_);
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (inputs_[k].requires_grad()) comparison.compare_input(k, gradients_[k]);
    }
    if (comparison.report().undecided > 0) {
      const Tensor weighed = weighed_by_output();
      comparison.compare_undecided(weighed.data(), gradients_of(y_, claimed, weighed));
    }
    comparison.compare_kinks();
    report_ = comparison.report();
    conclude(comparison);
  }

  void conclude(const GradientComparison& comparison) {
    const std::string kinks = comparison.kink_text(), lost = comparison.undecided_text();
    const bool may_be_vacuous = y_.numel() == 0 || options_.allow_vacuous;
    if (report_.wrong > 0) {
      if (value_changes(kExtraEvaluations)) {
        refuse("f is not deterministic: two evaluations differ");
      } else {
        refuse(comparison.wrong_text() + (kinks.empty() ? "" : "; " + kinks));
      }
    } else if (comparison.vacuous() && !may_be_vacuous) {
      refuse(fmt::format("vacuous: f is flat in all {} numbers", report_.checked),
             Verdict::undecided);
    } else if (comparison.undecided() && !may_be_vacuous) {
      refuse("undecided: " + lost, Verdict::undecided);
    } else if (!kinks.empty() || !lost.empty()) {
      const char* between = kinks.empty() || lost.empty() ? "" : "; ";
      report_.message = (y_.op().empty() ? "f" : y_.op()) + ": " + kinks + between + lost;
    }
  }

  Array value() const {
    NoGrad guard;
    Array y = f_(inputs_).data();
    if (!(y.shape() == y_.shape()) || y.dtype() != y_.dtype()) {
      fail<ShapeError>("gradcheck: the result of f changed from {} {} to {} {}", name(y_.dtype()),
                       y_.shape().str(), name(y.dtype()), y.shape().str());
    }
    return y;
  }

  bool value_changes(int evaluations) const {
    for (int i = 0; i < evaluations; ++i) {
      if (!bit_equal(value(), y_.data())) return true;
    }
    return false;
  }

  bool refuse(const std::string& message, Verdict verdict = Verdict::wrong) {
    report_.verdict = verdict;
    report_.ok = false;
    report_.message = (y_.op().empty() ? "f" : y_.op()) + ": " + message;
    return false;
  }

  const GradcheckFunction& f_;
  const std::vector<Tensor>& inputs_;
  const GradcheckOptions& options_;
  RestoreInputs restore_;
  Generator generator_;
  Tensor y_, again_;  // two evaluations, with their graphs
  Tensor cotangent_;
  std::vector<Array> gradients_;
  GradcheckReport report_;
};

}  // namespace

GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  check_options(options);
  check_inputs(inputs, options);
  return Checker(f, inputs, options).run(nullptr);
}

GradcheckReport gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                          const ClaimedGradient& claimed, const GradcheckOptions& options) {
  check_options(options);
  check_inputs(inputs, options);
  return Checker(f, inputs, options).run(&claimed);
}

}  // namespace autograd
