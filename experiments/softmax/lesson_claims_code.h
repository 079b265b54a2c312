#pragma once

#include "experiments/softmax/lesson_claims.h"

namespace experiments::softmax {

/// The claims about what the code of steps 1 and 2 prints.
std::vector<Claim> code_claims(const Findings& findings);

}  // namespace experiments::softmax
