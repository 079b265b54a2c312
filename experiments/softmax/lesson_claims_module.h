#pragma once

#include "experiments/softmax/lesson_claims.h"

namespace experiments::softmax {

/// The claims about the module of step 3, its parameters and its asserts.
std::vector<Claim> module_claims(const Findings& findings);

}  // namespace experiments::softmax
