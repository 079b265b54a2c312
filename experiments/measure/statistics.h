#pragma once

#include <span>

#include "autograd/array/shape.h"

namespace experiments::measure {

using autograd::Index;

/// The four numbers by which a sample is reported. NaN if any value is not finite.
struct Summary {
  double mean, median, p95, rms;
};
Summary summarize(std::span<const double> values);

/// Quantile q in [0, 1], interpolated linearly between the order statistics at q (n - 1) (type 7 of
/// Hyndman and Fan, NumPy's default). Reorders `values`; NaN if there are none.
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
/// How many standard errors, estimated with `dof` degrees of freedom, stand for "4 sigma" when
/// `tests` comparisons are made: so many that all of them together fail by chance as rarely as one
/// normal value exceeds 4 (6e-5; Student's t, Bonferroni). It is 4 for one test and many degrees of
/// freedom.
double four_sigma(double dof, Index tests);

/// How far an estimate may lie from a constant, or two estimates from each other: four_sigma
/// standard errors, combined for two estimates, with Welch's degrees of freedom.
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
