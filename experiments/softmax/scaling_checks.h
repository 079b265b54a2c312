#pragma once

#include <string>
#include <vector>

#include "experiments/measure/statistics.h"
#include "experiments/report/report.h"
#include "experiments/softmax/scaling_reference.h"
#include "experiments/softmax/scaling_trials.h"

namespace experiments::softmax {

using autograd::Index;

/// What the table shows of one size under one scale.
struct Cell {
  Setting setting;
  std::string scale;            // its written form
  double factor;                // a
  double score_std;             // of all scores
  double score_min, score_max;  // means over trials of a trial's smallest and largest score
  measure::Summary entropy, p_max, jacobian, trace, gain, ds, dq, dk, dv, step;
  double dead_rows;  // share of rows with |J|_F < 1e-3
  double step_p99;   // of the logits' move by one unit-rate step on q

  double entropy_norm() const;  // mean H / ln T
  /// The expected standard deviation of the scores.
  double sigma() const;
};
Cell make_cell(const Setting& setting, const nn::Scale& scale, const Samples& samples);

/// E[(q.k)^2] over all pairs: d for unit; exact for the others too, whose weights are independent.
double expected_score_square(const Setting& setting);

/// Trials below which a standard error means little: then only asymptotes are given.
inline constexpr Index kFewestTrials = 16;

/// Whether the means of a cell can be compared with others. With very large scores, all rows but
/// about rows m_T / sigma saturate, and there must be some of those; with very small ones, the
/// weights differ by less than their rounding.
bool is_measurable(const Cell& cell);

/// A check of one size under one scale; `check.name` is the bare relation.
struct CellCheck {
  Index d_k;
  std::string scale;  // "" for what no scale changes
  report::Check check;
};
/// At most how many checks of a run with these sizes and scales may fail: their tolerances leave
/// all of them together the chance of failing that one would have at 4 standard errors.
Index tests_of(const Setting& setting, std::size_t sizes, std::size_t scales);

/// The checks of a cell that hold for its initialisation. `reference` is null unless it is unit.
std::vector<CellCheck> checks_of(const Cell& cell, const Samples& samples,
                                 const Reference* reference, Index tests);
/// Var(q.k), which no scale changes: once per size, from the samples under any scale but 0.
std::vector<CellCheck> variance_checks(const Cell& cell, const Samples& samples, Index tests);

/// The checks that the report shows: for each relation under each scale, all sizes at which it
/// failed, or else the size that came closest to failing; for a limit, the largest size.
std::vector<report::Check> condensed(const std::vector<CellCheck>& all);

}  // namespace experiments::softmax
