#pragma once

#include "autograd/gradcheck/battery.h"

// The trials of fused_attention in the table of op_cases.h.

namespace autograd {

/// Some trials have rows of several tiles: large ones without the causal mask, so that the later
/// tiles hold many of the largest scores, others with it.
Trial packed_attention_trial(Draw& draw);

/// q, k and v apart: fewer heads of k and v in most trials, batch dims that they lack or share, and
/// in half of them a bias that repeats along some dims. Some have several tiles both ways, in which
/// causal queries see nothing of the last one. Each query sees two keys at least: beside a single
/// one the gradients of q and k are nothing but rounding.
Trial separate_attention_trial(Draw& draw);

}  // namespace autograd
