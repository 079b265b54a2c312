#pragma once

#include "nn/io/memory_limit.h"

namespace experiments::cli {

using nn::memory_limit;

/// UsageError with both numbers if `needed` bytes are more than 80 % of `limit`.
void require_memory(double needed, double limit = memory_limit());

}  // namespace experiments::cli
