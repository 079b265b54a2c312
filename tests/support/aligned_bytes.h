#pragma once

#include <cstdint>

namespace test {

/// Bytes of the blocks that this process has from `operator new` with an alignment, which is where
/// the engine's arrays and nodes live.
std::int64_t aligned_bytes();

}  // namespace test
