#pragma once

namespace experiments::cli {

/// Bytes of memory that this process may use: all of the machine's, or less if a control group
/// limits it; infinity if unknown.
double memory_limit();

/// UsageError with both numbers if `needed` bytes are more than 80 % of `limit`.
void require_memory(double needed, double limit = memory_limit());

}  // namespace experiments::cli
