#pragma once

#include "experiments/experiment.h"
#include "experiments/softmax/lesson_claims.h"

namespace experiments::softmax {

/// What `gradlab lesson` measures: the code of step 2, run `runs` times, and the module of step 3.
Findings findings_of(const Run& run, Index runs);

/// The claims as rows, the three steps and the claims as text. Failed if a verdict is not the
/// expected one.
Report report_of(const Findings& findings, const Run& run);

}  // namespace experiments::softmax
