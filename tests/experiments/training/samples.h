#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "experiments/report/report.h"

namespace experiments::test {

/// Numbers that formats have lost digits, signs or zeros of.
inline const std::vector<double> kNumbers = {0.004654,
                                             1e-8,
                                             1.0 / 3,
                                             16777217,
                                             0.1,
                                             double{0.1f},
                                             1e300,
                                             -0.0,
                                             5e-324,
                                             0,
                                             3,
                                             -1e22,
                                             1e23,
                                             9007199254740993.0,
                                             std::numeric_limits<double>::max(),
                                             std::numeric_limits<double>::min(),
                                             std::numeric_limits<double>::epsilon(),
                                             std::nextafter(1.0, 2.0),
                                             4096.5,
                                             1234567.875};

inline report::Report sample_report() {
  report::Report report;
  report.columns = {{"name", "name"}, {"size", "size"}, {"x", "x"}, {"good", "good"}};
  for (const double value : kNumbers)
    report.rows.push_back({"a \"name\"", std::int64_t{1048576}, value, value > 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const double value : {nan, -nan, inf, -inf})
    report.rows.push_back({"not\tfinite\n\x01\xff\\", std::int64_t{-4096}, value, false});
  report.checks = {{"Var(q.k) = d", report::CheckKind::identity, 63.5, 64, 1.25, true},
                   {"far", report::CheckKind::asymptote, 1234567.5, inf, nan, false}};
  report.notes = {"a note"};
  return report;
}

inline report::Context sample_context() {
  return {.version = "1.2.3",
          .command = "gradlab scaling --out 'a b'",
          .experiment = "scaling",
          .seed = 18446744073709551615u,
          .threads = 4,
          .dtype = "f32",
          .quick = true};
}

}  // namespace experiments::test
