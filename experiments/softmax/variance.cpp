#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/registry.h"
#include "experiments/report/histogram.h"
#include "experiments/report/numbers.h"
#include "experiments/softmax/variance_pairs.h"

namespace experiments::softmax {
namespace {

constexpr Index kFewestBatches = 32;  // below that the standard errors mean little

/// `gradlab variance`: Var(q.k) = d and excess kurtosis 6/d for q, k ~ N(0, I_d) (Vaswani et al.
/// 2017, footnote 4): q.k is a sum of d independent products, each of variance 1 and kurtosis 9.
class Variance : public Experiment {
 public:
  void add_options(Options& options) override {
    options.sizes("--dk", dk_, 1, 65536, "head sizes d, in channels");
    options.integer("--pairs", pairs_, kFewestBatches * kPairs, 1'000'000'000,
                    "minimum number of pairs (q, k) per size; a tenth of it with --quick");
    options.integer("--histogram", drawn_, 0, 65536,
                    "size d whose histogram is drawn; 0: the smallest");
  }
  void validate(const Run&) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  Index batches(const Run& run) const;
  void add(const PairSetting& setting, const PairScores& scores, Report& report) const;
  std::vector<std::string> notes(const Run& run) const;

  std::vector<Index> dk_{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  Index pairs_ = kPairs * 1024;
  Index drawn_ = 0;
  std::vector<std::int64_t> bins_;  // of drawn_
};

void Variance::validate(const Run&) {
  std::ranges::sort(dk_);
  if (drawn_ == 0) drawn_ = dk_.front();
  if (std::ranges::count(dk_, drawn_) == 0) {
    throw UsageError(
        fmt::format("--histogram: expected one of --dk {}, got '{}'", fmt::join(dk_, ","), drawn_));
  }
}

Index Variance::batches(const Run& run) const {
  const Index pairs = run.quick ? pairs_ / 10 : pairs_;
  return std::max(kFewestBatches, (pairs + kPairs - 1) / kPairs);
}

double Variance::bytes_needed(const Run& run) const {
  const auto d = static_cast<double>(*std::ranges::max_element(dk_));
  return 8 *
         (4.0 * static_cast<double>(batches(run)) + run.threads * (2 * kSide * d + 2.0 * kPairs));
}

std::vector<Column> variance_columns() {
  return {{"d_k", "d_k"},
          {"pairs", ""},
          {"mean", "mean / sqrt(d)", 2},
          {"mean_error", ""},
          {"variance", "Var(q.k)", 5},
          {"variance_error", "+-", 2},
          {"variance_over_d", "Var / d", 4},
          {"excess_kurtosis", "excess kurtosis", 4},
          {"excess_kurtosis_error", "+-", 2},
          {"excess_kurtosis_expected", "6 / d", 4},
          {"beyond_4_sigma", "|z| > 4", 2}};
}

void Variance::add(const PairSetting& setting, const PairScores& scores, Report& report) const {
  const auto d = static_cast<double>(setting.d);
  const Index pairs = setting.batches * kPairs;
  const measure::Estimate mean = measure::grouped_mean(scores.mean, 1),
                          ratio = measure::grouped_mean(scores.square, 1),
                          kurtosis = excess_kurtosis(scores.square, scores.fourth);
  const measure::Estimate variance{d * ratio.mean, d * ratio.error, ratio.groups};
  const auto tails = static_cast<double>(scores.bins.front() + scores.bins.back());
  report.rows.push_back({std::int64_t{setting.d}, std::int64_t{pairs}, mean.mean, mean.error,
                         variance.mean, variance.error, ratio.mean, kurtosis.mean, kurtosis.error,
                         6 / d, tails / static_cast<double>(pairs)});
  const auto tests = static_cast<Index>(2 * dk_.size());
  const auto check = [&](const char* what, const measure::Estimate& e, double expected) {
    const double allowed = measure::tolerance(e, tests);
    report.checks.push_back({fmt::format("d_k={}: {}", setting.d, what), CheckKind::identity,
                             e.mean, expected, allowed, std::abs(e.mean - expected) <= allowed});
  };
  check("Var(q.k) = d", variance, d);
  check("excess kurtosis = 6/d", kurtosis, 6 / d);
}

std::vector<std::string> Variance::notes(const Run& run) const {
  std::int64_t total = 0;
  for (const std::int64_t count : bins_) total += count;
  std::vector<report::Bar> bars;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const std::string label =
        bin == 0           ? "below -4"
        : bin + 1 == kBins ? "above 4"
                           : fmt::format("{:.1f} to {:.1f}", bin_edge(bin), bin_edge(bin + 1));
    bars.push_back(
        {label, static_cast<double>(bins_[bin]) / static_cast<double>(total), normal_share(bin)});
  }
  std::vector<std::string> lines{
      fmt::format("{} pairs per size, q, k ~ N(0, I_d). +- is a standard error over {} independent "
                  "batches, for the kurtosis by the jackknife. The kurtosis itself is 3 + 6/d. A "
                  "normal z has |z| > 4 with probability {}.",
                  report::grouped(batches(run) * kPairs), report::grouped(batches(run)),
                  report::significant(2 * normal_share(0), 2)),
      "",
      fmt::format("z = q.k / sqrt(d) at d_k = {} (bars) and the normal curve (strokes), with both "
                  "in percent at the right:",
                  drawn_)};
  for (std::string& line : report::histogram(bars, 60, run.glyphs())) {
    lines.push_back(std::move(line));
  }
  return lines;
}

Report Variance::run(const Run& run) {
  Report report;
  report.columns = variance_columns();
  double all = 0, done = 0;
  for (const Index d : dk_) all += static_cast<double>(d);
  for (const Index d : dk_) {
    const auto work = static_cast<double>(d);
    const PairSetting setting{
        .d = d, .batches = batches(run), .seed = run.seed, .dtype = run.dtype};
    const PairScores scores =
        run_pairs(setting, [&](double part) { run.progress((done + part * work) / all); });
    done += work;
    if (d == drawn_) bins_ = scores.bins;
    add(setting, scores, report);
  }
  report.notes = notes(run);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_variance() { return std::make_unique<Variance>(); }

}  // namespace experiments::softmax
