#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/derivatives.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/sharpness_run.h"

namespace experiments::training {
namespace {

using autograd::DType;
using autograd::Tensor;

/// What a run was like at one step.
struct Point {
  Index step;
  double loss;
  measure::Eigenvalue sharpness;
};

struct Course {
  SharpnessOptions options;
  SharpnessRun run;
  std::vector<Point> points;
  Index diverged = -1;  // the step after which the loss was no more than a large number
};

/// Gradient descent on a quadratic shrinks every direction whose curvature is below 2 / rate.
double limit(const SharpnessOptions& options) { return 2 / options.learning_rate; }

/// `gradlab sharpness`: the largest eigenvalue of the Hessian along gradient descent, which rises
/// to 2 / rate and then hovers there (Cohen, Kaur, Li, Kolter and Talwalkar, "Gradient descent on
/// neural networks typically occurs at the edge of stability", 2021), and what the scale of
/// attention does to it.
class Sharpness : public Experiment {
 public:
  void add_options(Options& options) override;
  void validate(const Run& run) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  Index steps(const Run& run) const { return run.quick ? std::min<Index>(steps_, 1000) : steps_; }
  std::vector<Course> cases(const Run& run) const;
  void train(std::vector<Course>& all, const Run& run) const;
  std::vector<std::string> notes(const std::vector<Course>& all) const;

  std::vector<Index> dk_{64, 256};
  std::vector<nn::Scale> scales_{nn::Scale::none(), nn::Scale::sqrt_dk()};
  Index steps_ = 4000, every_ = 1000, seq_len_ = 8;
  double learning_rate_ = 0.5;
};

void Sharpness::add_options(Options& options) {
  options.sizes("--dk", dk_, 1, 4096, "head sizes d, in channels");
  options.scales("--scale", scales_, "factors of the scores, a run for each");
  options.integer("--steps", steps_, 0, 1'000'000,
                  "steps of gradient descent; at most 1000 with --quick");
  options.integer("--every", every_, 1, 1'000'000, "steps between two measurements");
  options.number("--learning-rate", learning_rate_, 1e-6, 1e6, "step size of all runs");
  options.integer("--seq-len", seq_len_, 2, 512, "positions (tokens), T");
}

void Sharpness::validate(const Run& run) {
  if (run.dtype != DType::f64)
    throw UsageError("--dtype: second derivatives are computed in f64; got 'f32'");
}

double Sharpness::bytes_needed(const Run&) const {
  double bytes = 0;
  const auto T = static_cast<double>(seq_len_);
  for (const Index d_k : dk_) {
    const auto d = static_cast<double>(d_k);
    const double parameters = 2 * 8 * d + 64, values = 4 * (2 * T * d + 4 * T * T);
    bytes += static_cast<double>(scales_.size()) * 16 * (50 * parameters + 4 * values);
  }
  return bytes;
}

std::vector<Course> Sharpness::cases(const Run& run) const {
  std::vector<Course> all;
  for (const Index d_k : dk_) {
    for (const nn::Scale& scale : scales_) {
      const SharpnessOptions options{.d_k = d_k,
                                     .scale = scale,
                                     .seq_len = seq_len_,
                                     .learning_rate = learning_rate_,
                                     .seed = run.seed};
      all.push_back({.options = options, .run = SharpnessRun(options), .points = {}});
    }
  }
  return all;
}

/// Measures, unless the run is lost: a loss a million times that of the start does not come back.
void look(Course& c, Index step) {
  if (c.diverged >= 0) return;
  const double loss = c.run.loss();
  if (step > 0 && !(loss < 1e6 * c.points.front().loss)) {
    c.diverged = step;
    return;
  }
  c.points.push_back({step, loss, c.run.sharpness()});
}

void Sharpness::train(std::vector<Course>& all, const Run& run) const {
  const Index last = steps(run);
  for (Index step = 0; step <= last; step += every_) {
    run.progress(static_cast<double>(step) / static_cast<double>(last + 1));
    // A thread takes whole runs: their arrays are too small to be shared.
    autograd::parallel_for(std::ssize(all), 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        Course& c = all[static_cast<std::size_t>(i)];
        look(c, step);
        for (Index k = 0; k < std::min(every_, last - step) && c.diverged < 0; ++k) c.run.step();
      }
    });
  }
}

// --- checks

/// Lanczos over hvp of sum_i i y_i^2 / 2 for i = 1 to n, with y = x - 2 u (u.x), a reflection of
/// x: the eigenvalues are 1 to n, and no axis is an eigenvector.
Check quadratic_check(const Run& run) {
  constexpr Index n = 24;
  const Tensor curvature = autograd::arange(n).to(DType::f64) + 1.0;
  const Tensor drawn(normal(autograd::Shape{n}, 0, 1, DType::f64, {run.seed, 1u << 21}));
  const Tensor u = drawn / norm(drawn);
  const auto loss = [&](const Tensor& x) {
    const Tensor y = x - u * ((u * x).sum() * 2.0);
    return (curvature * y * y).sum() * 0.5;
  };
  const Tensor at = autograd::zeros({n}, DType::f64);
  const auto product = [&](const std::vector<double>& v) {
    const Tensor hv =
        hvp(loss, at, autograd::from_values(std::span<const double>(v), autograd::Shape{n}));
    const auto values = hv.data().read<double>();
    return std::vector<double>(values.begin(), values.end());
  };
  const double found =
      measure::largest_eigenvalue(product, n, {run.seed, 1u << 20}, {.tolerance = 1e-12}).value;
  constexpr double kAllowed = 1e-10;
  return {"a quadratic: largest eigenvalue", CheckKind::identity, found, n, kAllowed,
          std::abs(found - n) <= kAllowed};
}

