#include "autograd/array/parallel.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;

/// Sets a thread count and puts the old one back.
class Threads {
 public:
  explicit Threads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before_); }

 private:
  int before_;
};

TEST(ParallelFor, CutsPiecesThatDoNotDependOnThreads) {
  for (const int n : {1, 2, 3, 4}) {
    const Threads threads(n);
    std::mutex mutex;
    std::set<std::pair<Index, Index>> pieces;
    parallel_for(10, 4, [&](Index begin, Index end) {
      const std::lock_guard lock(mutex);
      pieces.emplace(begin, end);
    });
    EXPECT_EQ(pieces, (std::set<std::pair<Index, Index>>{{0, 4}, {4, 8}, {8, 10}}));
  }
  parallel_for(0, 4, [](Index, Index) { FAIL(); });
}

TEST(ParallelFor, RethrowsTheExceptionOfTheLowestPiece) {
  const Threads threads(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::string text = test::message_of<std::runtime_error>([] {
      parallel_for(100, 1, [](Index begin, Index) {
        if (begin % 2) throw std::runtime_error("piece " + std::to_string(begin));
      });
    });
    EXPECT_EQ(text, "piece 1");
  }
}

TEST(ParallelFor, RunsNestedCallsSerially) {
  const Threads threads(4);
  std::atomic<int> sum{0};
  parallel_for(8, 1, [&](Index, Index) {
    parallel_for(8, 1, [&](Index begin, Index) { sum += static_cast<int>(begin); });
  });
  EXPECT_EQ(sum, 8 * 28);
  Index tasks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    tasks += !entry.path().empty();
  }
  EXPECT_LE(tasks, 8 + 2) << "nested regions must not square the threads";
}

TEST(ParallelFor, RefusesZeroThreads) { EXPECT_THROW(set_num_threads(0), ValueError); }

TEST(Embedding, AddsRepeatedIndicesWithoutARace) {
  const Threads threads(4);
  Tensor weight = zeros({10, 64}).requires_grad_();
  const Tensor index(Array::full({100000}, 3, DType::i64));
  sum(embedding(weight, index)).backward();
  for (Index v = 0; v < 10; ++v) {
    for (Index c = 0; c < 64; ++c) ASSERT_EQ(weight.grad().at({v, c}), v == 3 ? 100000 : 0);
  }
}

TEST(Embedding, NamesAnIndexOutOfRange) {
  const Threads threads(4);
  const std::string text = test::message_of<ValueError>([] {
    (void)embedding(zeros({10, 2}), tensor({1, 2, 10}, DType::i64));
  });
  EXPECT_NE(text.find("[0, 10), got 10 at position 2"), std::string::npos) << text;
}

}  // namespace
