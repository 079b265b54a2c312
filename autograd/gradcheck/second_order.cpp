#include "autograd/gradcheck/second_order.h"

#include <algorithm>
#include <cmath>

#include "autograd/derivatives.h"
#include "autograd/gradcheck/compare.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

using Tensors = std::vector<Tensor>;

// So small that no element of a trial passes a kink beside it; the second one where f bends so
// sharply that the first is too long.
constexpr double kSteps[] = {1e-4, 1e-5};
constexpr double kByDifferences = 1e-6, kExact = 1e-11;  // relative errors that are allowed
constexpr double kFloor = 1e-2;  // of what an error is relative to, as numbers are about 1

double dot(const Tensors& a, const Tensors& b) {
  double total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) total += (a[k] * b[k]).sum().item();
  return total;
}

double largest(const Tensors& a) {  // NaN if there is one
  double top = 0;
  for (const Tensor& x : a) {
    const double v = x.numel() > 0 ? x.abs().max().item() : 0;
    if (v > top || std::isnan(v)) top = v;
  }
  return top;
}

/// |error| over what is allowed of numbers as large as `scale`; infinite for NaN.
double excess(double error, double scale, double allowed) {
  const double e = std::abs(error) / (allowed * (scale + kFloor));
  return std::isnan(e) ? INFINITY : e;
}

/// One trial at its inputs.
class SecondOrder {
 public:
  SecondOrder(const Trial& trial, RandomKey key) : trial_(trial), key_(key) {
    for (const Tensor& x : trial.inputs) {
      if (x.requires_grad()) xs_.push_back(x);
    }
    const Tensor y = trial.f(trial.inputs);
    cotangent_ = random(y.shape());
    for (const Tensor& x : xs_) {
      v_.push_back(random(x.shape()));
      w_.push_back(random(x.shape()));
    }
  }

  SecondOrderReport run() {
    const Closure f = [this] { return trial_.f(trial_.inputs); };
    const Closure loss = [this, &f] {
      const Tensor y = f();
      return (y * (cotangent_ + y * 0.5)).sum();
    };
    SecondOrderReport report;
    report.products = 2;
    const Tensors hv = hvp(loss, xs_, v_), hw = hvp(loss, xs_, w_);
    report.hvp = INFINITY;
    for (const double step : kSteps) {
      if (report.hvp > 1) report.hvp = std::min(report.hvp, off_by(hv, loss, step));
    }
    report.symmetry =
        excess(dot(w_, hv) - dot(v_, hw), absolute_dot(w_, hv) + absolute_dot(v_, hw), kExact);

    const Tensor forward = jvp(f, xs_, v_);
    const Tensors backward = gradient([&] { return (f() * cotangent_).sum(); }, xs_);
    report.jvp = excess(dot({forward}, {cotangent_}) - dot(backward, v_),
                        absolute_dot({forward}, {cotangent_}) + absolute_dot(backward, v_), kExact);
    report.ok = report.worst() <= 1;
    return report;
  }

 private:
  Tensor random(const Shape& shape) {
    ++key_.stream;
    return Tensor(normal(shape, 0, 1, DType::f64, key_));
  }

  static double absolute_dot(const Tensors& a, const Tensors& b) {
    Tensors x, y;
    for (const Tensor& t : a) x.push_back(t.abs());
    for (const Tensor& t : b) y.push_back(t.abs());
    return dot(x, y);
  }

  /// How far Hv is from differences of the gradient: the largest excess.
  double off_by(const Tensors& hv, const Closure& loss, double step) {
    const Tensors differences = gradient_differences(loss, step);
    const double scale = std::max(largest(hv), largest(differences));
    double worst = 0;
    for (std::size_t k = 0; k < xs_.size(); ++k) {
      const double off = largest({hv[k] - differences[k]});
      worst = std::max(worst, excess(off, scale, kByDifferences));
    }
    return worst;
  }

  /// The derivative of the gradient along v: central differences at h and h / 2, extrapolated.
  Tensors gradient_differences(const Closure& loss, double step) {
    RestoreInputs restore(xs_);
    const auto gradient_at = [&](double t) {
      for (std::size_t k = 0; k < xs_.size(); ++k) {
        xs_[k].set_data((Tensor(restore.original(k)) + v_[k] * t).data());
      }
      return gradient(loss, xs_);
    };
    const auto central = [&](double h) {
      Tensors ahead = gradient_at(h), behind = gradient_at(-h), slopes;
      for (std::size_t k = 0; k < xs_.size(); ++k) {
        slopes.push_back((ahead[k] - behind[k]) / (2 * h));
      }
      return slopes;
    };
    const Tensors whole = central(step), half = central(step / 2);
    Tensors slopes;
    for (std::size_t k = 0; k < xs_.size(); ++k) {
      slopes.push_back((half[k] * 4.0 - whole[k]) / 3.0);
    }
    return slopes;
  }

  const Trial& trial_;
  RandomKey key_;
  Tensors xs_, v_, w_;
  Tensor cotangent_;
};

}  // namespace

double SecondOrderReport::worst() const { return std::max({hvp, symmetry, jvp}); }

SecondOrderReport check_second_order(const GradcheckCase& c, std::uint64_t seed, int trials) {
  SecondOrderReport total;
  for (int i = 0; i < trials && total.ok; ++i) {
    Draw draw(seed, i);
    const Trial trial = c.make(draw);
    const SecondOrderReport report =
        SecondOrder(trial, {seed, (std::uint64_t{1} << 40) + (static_cast<std::uint64_t>(i) << 20)})
            .run();
    total.products += report.products;
    total.hvp = std::max(total.hvp, report.hvp);
    total.symmetry = std::max(total.symmetry, report.symmetry);
    total.jvp = std::max(total.jvp, report.jvp);
    if (report.ok) continue;
    total.ok = false;
    total.message = fmt::format(
        "{}, trial {}: second derivatives wrong: hvp against differences of the gradient is {:.2g} "
        "times what is allowed, v.Hw against w.Hv {:.2g} times, jvp against backward {:.2g} times",
        c.name, i, report.hvp, report.symmetry, report.jvp);
  }
  return total;
}

}  // namespace autograd
