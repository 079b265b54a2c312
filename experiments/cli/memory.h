#pragma once

#include "nn/io/memory_limit.h"

namespace experiments::cli {

using nn::memory_limit;

/// UsageError with both numbers if `needed` bytes are more than 80 % of `limit`.
void require_memory(double needed, double limit = memory_limit());

/// Room for the stacks of this thread and of those that it starts, where the shell allows less.
/// UsageError if it allows no more.
void require_stack();

}  // namespace experiments::cli
