#pragma once

#include <limits>
#include <string>
#include <vector>

#include "experiments/report/report.h"
#include "experiments/softmax/lesson_module.h"
#include "experiments/softmax/lesson_runs.h"

// What the lesson says, and what a run of its code shows. The expected verdicts follow
// from theory; the verdicts come from the measurements alone.

namespace experiments::softmax {

using autograd::Index;

inline constexpr Index kHeadSize = 64;  // D of step 2

/// Everything that `gradlab lesson` measures.
struct Findings {
  Setting setting;                // of the runs at D = 64
  std::vector<CodeRuns> printed;  // x W with W ~ N(0,1): none, sqrt_dk
  std::vector<CodeRuns> unit;     // Q, K ~ N(0,1): none, sqrt_dk
  ModuleFacts module;
  InitialAttention unscaled, scaled;
};

/// `extra` is something that the lesson does not say.
enum class Verdict { right, partly, wrong, extra };
const char* name(Verdict verdict);  // "true", "partly", "wrong", "extra"
inline Verdict right_if(bool holds) { return holds ? Verdict::right : Verdict::wrong; }

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Claim {
  std::string id;
  std::string says;       // the lesson, in short
  std::string measured;   // the same in numbers
  std::string quantity;   // what the numbers below are
  double claimed, value;  // kNone where there is none
  double error;           // standard error of value; 0 for a count
  Index samples;          // that value is over
  Verdict verdict, expected;
};

/// All claims, in the lesson's order.
std::vector<Claim> judged(const Findings& findings);

/// The rows of the report: the claims.
std::vector<report::Column> claim_columns();
std::vector<report::Value> claim_row(const Claim& claim);
/// The claims as a table for people, wrapped within three columns.
std::vector<std::string> claim_lines(const std::vector<Claim>& claims);

}  // namespace experiments::softmax
