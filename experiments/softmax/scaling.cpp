#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/measure/theory.h"
#include "experiments/measure/values.h"
#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "experiments/softmax/scaling_checks.h"
#include "experiments/softmax/scaling_conclusions.h"
#include "experiments/softmax/scaling_trials.h"

namespace experiments::softmax {
namespace {

constexpr Index kReferenceRows = 8192;  // at most
constexpr Index kChannels = 768;        // of x, unless asked for
// Sizes of a constant scale; beyond them f32 cannot hold the scores or their gradients.
constexpr double kSmallestScale = 1e-30, kLargestScale = 1e30;

/// UsageError where a factor is of a size that no run can work with.
void check_size(const nn::Scale& scale) {
  const double size = std::abs(scale.factor(1));
  if (size == 0 || (size >= kSmallestScale && size <= kLargestScale)) return;
  throw UsageError(fmt::format("--scale: expected 0 or a number of size {} to {}, got {}",
                               kSmallestScale, kLargestScale, report::quote(scale.name())));
}

/// "left as they are", "divided by sqrt(d_k)"
std::string in_words(const nn::Scale& scale) {
  const std::string name = scale.name();
  if (name == "none") return "left as they are";
  if (name == "sqrt_dk") return "divided by sqrt(d_k)";
  return name == "dk" ? "divided by d_k" : "multiplied by " + name;
}

std::vector<Column> summary_columns(const char* key, const char* heading_mean,
                                    const char* heading_rms) {
  const std::string name(key);
  return {{name + "_mean", heading_mean, 3, /*wide=*/true},
          {name + "_median", ""},
          {name + "_p95", ""},
          {name + "_rms", heading_rms, 3, /*wide=*/true}};
}

std::vector<Column> scaling_columns() {
  std::vector<Column> all{{"d_k", "d_k"},
                          {"seq_len", ""},
                          {"scale", "scale"},
                          {"init", ""},
                          {"rows", ""},
                          {"score_std", "std(s)"},
                          {"score_min", ""},
                          {"score_max", ""},
                          {"entropy_norm_mean", "H/ln T", 3, /*wide=*/true},
                          {"entropy_mean", ""},
                          {"p_max_mean", "p_max"},
                          {"jacobian_mean", "|J|", 3, /*wide=*/true},
                          {"jacobian_median", "med |J|", 3, /*wide=*/true},
                          {"jacobian_trace_mean", ""},
                          {"dead_rows", "dead", 2},
                          {"gain_mean", ""},
                          {"gain_median", "gain"}};
  for (const auto& group :
       {summary_columns("ds", "|dS|", ""), summary_columns("dq", "|dQ|", "rms |dQ|"),
        summary_columns("dk", "", ""), summary_columns("dv", "", "")}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

std::vector<Value> row_of(const Cell& cell) {
  std::vector<Value> row{std::int64_t{cell.setting.d_k},
                         std::int64_t{cell.setting.seq_len},
                         cell.scale,
                         std::string(nn::name(cell.setting.init)),
                         std::int64_t{cell.setting.rows()},
                         cell.score_std,
                         cell.score_min,
                         cell.score_max,
                         cell.entropy_norm(),
                         cell.entropy.mean,
                         cell.p_max.mean,
                         cell.jacobian.mean,
                         cell.jacobian.median,
                         cell.trace.mean,
                         cell.dead_rows,
                         cell.gain.mean,
                         cell.gain.median};
  for (const measure::Summary& s : {cell.ds, cell.dq, cell.dk, cell.dv}) {
    row.insert(row.end(), {s.mean, s.median, s.p95, s.rms});
  }
  return row;
}

bool has_unchecked(const Series& series) {
  return !std::ranges::all_of(
      series, [](const Cell& cell) { return cell.factor == 0 || is_measurable(cell); });
}

/// What the factor of softmax(a q K^T) does to scores, weights and gradients, over a list of head
/// sizes d_k and of scales, with every number compared with what is known of it.
class Scaling : public Experiment {
 public:
  void add_options(Options& options) override;
  void validate(const Run&) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  Setting setting(Index d_k, const Run& run) const;
  void run_size(const Setting& setting, const Run& run, double done);
  Report report(const Run& run) const;
  std::vector<Check> slope_checks() const;
  std::vector<std::string> opening(const Run& run) const;
  std::vector<std::string> details() const;
  std::vector<std::string> notes(const Run& run) const;

  std::vector<Index> dk_{4, 8, 16, 32, 64, 128, 256, 512};
  Index seq_len_ = 16, rows_ = 4000;
  std::optional<Index> n_embd_;
  std::string init_ = "unit";
  std::vector<nn::Scale> scales_{nn::Scale::none(), nn::Scale::sqrt_dk()};

  std::vector<Series> series_;     // one a scale
  std::vector<CellCheck> checks_;  // of all cells
};

void Scaling::add_options(Options& options) {
  options.sizes("--dk", dk_, 1, 65536, "head sizes d_k, in channels");
  options.integer("--seq-len", seq_len_, 2, 65536, "keys a query attends to, T");
  options.integer("--rows", rows_, 1, 1'000'000'000,
                  "minimum number of queries (rows) for each size; a tenth of it with --quick");
  options.scales("--scale", scales_, "factors of the scores");
  options.choice("--init", init_, {"unit", "lesson", "torch", "gpt2"},
                 "q, k, v ~ N(0,1), or x W by the rule of that name");
  options.integer("--n-embd", n_embd_, 1, 65536,
                  fmt::format("channels of x, only with --init torch or gpt2 [{}]", kChannels));
}

void Scaling::validate(const Run&) {
  std::ranges::for_each(scales_, check_size);
  if (n_embd_ && init_ != "torch" && init_ != "gpt2")
    throw UsageError(fmt::format(
        "--n-embd: expected only with --init torch or gpt2, got {} with {}", *n_embd_, init_));
}

Setting Scaling::setting(Index d_k, const Run& run) const {
  const Index m = Setting::queries_of(seq_len_);
  const Index rows = run.quick ? std::max<Index>(rows_ / 10, 1) : rows_;
  return {.d_k = d_k,
          .seq_len = seq_len_,
          .trials = (rows + m - 1) / m,
          .init = nn::parse_init(init_),
          .n_embd = n_embd_.value_or(kChannels),
          .seed = run.seed,
          .dtype = run.dtype};
}

double Scaling::bytes_needed(const Run& run) const {
  double most = 0;
  for (const Index d : dk_) {
    most = std::max(most, bytes_of(setting(d, run), scales_.size(), run.threads));
  }
  return most;
}

void Scaling::run_size(const Setting& setting, const Run& run, double done) {
  const double share = 1 / static_cast<double>(dk_.size());
  const std::vector<Samples> samples = run_trials(
      setting, scales_, chunk_of(setting), [&](double part) { run.progress(done + share * part); });
  std::vector<double> factors;
  for (const nn::Scale& scale : scales_) factors.push_back(scale.factor(setting.d_k));
  std::vector<Reference> references;
  if (setting.init == nn::Init::unit && setting.trials >= kFewestTrials) {
    const Index rows = std::min(setting.rows(), kReferenceRows);
    references = run_reference({setting.d_k, setting.seq_len, rows, setting.seed}, factors);
  }
  const Index tests = tests_of(setting, dk_.size(), scales_.size());
  bool variance_done = false;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const Cell cell = make_cell(setting, scales_[i], samples[i]);
    std::vector<CellCheck> found;
    if (!variance_done) found = variance_checks(cell, samples[i], tests);
    variance_done = variance_done || !found.empty();
    checks_.insert(checks_.end(), found.begin(), found.end());
    found = checks_of(cell, samples[i], references.empty() ? nullptr : &references[i], tests);
    checks_.insert(checks_.end(), found.begin(), found.end());
    series_[i].push_back(cell);
  }
}

// For a constant factor a, the median gain dies as exp(-a gap_T sqrt(d)).
std::vector<Check> Scaling::slope_checks() const {
  std::vector<Check> checks;
  if (nn::parse_init(init_) != nn::Init::unit) return checks;
  for (const Series& series : series_) {
    const double slope = fit_gain(series).line.slope, a = series.front().factor;
    if (!std::isfinite(slope) || a != series.back().factor || a == 0) continue;
    const double limit = -std::abs(a) * measure::median_top_gap(seq_len_);
    checks.push_back({series[0].scale + ": slope of ln(med gain) -> -a gap_T", CheckKind::asymptote,
                      slope, limit, std::abs(slope - limit), true});
  }
  return checks;
}

std::vector<std::string> Scaling::opening(const Run& run) const {
  const Setting any = setting(dk_.front(), run);
  std::vector<std::string> scales;
  for (const nn::Scale& scale : scales_) scales.push_back(in_words(scale));
  std::vector<std::string> lines{fmt::format(
      "Attention over T = {} keys, with its scores q.k {}. {} rows for each head size d_k, with "
      "{}.",
      any.seq_len, report::join(scales, ", or "), any.rows(),
      init_ == "unit" ? "q, k, v ~ N(0,1)" : "q, k, v = x W, W drawn by the rule " + init_)};
  if (dk_.size() < 2) return lines;
  lines.push_back("");
  lines.push_back(fmt::format(
      "How much of a gradient comes through softmax (the median gain), from d_k = {} to {}:",
      dk_.front(), dk_.back()));
  for (const std::string& line : sparklines(series_, run.glyphs())) lines.push_back("  " + line);
  return lines;
}

std::vector<std::string> Scaling::details() const {
  std::vector<std::string> lines{
      "H/ln T: entropy of a row over its largest possible value, mean. |J|: Frobenius norm of the "
      "Jacobian of softmax, mean and median. |dS|, |dQ|: norms of a row's gradient of the scores "
      "and of q, mean and root mean square."};
  if (dk_.size() > 1) {
    lines.emplace_back(
        "The list shows each exact relation at the size that came closest to failing, and each "
        "limit at the largest size.");
  }
  lines.emplace_back("ln(median gain) against sqrt(d_k):");
  for (const Series& series : series_) {
    lines.push_back(fmt::format("  {}: {}", series[0].scale, verdict(fit_gain(series))));
  }
  for (const std::string& sentence : finer_points(series_)) lines.push_back(sentence);
  return lines;
}

std::vector<std::string> Scaling::notes(const Run& run) const {
  const Setting any = setting(dk_.front(), run);
  std::vector<std::string> lines{
      "std(s): standard deviation of the scores. p_max: the largest weight in a row, mean.",
      fmt::format("dead: share of the rows that hardly pass on a gradient: |J| < {} for the "
                  "Jacobian J of softmax.",
                  measure::kDeadJacobian),
      "gain: size of the gradient that leaves softmax over that of the one that enters it, median.",
      ""};
  for (const std::string& sentence : conclusions(series_)) lines.push_back(sentence);
  if (init_ != "unit") {
    lines.emplace_back(
        "Only Var(q.k) is known exactly for q = x W. Compare gains, not norms, across --init, as v "
        "= x W scales dP too.");
  }
  if (any.trials < kFewestTrials) {
    lines.push_back(
        fmt::format("Fewer than {} trials: no standard errors, and so no checks.", kFewestTrials));
  }
  if (any.init == nn::Init::unit && std::ranges::any_of(series_, has_unchecked)) {
    lines.emplace_back(
        "A scale so large that hardly a row learns, or so small that rounding hides it, has no "
        "exact checks.");
  }
  lines.push_back("Next: " + next_command(series_));
  return lines;
}

Report Scaling::report(const Run& run) const {
  Report report;
  report.columns = scaling_columns();
  for (std::size_t i = 0; i < dk_.size(); ++i) {
    for (const Series& series : series_) report.rows.push_back(row_of(series[i]));
  }
  report.checks = condensed(checks_);
  for (const Check& check : slope_checks()) report.checks.push_back(check);
  report.opening = opening(run);
  report.details = details();
  report.notes = notes(run);
  return report;
}

Report Scaling::run(const Run& run) {
  std::ranges::sort(dk_);
  series_.assign(scales_.size(), {});
  checks_.clear();
  for (std::size_t i = 0; i < dk_.size(); ++i) {
    run_size(setting(dk_[i], run), run, static_cast<double>(i) / static_cast<double>(dk_.size()));
  }
  return report(run);
}

}  // namespace

std::unique_ptr<Experiment> make_scaling() { return std::make_unique<Scaling>(); }

}  // namespace experiments::softmax
