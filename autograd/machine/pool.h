#pragma once

#include <cstddef>

namespace autograd {

/// Memory for arrays and graph nodes, 64-byte aligned. Blocks that are given back wait, by size, in
/// a cache of their thread, of up to 256 MiB, for the next request. Why: every op makes a new
/// array, and malloc returns large blocks to the system, which then hands out zeroed pages one page
/// fault at a time. A training step asks for the same sizes as the one before, so with the cache it
/// takes next to nothing from the system. Under AddressSanitizer nothing is kept.
namespace pool {

inline constexpr std::size_t kAlignment = 64;

void* allocate(std::size_t bytes);                      // std::bad_alloc
void release(void* block, std::size_t bytes) noexcept;  // as many bytes as were asked for

/// Returns what the cache of this thread holds to the system.
void trim() noexcept;

}  // namespace pool
}  // namespace autograd
