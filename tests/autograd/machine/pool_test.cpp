#include "autograd/machine/pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>

#include "autograd/machine/sanitizer.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;

#if !GRADLAB_ASAN

long page_faults() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

/// Takes a block, writes to all of it and gives it back.
void use(std::size_t bytes) {
  void* block = pool::allocate(bytes);
  std::memset(block, 1, bytes);
  pool::release(block, bytes);
}

TEST(Pool, GivesTheSameMemoryAgain) {
  use(3 << 20);
  const long before = page_faults();
  for (int i = 0; i < 10; ++i) use((3 << 20) - 100 * i);
  EXPECT_LT(page_faults() - before, 50);
}

TEST(Pool, MakesRoomForSizesThatCameLater) {
  std::vector<void*> blocks;
  for (int i = 0; i < 9; ++i) blocks.push_back(pool::allocate(30 << 20));
  for (void* block : blocks) pool::release(block, 30 << 20);  // more than the cache holds
  use(40 << 20);
  const long before = page_faults();
  for (int i = 0; i < 10; ++i) use(40 << 20);
  EXPECT_LT(page_faults() - before, 50);
  pool::trim();
}

#endif

TEST(Pool, AlignsWhatItGives) {
  for (const std::size_t bytes : {1, 63, 64, 65, 96, 100, 1000, 4097, 100000}) {
    void* block = pool::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % pool::kAlignment, 0u) << bytes;
    std::memset(block, 0xff, bytes);
    pool::release(block, bytes);
  }
}

TEST(Pool, TakesBackWhatAnotherThreadWasGiven) {
  Tensor made;
  std::thread([&made] { made = randn({100, 100}); }).join();
  EXPECT_EQ(made.numel(), 10000);
  std::thread([gone = std::move(made)]() mutable { gone = Tensor(); }).join();
}

}  // namespace
