#include "experiments/softmax/scaling_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "experiments/measure/theory.h"
#include "experiments/measure/values.h"

namespace experiments::softmax {
namespace {

// Collects the checks of one cell.
class Checks {
 public:
  Checks(Index d_k, std::string scale) : d_k_(d_k), scale_(std::move(scale)) {}

  void within(report::CheckKind kind, const char* name, double measured, double predicted,
              double tolerance) {
    add({name, kind, measured, predicted, tolerance, std::abs(measured - predicted) <= tolerance});
  }
  void at_most(const char* name, double measured, double bound, double tolerance) {
    add({name, report::CheckKind::bound, measured, bound, tolerance,
         measured <= bound + tolerance});
  }
  void limit(const char* name, double measured, double predicted) {
    add({name, report::CheckKind::asymptote, measured, predicted, std::abs(measured - predicted),
         true});
  }
  std::vector<CellCheck> take() { return std::move(checks_); }

 private:
  void add(report::Check check) { checks_.push_back({d_k_, scale_, std::move(check)}); }

  Index d_k_;
  std::string scale_;
  std::vector<CellCheck> checks_;
};

// E[tr J] = E[sum_i x_i p_i] / sigma row by row, by Gaussian integration by parts; and sum x p is
// at most the largest x.
void add_exact(Checks& checks, const Cell& cell, const Samples& samples, Index tests) {
  const Index m = cell.setting.queries();
  std::vector<double> difference(samples.trace.size());
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = samples.trace[i] - samples.trace_by_parts[i];
  }
  const double trace = cell.trace.mean;
  checks.within(report::CheckKind::identity, "E[tr J] = E[x.p]/sigma", trace,
                measure::mean(samples.trace_by_parts),
                measure::tolerance(measure::grouped_mean(difference, m), tests));
  if (cell.setting.d_k == 1) return;  // E[1/|q|] is infinite: no bound
  const double bound = measure::expected_max(cell.setting.seq_len) *
                       measure::expected_inverse_norm(cell.setting.d_k) / std::abs(cell.factor);
  checks.at_most("E[tr J] <= m_T E[1/|q|]/a", trace, bound,
                 measure::tolerance(measure::grouped_mean(samples.trace, m), tests));
}

void add_reference(Checks& checks, const Cell& cell, const Samples& samples,
                   const Reference& reference, Index tests) {
  const auto compare = [&](const char* name, const std::vector<double>& rows,
                           const measure::Estimate& other) {
    const measure::Estimate own = measure::grouped_mean(rows, cell.setting.queries());
    checks.within(report::CheckKind::reference, name, own.mean, other.mean,
                  measure::tolerance(own, other, tests));
  };
  compare("mean |J|", samples.jacobian, reference.jacobian);
  compare("mean H", samples.entropy, reference.entropy);
  compare("mean p_max", samples.p_max, reference.p_max);
}

// The limits hold for iid normal logits: nearly so under torch and gpt2, whose x has many channels.
void add_limits(Checks& checks, const Cell& cell) {
  const Index T = cell.setting.seq_len;
  const double sigma = cell.sigma();
  if (sigma < 1.001) {  // 1 as sqrt_dk rounds it
    checks.limit("mean H -> series in sigma", cell.entropy.mean,
                 measure::small_sigma_entropy(T, sigma));
    checks.limit("mean |J| -> sqrt(T-1)/T", cell.jacobian.mean, measure::small_sigma_jacobian(T));
  }
  if (sigma < 4) return;
  checks.limit("mean |J| -> m_T/sigma", cell.jacobian.mean,
               measure::large_sigma_jacobian(T, sigma));
  checks.limit("rms |J| -> (m_T/3sigma)^.5", cell.jacobian.rms,
               std::sqrt(measure::large_sigma_jacobian_square(T, sigma)));
  checks.limit("med |J| ~ 2exp(-sigma gap_T)", cell.jacobian.median,
               measure::large_sigma_jacobian_median(T, sigma));
  checks.limit("mean H -> pi^2/6 m_T/sigma", cell.entropy.mean,
               measure::large_sigma_entropy(T, sigma));
  checks.limit("1 - p_max -> ln 2 m_T/sigma", 1 - cell.p_max.mean,
               measure::large_sigma_lost_mass(T, sigma));
  if (cell.setting.init != nn::Init::unit) return;  // dP and |k| are not those of the derivation
  // |dS| -> |J| |z| with z ~ N(0,1), and |dQ| -> a sqrt(d) |dS|: two keys share the row.
  const double z = std::sqrt(2 / std::numbers::pi), m = measure::expected_max(T);
  checks.limit("|dS| -> sqrt(2/pi) m_T/sigma", cell.ds.mean, z * m / sigma);
  checks.limit("|dQ| -> sqrt(2/pi) m_T", cell.dq.mean, z * m);
  checks.limit("rms |dQ| -> (sigma m_T/3)^.5", cell.dq.rms, std::sqrt(sigma * m / 3));
}

}  // namespace

double Cell::entropy_norm() const {
  return entropy.mean / std::log(static_cast<double>(setting.seq_len));
}

double Cell::sigma() const { return std::abs(factor) * std::sqrt(expected_score_square(setting)); }

double expected_score_square(const Setting& setting) {
  const auto d = static_cast<double>(setting.d_k), T = static_cast<double>(setting.seq_len),
             C = static_cast<double>(setting.channels());
  if (setting.init == nn::Init::unit) return d;
  const double w = setting.init == nn::Init::lesson  ? 1.0
                   : setting.init == nn::Init::torch ? 1 / (3 * C)
                                                     : 0.02 * 0.02;  // variance of a weight
  // E[s_ij^2] = d w^2 |x_i|^2 |x_j|^2 given x. One key in T stands where the query does, and has
  // E|x|^4 = C^2 + 2 C; the others have C^2.
  return d * w * w * (C * C + 2 * C / T);
}

