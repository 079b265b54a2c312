#pragma once

#include <span>

#include "autograd/array/shape.h"

namespace experiments::measure {

using autograd::Index;

/// The four numbers that every figure is reported as. NaN if any value is not finite.
struct Summary {
  double mean, median, p95, rms;
};
Summary summarize(std::span<const double> values);

/// Quantile q in [0, 1], interpolated linearly between the order statistics at q (n - 1) (type 7 of
/// Hyndman and Fan, NumPy's default). Reorders `values`; NaN of none.
double quantile(std::span<double> values, double q);

double mean(std::span<const double> values);

/// A mean and its standard error, from `groups` independent values.
struct Estimate {
  double mean, error;
  Index groups;
};
/// The mean of consecutive groups of `group` values. Values of one group may depend on one another
/// (rows of a trial share K and V), so the error is taken over the means of the groups.
Estimate grouped_mean(std::span<const double> values, Index group);

/// P(|t| > x) for Student's t with `dof` degrees of freedom (need not be whole).
double student_t_tail(double x, double dof);
/// The x with student_t_tail(x, dof) == tail.
double student_t_critical(double tail, double dof);
/// What "4 standard errors" means for an error estimated with `dof` degrees of freedom when `tests`
/// such comparisons are made: the x that Student's t exceeds as rarely as all of them together may
/// fail by chance, as often as one normal exceeds 4 (6e-5; Bonferroni). 4 for one test and many
/// dof.
double four_sigma(double dof, Index tests);

/// How far an estimate may lie from a constant, and two from each other: four_sigma standard
/// errors, for two estimates the combined ones with Welch's degrees of freedom.
double tolerance(const Estimate& a, Index tests);
double tolerance(const Estimate& a, const Estimate& b, Index tests);

/// The least-squares line y = intercept + slope x.
struct LineFit {
  Index points = 0;
  double slope = 0, intercept = 0;
  double half_width = 0;  // of the slope's 95 % confidence interval; NaN with fewer than 3 points
  double r2 = 0;          // share of the variance explained
};
/// NaN slopes with fewer than 2 different x.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace experiments::measure
