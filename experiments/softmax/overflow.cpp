#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/measure/theory.h"
#include "experiments/measure/values.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/softmax/overflow_rows.h"
#include "experiments/softmax/scaling_checks.h"

namespace experiments::softmax {
namespace {

using autograd::DType;

constexpr DType kTypes[] = {DType::f32, DType::f64};

/// `gradlab overflow`: exp(s) / sum(exp(s)) against the softmax that subtracts the largest score.
class Overflow : public Experiment {
 public:
  void add_options(Options& options) override {
    options.sizes(
        "--scores", scores_, 1, 1'000'000,
        "sizes s: a row's largest score is s, then -s (in f32 and f64, whatever --dtype is)");
    options.integer("--seq-len", seq_len_, 2, 65536, "scores in a row, T");
  }
  double bytes_needed(const Run&) const override {
    return static_cast<double>(seq_len_) * (4 * sizeof(double) + sizeof(long double));
  }
  Report run(const Run& run) override;

 private:
  std::vector<Value> sweep(Index score);
  void add_checks(DType dtype, Report& report) const;
  std::vector<std::string> notes() const;

  std::vector<Index> scores_{1,   10,  50,  80,  86,  88,  89,  100, 104,
                             200, 500, 707, 709, 710, 740, 746, 1000};
  Index seq_len_ = 16;
  double worst_shifted_[2] = {};  // of f32 and f64
};

std::vector<Column> overflow_columns() {
  std::vector<Column> all{{"score", "s"}};
  for (const DType dtype : kTypes) {
    const std::string t = autograd::name(dtype);
    all.insert(all.end(), {{t + "_naive_above", t + " naive, s", 2},
                           {t + "_naive_above_outcome", ""},
                           {t + "_naive_below", t + " naive, -s", 2},
                           {t + "_naive_below_outcome", ""},
                           {t + "_shifted", t + " shifted", 2}});
  }
  return all;
}

std::vector<Value> Overflow::sweep(Index score) {
  std::vector<Value> cells{std::int64_t{score}};
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    const auto s = static_cast<double>(score);
    const autograd::Array above = row_of_scores(s, seq_len_, kTypes[i]),
                          below = row_of_scores(-s, seq_len_, kTypes[i]);
    for (const autograd::Array& row : {above, below}) {
      const Weights naive = weights_of(row, Method::naive);
      cells.push_back(naive.error);
      cells.push_back(std::string(naive.outcome));
    }
    const double shifted = std::max(weights_of(above, Method::shifted).error,
                                    weights_of(below, Method::shifted).error);
    cells.push_back(shifted);
    worst_shifted_[i] = std::max(worst_shifted_[i], shifted);
  }
  return cells;
}

void Overflow::add_checks(DType dtype, Report& report) const {
  const Breaks found = find_breaks(seq_len_, dtype), known = expected_breaks(seq_len_, dtype);
  // Two neighbouring numbers, and the error of exp and the sum.
  const double tolerance = measure::epsilon(dtype) * (2 * known.nan_below + 4);
  const auto add = [&](const char* what, double measured, double predicted) {
    report.checks.push_back({fmt::format("{} {}", autograd::name(dtype), what), CheckKind::identity,
                             measured, predicted, tolerance,
                             std::abs(measured - predicted) <= tolerance});
  };
  add("s: sum(exp) becomes inf, weights 0", found.sum, known.sum);
  add("s: exp becomes inf, inf / inf = nan", found.nan_above, known.nan_above);
  add("-s: exp becomes subnormal, digits go", found.subnormal, known.subnormal);
  add("-s: every exp becomes 0, 0 / 0 = nan", found.nan_below, known.nan_below);
  // exp, sum and division are off by half a unit or one each; a sum of doubles in sixteen
  // lanes adds at most T / 8.
  const double eps = measure::epsilon(dtype), bound = (4 + static_cast<double>(seq_len_) / 8) * eps;
  const double largest =
      dtype == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  double worst = worst_shifted_[dtype == DType::f32 ? 0 : 1];
  for (const double top : {largest, -largest}) {
    worst = std::max(worst, weights_of(row_of_scores(top, seq_len_, dtype), Method::shifted).error);
  }
  report.checks.push_back({fmt::format("{} shifted: worst error, any size", autograd::name(dtype)),
                           CheckKind::bound, worst, bound, 0, worst <= bound});
}

// The smallest D at which the largest of a row's four scores reaches the limit on average.
Index size_reaching(double limit, nn::Init init) {
  const double m = measure::expected_max(4);
  const auto reaches = [&](Index d) {
    return m * std::sqrt(expected_score_square({.d_k = d, .seq_len = 4, .init = init})) >= limit;
  };
  Index high = 1;
  while (!reaches(high)) high *= 2;
  Index low = high / 2;
  while (high - low > 1) {
    const Index middle = (low + high) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

// The numbers that the checks round, in full.
std::string last_good(Index seq_len, DType dtype) {
  const Breaks b = find_breaks(seq_len, dtype);
  const auto full = [dtype](double s) {
    return dtype == DType::f32 ? fmt::format("{}", static_cast<float>(s)) : report::shortest(s);
  };
  return fmt::format("{}: sum finite {}, exp finite {}, exp(-s) normal {}, not 0 {}",
                     autograd::name(dtype), full(b.sum), full(b.nan_above), full(b.subnormal),
                     full(b.nan_below));
}

std::vector<std::string> Overflow::notes() const {
  const double f32 = expected_breaks(seq_len_, DType::f32).nan_above,
               f64 = expected_breaks(seq_len_, DType::f64).nan_above;
  return {
      fmt::format("Largest relative error of a weight, compared with long double. A row has {} "
                  "evenly spaced scores from s (or -s) down to 1 less. nan: a weight is nan. 1.0 "
                  "under s: sum(exp) is inf and every weight is 0.",
                  seq_len_),
      "naive: exp(s) / sum(exp(s)); shifted: with the row's largest score subtracted first, as "
      "softmax does here. Both types are shown whatever --dtype is; nothing is random.",
      "The largest s that works, by bisection down to neighbouring numbers (the next one fails):",
      last_good(seq_len_, DType::f32),
      last_good(seq_len_, DType::f64),
      fmt::format("The lesson's code (W ~ N(0,1), T = 4): without the scale, a row's largest score "
                  "averages {} from D = {} on and {} from D = {} on; with q, k ~ N(0,1), only from "
                  "d_k = {} and {} on.",
                  report::significant(f32, 4), size_reaching(f32, nn::Init::lesson),
                  report::significant(f64, 4), size_reaching(f64, nn::Init::lesson),
                  report::grouped(size_reaching(f32, nn::Init::unit)),
                  report::grouped(size_reaching(f64, nn::Init::unit)))};
}

Report Overflow::run(const Run& run) {
  std::ranges::sort(scores_);
  Report report;
  report.columns = overflow_columns();
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    run.progress(static_cast<double>(i) / static_cast<double>(scores_.size()));
    report.rows.push_back(sweep(scores_[i]));
  }
  for (const DType dtype : kTypes) add_checks(dtype, report);
  report.notes = notes();
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_overflow() { return std::make_unique<Overflow>(); }

}  // namespace experiments::softmax