/// A layer so small that its whole Hessian is at hand.
void add_dense_checks(const Run& run, std::vector<Check>& checks) {
  SharpnessRun small({.d_k = 3, .batch_size = 2, .seq_len = 4, .width = 3, .seed = run.seed});
  for (int i = 0; i < 10; ++i) small.step();
  const Index n = small.parameter_count();
  const std::vector<double> h = small.dense_hessian();
  double skew = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) skew = std::max(skew, std::abs(h[i * n + j] - h[j * n + i]));
  constexpr double kRounding = 1e-13;
  checks.push_back({fmt::format("a layer of {} numbers: |H - H^T|", n), CheckKind::bound, skew, 0,
                    kRounding, skew <= kRounding});
  const double dense = measure::eigenvalues(h, n).back(), found = small.sharpness().value;
  const double allowed = 1e-6 * dense;
  checks.push_back({fmt::format("a layer of {} numbers: Lanczos = dense", n), CheckKind::identity,
                    found, dense, allowed, std::abs(found - dense) <= allowed});
}

bool has_late_share(const Course& c) { return c.diverged < 0 && c.points.size() >= 4; }

/// The mean of sharpness / (2 / rate) over the second half of the measurements.
double late_share(const Course& c) {
  double total = 0, count = 0;
  for (std::size_t i = c.points.size() / 2; i < c.points.size(); ++i, ++count)
    total += c.points[i].sharpness.value / limit(c.options);
  return total / count;
}

std::string label(const Course& c) {
  return fmt::format("d_k={} {}", c.options.d_k, c.options.scale.name());
}

// --- words

std::vector<std::string> Sharpness::notes(const std::vector<Course>& all) const {
  std::vector<std::string> lines{fmt::format(
      "One attention head on {} sequences of T = {}, C = {}, with fixed normal inputs and targets, "
      "squared error, all of it in every step. sharpness: the largest eigenvalue of the Hessian, "
      "by "
      "Lanczos over exact Hessian-vector products.",
      all.front().options.batch_size, seq_len_, all.front().options.width)};
  std::vector<std::string> starts;
  for (const Index d_k : dk_) {
    const Course *none = nullptr, *scaled = nullptr;
    for (const Course& c : all) {
      if (c.options.d_k != d_k) continue;
      if (c.options.scale.name() == "none") none = &c;
      if (c.options.scale.name() == "sqrt_dk") scaled = &c;
    }
    if (none && scaled)
      starts.push_back(fmt::format(
          "{} at d_k = {}",
          report::significant(
              none->points.front().sharpness.value / scaled->points.front().sharpness.value, 3),
          d_k));
  }
  if (!starts.empty())
    lines.push_back(
        fmt::format("At the start the unscaled head is this many times as sharp as the "
                    "one with 1/sqrt(d): {}.",
                    report::join(starts, ", ")));
  std::vector<std::string> ends;
  for (const Course& c : all) {
    if (has_late_share(c))
      ends.push_back(fmt::format("{} for {}", report::significant(late_share(c), 3), label(c)));
  }
  if (!ends.empty())
    lines.push_back(fmt::format(
        "On a quadratic, steps of this rate would grow where the curvature is above 2 / rate. Over "
        "the second half of the run the sharpness is on average this many times 2 / rate: {}.",
        report::join(ends, ", ")));
  for (const Course& c : all) {
    if (c.diverged >= 0)
      lines.push_back(
          fmt::format("{}: the loss had grown a million times at step {}; the run ends.", label(c),
                      c.diverged));
  }
  return lines;
}

Report Sharpness::run(const Run& run) {
  Report report;
  report.columns = {{"d_k", "d_k"},
                    {"scale", "scale"},
                    {"step", "step"},
                    {"loss", "loss", 4},
                    {"sharpness", "sharpness", 4},
                    {"residual", "+-", 2, /*wide=*/true},
                    {"products", "products", 3, /*wide=*/true},
                    {"limit", "2 / rate", 4},
                    {"share", "of 2 / rate", 3}};
  std::vector<Course> all = cases(run);
  train(all, run);
  for (const Course& c : all) {
    for (const Point& p : c.points) {
      report.rows.push_back({std::int64_t{c.options.d_k}, c.options.scale.name(),
                             std::int64_t{p.step}, p.loss, p.sharpness.value, p.sharpness.residual,
                             std::int64_t{p.sharpness.products}, limit(c.options),
                             p.sharpness.value / limit(c.options)});
    }
  }
  report.checks.push_back(quadratic_check(run));
  add_dense_checks(run, report.checks);
  for (const Course& c : all) {
    if (!has_late_share(c)) continue;
    const double share = late_share(c);
    report.checks.push_back({label(c) + ": late sharpness / (2 / rate)", CheckKind::asymptote,
                             share, 1, 0.2, std::abs(share - 1) <= 0.2});
  }
  report.notes = notes(all);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_sharpness() { return std::make_unique<Sharpness>(); }

}  // namespace experiments::training
