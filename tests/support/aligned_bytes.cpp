#include "tests/support/aligned_bytes.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> live{0};

}  // namespace

namespace test {

std::int64_t aligned_bytes() { return live; }

}  // namespace test

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  void* block = std::aligned_alloc(step, (bytes + step - 1) / step * step);
  if (!block) throw std::bad_alloc();
  live += static_cast<std::int64_t>(malloc_usable_size(block));
  return block;
}

void operator delete(void* block, std::align_val_t) noexcept {
  if (block) live -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}
