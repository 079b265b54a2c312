#include "autograd/gradcheck/battery.h"

#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/machine/parallel.h"

namespace autograd {
namespace {

constexpr int kMaxThreads = 4;

class RestoreThreads {
 public:
  RestoreThreads() : before_(num_threads()) {}
  ~RestoreThreads() { set_num_threads(before_); }
  RestoreThreads(const RestoreThreads&) = delete;
  RestoreThreads& operator=(const RestoreThreads&) = delete;

 private:
  int before_;
};

std::string shapes_of(const std::vector<Tensor>& inputs) {
  std::string text;
  for (const Tensor& x : inputs) text += (text.empty() ? "" : ", ") + x.shape().str();
  return text;
}

GradcheckReport check_trial(const Trial& trial, std::uint64_t seed, GradcheckOptions options) {
  options.seed = seed;
  options.allow_vacuous = options.allow_vacuous || trial.allow_vacuous;
  return gradcheck(trial.f, trial.inputs, options);
}

struct Result {
  Tensor y;
  std::vector<Array> gradients;  // of inputs that require none or are not reached: zeros
};

/// f and `passes` backwards with cotangent v, through the `.grad` of the leaves.
Result run(const Trial& trial, const Array& v, int passes = 1) {
  for (Tensor x : trial.inputs) x.zero_grad();
  Result result{trial.f(trial.inputs), {}};
  for (int i = 0; i < passes && result.y.requires_grad(); ++i) {
    result.y.backward(Tensor(v), Retain::yes);
  }
  for (Tensor x : trial.inputs) {
    const Tensor g = x.grad();
    result.gradients.push_back(g.defined() ? g.data() : Array::zeros(x.shape(), x.dtype()));
    x.zero_grad();
  }
  return result;
}

/// Largest distance over the largest expected value; NaN and infinities must be in the same places.
double distance(const Array& got, const Array& expected) {
  const Array a = got.to(DType::f64), b = expected.to(DType::f64);
  double error = 0, scale = 0;
  for (Index i = 0; i < a.numel(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::abs(x - y);
    error = std::isnan(d) ? INFINITY : std::max(error, d);
  }
  return error / (scale + 0.01);
}

/// One trial and what it gave the first time; each check appends its failures.
class Battery {
 public:
  Battery(const GradcheckCase& c, std::uint64_t seed, int trial)
      : c_(c), seed_(seed), number_(trial), trial_(make(DType::f64)) {
    for (const Tensor& x : trial_.inputs) before_.push_back(x.data());
    const Tensor y = trial_.f(trial_.inputs);
    cotangent_ = autograd::normal(y.shape(), 0, 1, y.dtype(), {seed, 1u << 20});
    first_ = run(trial_, cotangent_);
  }

  std::vector<std::string> run_all() {
    const RestoreThreads restore;
    set_num_threads(1);
    check_gradients();
    check_subsets();
    check_f32();
    check_twice();
    check_zero();
    check_no_grad();
    check_threads();
    check_inputs();
    return failures_;
  }

 private:
  Trial make(DType dtype) const {
    Draw draw(seed_, number_, dtype);
    return c_.make(draw);
  }
  void failed(const std::string& what) {
    failures_.push_back(fmt::format("{}, trial {}, inputs {}: {}", c_.name, number_,
                                    shapes_of(trial_.inputs), what));
  }
  bool same_bits(const Result& other) const {
    if (!bit_equal(other.y.data(), first_.y.data())) return false;
    for (std::size_t k = 0; k < before_.size(); ++k) {
      if (!bit_equal(other.gradients[k], first_.gradients[k])) return false;
    }
    return true;
  }

  void check_gradients() {
    const GradcheckReport report = check_trial(trial_, seed_, {});
    if (!report.ok) failed(report.message);
  }

  void check_subsets() {
    std::vector<std::size_t> wanting;
    for (std::size_t k = 0; k < before_.size(); ++k) {
      if (trial_.inputs[k].requires_grad()) wanting.push_back(k);
    }
    const std::size_t n = wanting.size();
    const auto check = [&](auto is_on) {
      std::vector<bool> on(before_.size(), false);
      for (std::size_t i = 0; i < n; ++i) on[wanting[i]] = is_on(i);
      check_subset(on);
    };
    if (n <= 5) {
      for (unsigned set = 0; set < (1u << n); ++set) {
        check([&](std::size_t i) { return ((set >> i) & 1u) != 0; });
      }
    } else {  // none, each alone, all but each
      check([](std::size_t) { return false; });
      for (std::size_t k = 0; k < n; ++k) {
        check([&](std::size_t i) { return i == k; });
        check([&](std::size_t i) { return i != k; });
      }
    }
    for (const std::size_t k : wanting) trial_.inputs[k].requires_grad_();
  }

  void check_subset(const std::vector<bool>& on) {
    std::string set;
    for (std::size_t k = 0; k < on.size(); ++k) {
      if (is_float(trial_.inputs[k].dtype())) {
        trial_.inputs[k].requires_grad_(on[k] ? RequiresGrad::yes : RequiresGrad::no);
      }
      if (on[k]) set += (set.empty() ? "" : ", ") + std::to_string(k);
    }
    const Result result = run(trial_, cotangent_);
    if (!bit_equal(result.y.data(), first_.y.data())) {
      failed("other values when only inputs {" + set + "} require a gradient");
    }
    if (set.empty() && result.y.requires_grad()) failed("a gradient though no input requires one");
    for (std::size_t k = 0; k < on.size(); ++k) {
      if (on[k] && !bit_equal(result.gradients[k], first_.gradients[k])) {
        failed(fmt::format("another gradient of input {} when only inputs {{{}}} require one", k,
                           set));
      }
    }
  }

  void check_f32() {
    const Trial single = make(DType::f32);
    const Result result = run(single, cotangent_.to(DType::f32));
    if (result.y.dtype() != DType::f32) {
      return failed(fmt::format("{} result from f32 inputs", name(result.y.dtype())));
    }
    constexpr double kLimit = 1e-4;
    const double off = distance(result.y.data(), first_.y.data());
    if (off > kLimit) failed(fmt::format("f32 and f64 values differ by {:.2e} (relative)", off));
    for (std::size_t k = 0; k < before_.size(); ++k) {
      const double error = distance(result.gradients[k], first_.gradients[k]);
      if (error <= kLimit) continue;
      failed(
          fmt::format("f32 and f64 gradients of input {} differ by {:.2e} (relative)", k, error));
    }
  }

  void check_twice() {
    const Result twice = run(trial_, cotangent_, 2);
    for (std::size_t k = 0; k < before_.size(); ++k) {
      if (!trial_.inputs[k].requires_grad()) continue;
      if (bit_equal(twice.gradients[k], first_.gradients[k] + first_.gradients[k])) continue;
      failed(fmt::format("two backwards do not give twice the gradient of input {}", k));
    }
  }

  void check_zero() {
    const Result zero = run(trial_, Array::zeros(cotangent_.shape(), cotangent_.dtype()));
    for (std::size_t k = 0; k < before_.size(); ++k) {
      if (!trial_.inputs[k].requires_grad()) continue;
      const auto g = zero.gradients[k].read<double>();
      const auto bad = std::find_if(g.begin(), g.end(), [](double x) { return !(x == 0); });
      if (bad == g.end()) continue;
      failed(fmt::format("a zero cotangent gives {} in the gradient of input {}", *bad, k));
    }
  }

  void check_no_grad() {
    NoGrad guard;
    const std::int64_t nodes = live_nodes();
    const Tensor y = trial_.f(trial_.inputs);
    if (!bit_equal(y.data(), first_.y.data())) failed("other values under NoGrad");
    bool is_input = false;  // f may hand an input through
    for (const Tensor& x : trial_.inputs) is_input = is_input || x.node() == y.node();
    if (y.requires_grad() && !is_input) failed("a gradient under NoGrad");
    if (live_nodes() != nodes) failed("a node under NoGrad");
  }

  void check_threads() {
    const SmallPieces small;
    for (int threads = 1; threads <= kMaxThreads; ++threads) {
      set_num_threads(threads);
      if (!same_bits(run(trial_, cotangent_))) {
        failed(fmt::format("other bits on {} threads", threads));
      }
    }
  }

  void check_inputs() {
    for (std::size_t k = 0; k < before_.size(); ++k) {
      if (!bit_equal(trial_.inputs[k].data(), before_[k])) {
        failed(fmt::format("input {} changed", k));
      }
    }
  }

  const GradcheckCase& c_;
  std::uint64_t seed_;
  int number_;
  Trial trial_;
  std::vector<Array> before_;
  Array cotangent_;
  Result first_;
  std::vector<std::string> failures_;
};

}  // namespace

GradcheckReport check_case(const GradcheckCase& c, std::uint64_t seed, int trials,
                           const GradcheckOptions& options) {
  GradcheckReport total;
  for (int i = 0; i < trials; ++i) {
    Draw draw(seed, i);
    const Trial trial = c.make(draw);
    const GradcheckReport report = check_trial(trial, seed, options);
    const bool worse = total.checked == 0 || report.worst.excess > total.worst.excess;
    if (worse && report.checked > 0) total.worst = report.worst;
    total.checked += report.checked;
    total.wrong += report.wrong;
    total.undecided += report.undecided;
    total.kinks += report.kinks;
    total.refined += report.refined;
    if (!report.message.empty() && (total.message.empty() || !report.ok)) {
      total.message = fmt::format("{}, trial {}, inputs {}: {}", c.name, i, shapes_of(trial.inputs),
                                  report.message);
    }
    if (!report.ok) {
      total.ok = false;
      total.verdict = report.verdict;
      total.worst = report.worst;
      break;
    }
  }
  return total;
}

std::vector<std::string> battery(const GradcheckCase& c, std::uint64_t seed, int trial) {
  return Battery(c, seed, trial).run_all();
}

}  // namespace autograd
