#include "autograd/machine/pool.h"

#include <array>
#include <new>

#include "autograd/machine/sanitizer.h"

namespace autograd::pool {
namespace {

// Sizes are rounded up to one of four steps per octave, from 64 bytes on, so at most a fifth of a
// block is wasted.
constexpr int kFirstOctave = 6, kOctaves = sizeof(std::size_t) == 8 ? 30 : 24, kSteps = 4;
constexpr std::size_t kLargest = std::size_t{1} << (kFirstOctave + kOctaves);
constexpr std::size_t kMostCached = std::size_t{1} << 28;  // bytes of one thread
constexpr bool kPools = !GRADLAB_ASAN;  // the sanitizer has to see every block end

struct Class {
  std::size_t index;
  std::size_t bytes;
};

Class class_of(std::size_t bytes) {
  if (bytes <= kAlignment) return {0, kAlignment};
  const int octave = 63 - __builtin_clzll(bytes - 1);  // bytes in (2^octave, 2^(octave + 1)]
  const std::size_t step = std::size_t{1} << (octave - 2);
  const std::size_t steps = (bytes - 1 - (std::size_t{1} << octave)) / step;  // 0 to 3
  return {static_cast<std::size_t>(octave - kFirstOctave) * kSteps + steps + 1,
          (std::size_t{1} << octave) + (steps + 1) * step};
}

// Bytes of the blocks of a class.
std::size_t size_of(std::size_t index) {
  if (index == 0) return kAlignment;
  const std::size_t octave = kFirstOctave + (index - 1) / kSteps;
  return (std::size_t{1} << octave) + ((index - 1) % kSteps + 1) * (std::size_t{1} << (octave - 2));
}

void* from_system(std::size_t bytes) { return ::operator new(bytes, std::align_val_t(kAlignment)); }
void to_system(void* block) noexcept { ::operator delete(block, std::align_val_t(kAlignment)); }

// A free block holds the pointer to the next one.
struct Free {
  Free* next;
};

// Trivially constructed and never destroyed, so that it works while other thread-local objects of
// this thread end; Guard empties it.
struct Cache {
  std::array<Free*, kOctaves * kSteps + 1> lists;
  std::size_t bytes;
  bool closed;
};
thread_local constinit Cache cache{};

struct Guard {
  ~Guard() {
    cache.closed = true;
    trim();
  }
  void touch() const {}
};
thread_local const Guard guard;

// Whether a block of `bytes` may be kept. Makes room by giving up the largest blocks that wait.
bool make_room(std::size_t bytes) noexcept {
  if (bytes > kMostCached) return false;
  for (std::size_t i = cache.lists.size(); i-- > 0 && cache.bytes + bytes > kMostCached;) {
    while (cache.lists[i] && cache.bytes + bytes > kMostCached) {
      Free* block = cache.lists[i];
      cache.lists[i] = block->next;
      cache.bytes -= size_of(i);
      to_system(block);
    }
  }
  return true;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (kPools && bytes <= kLargest) {
    const Class c = class_of(bytes);
    Free*& list = cache.lists[c.index];
    if (list) {
      Free* block = list;
      list = block->next;
      cache.bytes -= c.bytes;
      return block;
    }
    bytes = c.bytes;
  }
  return from_system(bytes);
}

void release(void* block, std::size_t bytes) noexcept {
  if (kPools && bytes <= kLargest) {
    const Class c = class_of(bytes);
    if (!cache.closed && make_room(c.bytes)) {
      guard.touch();  // so that it is constructed, and destroyed
      Free*& list = cache.lists[c.index];
      list = ::new (block) Free{list};
      cache.bytes += c.bytes;
      return;
    }
  }
  to_system(block);
}

void trim() noexcept {
  for (Free*& list : cache.lists) {
    while (list) {
      Free* block = list;
      list = block->next;
      to_system(block);
    }
  }
  cache.bytes = 0;
}

}  // namespace autograd::pool