Cell make_cell(const Setting& setting, const nn::Scale& scale, const Samples& samples) {
  Cell cell;
  cell.setting = setting;
  cell.scale = scale.name();
  cell.factor = scale.factor(setting.d_k);
  const double square = measure::mean(samples.score_square),
               center = measure::mean(samples.score_mean);
  cell.score_std = std::sqrt(std::max(0.0, square - center * center));
  cell.score_min = measure::mean(samples.score_min);
  cell.score_max = measure::mean(samples.score_max);
  cell.entropy = measure::summarize(samples.entropy);
  cell.p_max = measure::summarize(samples.p_max);
  cell.jacobian = measure::summarize(samples.jacobian);
  cell.trace = measure::summarize(samples.trace);
  cell.gain = measure::summarize(samples.gain);
  cell.ds = measure::summarize(samples.ds);
  cell.dq = measure::summarize(samples.dq);
  cell.dk = measure::summarize(samples.dk);
  cell.dv = measure::summarize(samples.dv);
  cell.step = measure::summarize(samples.step);
  const auto dead = std::count_if(samples.jacobian.begin(), samples.jacobian.end(),
                                  [](double j) { return j < measure::kDeadJacobian; });
  cell.dead_rows = static_cast<double>(dead) / static_cast<double>(setting.rows());
  std::vector<double> steps = samples.step;
  cell.step_p99 = measure::quantile(steps, 0.99);
  return cell;
}

bool is_measurable(const Cell& cell) {
  constexpr double kFewestLively = 30;  // rows
  const double rounding = measure::epsilon(cell.setting.dtype);
  const double sigma = cell.sigma();
  const double lively = static_cast<double>(cell.setting.rows()) *
                        measure::expected_max(cell.setting.seq_len) / sigma;
  return sigma > 1000 * rounding && lively >= kFewestLively;
}

Index tests_of(const Setting& setting, std::size_t sizes, std::size_t scales) {
  const std::size_t a_scale = setting.init == nn::Init::unit ? 5 : 0;  // besides Var(q.k)
  return static_cast<Index>(sizes * (1 + a_scale * scales));
}

std::vector<CellCheck> variance_checks(const Cell& cell, const Samples& samples, Index tests) {
  if (cell.setting.trials < kFewestTrials || cell.factor == 0) return {};
  // Products of four normals: a standard error covers their tails only once many are summed.
  const Index summed = cell.setting.trials * std::min<Index>(cell.setting.channels(), 1000);
  if (cell.setting.init != nn::Init::unit && (cell.setting.channels() < 8 || summed < 3000)) {
    return {};
  }
  std::vector<double> squares = samples.score_square;
  for (double& s : squares) s /= cell.factor * cell.factor;
  const measure::Estimate measured = measure::grouped_mean(squares, 1);
  Checks checks(cell.setting.d_k, "");
  checks.within(report::CheckKind::identity,
                cell.setting.init == nn::Init::unit ? "Var(q.k) = d" : "Var(q.k)", measured.mean,
                expected_score_square(cell.setting), measure::tolerance(measured, tests));
  return checks.take();
}

std::vector<CellCheck> checks_of(const Cell& cell, const Samples& samples,
                                 const Reference* reference, Index tests) {
  Checks checks(cell.setting.d_k, cell.scale);
  const bool exact = cell.setting.init == nn::Init::unit && cell.setting.trials >= kFewestTrials &&
                     is_measurable(cell);
  if (exact) add_exact(checks, cell, samples, tests);
  if (exact && reference) add_reference(checks, cell, samples, *reference, tests);
  if (cell.setting.init != nn::Init::lesson) add_limits(checks, cell);
  return checks.take();
}

namespace {

// How near a check came to failing (1 is where it does); of limits the largest size comes first.
double strain(const CellCheck& c) {
  if (c.check.kind == report::CheckKind::asymptote) return static_cast<double>(c.d_k);
  const double off = c.check.measured - c.check.predicted;
  return (c.check.kind == report::CheckKind::bound ? off : std::abs(off)) / c.check.tolerance;
}

report::Check named(const CellCheck& c) {
  report::Check check = c.check;
  const std::string scale = c.scale.empty() ? "" : " " + c.scale;
  check.name = fmt::format("d_k={}{}: {}", c.d_k, scale, check.name);
  return check;
}

}  // namespace

std::vector<report::Check> condensed(const std::vector<CellCheck>& all) {
  std::vector<std::vector<const CellCheck*>> groups;
  for (const CellCheck& c : all) {
    const auto same = [&](const auto& group) {
      return group[0]->scale == c.scale && group[0]->check.name == c.check.name &&
             group[0]->check.kind == c.check.kind;
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) groups.push_back({&c});
    else found->push_back(&c);
  }
  std::vector<report::Check> shown;
  for (const auto& group : groups) {
    const auto worst = std::max_element(
        group.begin(), group.end(),
        [](const CellCheck* a, const CellCheck* b) { return strain(*a) < strain(*b); });
    const auto before = shown.size();
    for (const CellCheck* c : group) {
      if (!c->check.ok) shown.push_back(named(*c));
    }
    if (shown.size() == before) shown.push_back(named(**worst));
  }
  return shown;
}

}  // namespace experiments::softmax
