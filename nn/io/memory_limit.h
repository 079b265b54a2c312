#pragma once

namespace nn {

/// Bytes of memory that this process may come to use: the machine's, or less where a control group
/// says so; infinity if unknown.
double memory_limit();

/// The part of it that one thing may claim.
inline constexpr double kMemoryShare = 0.8;

}  // namespace nn
