#include "autograd/machine/parallel.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "autograd/array/matmul.h"
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

/// 4950, by a loop of a hundred pieces.
Index sum_of_a_loop() {
  std::atomic<Index> total{0};
  parallel_for(100, 1, [&](Index begin, Index) { total += begin; });
  return total;
}

/// Whether f returns true in a forked child, within half a minute.
bool holds_in_a_child(const std::function<bool()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

/// The threads of this process.
std::vector<std::filesystem::path> tasks() {
  const std::filesystem::directory_iterator begin("/proc/self/task"), end;
  return {begin, end};
}

/// Not so in a build without OpenMP.
bool several_threads() { return std::thread::hardware_concurrency() > 1 && num_threads() > 1; }

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
  EXPECT_LE(tasks().size(), 4u) << "nested regions must not square the threads";
}

/// Processes that wanted a processor, on average over the last minute; 0 where nothing says so.
double load() {
  double processes = 0;
  std::ifstream("/proc/loadavg") >> processes;
  return processes;
}

TEST(ParallelFor, TwoThreadsMultiplyFasterThanOne) {
#ifndef NDEBUG
  GTEST_SKIP() << "not an optimised build";
#endif
  if (!several_threads()) GTEST_SKIP() << "one thread";
  const unsigned processors = std::thread::hardware_concurrency();
  const Array a = normal({1024, 768}, 0, 1, DType::f32, {1, 1});
  const Array b = normal({768, 2304}, 0, 1, DType::f32, {1, 2});
  double best[] = {HUGE_VAL, HUGE_VAL};  // seconds on one thread and on two
  constexpr double kGain = 1.15;
  for (int repeat = 0; repeat < 20 && !(repeat >= 3 && best[0] > kGain * best[1]); ++repeat) {
    for (const int n : {1, 2}) {
      const Threads threads(n);
      const auto start = std::chrono::steady_clock::now();
      ASSERT_EQ(matmul(a, b).numel(), 1024 * 2304);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best[n - 1] = std::min(best[n - 1], took.count());
    }
  }
  const double ratio = best[0] / best[1];
  if (ratio <= kGain && load() > 0.8 * processors)
    GTEST_SKIP() << fmt::format("a load of {} on {} processors", load(), processors);
  EXPECT_GT(ratio, kGain) << best[0] << " s on one thread, " << best[1] << " s on two";
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

TEST(ParallelFor, CallsEachPieceOnceHoweverManyLoopsFollowEachOther) {
  const Threads threads(3);
  for (int loop = 0; loop < 20'000; ++loop) {
    const Index n = 2 + loop % 37;
    std::array<std::atomic<int>, 40> calls{};
    parallel_for(n, 1, [&](Index begin, Index) { ++calls[static_cast<std::size_t>(begin)]; });
    for (Index i = 0; i < 40; ++i) ASSERT_EQ(calls[static_cast<std::size_t>(i)], i < n) << loop;
  }
}

TEST(ParallelFor, ServesSeveralThreadsAtOnce) {
  const Threads threads(4);
  std::vector<std::thread> users;
  std::atomic<Index> total{0};
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop) {
        parallel_for(50, 1, [&](Index begin, Index) { total += begin; });
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(total, 4 * 500 * (49 * 50 / 2));
}

TEST(ParallelFor, IsSerialBesideALoopOfAnotherThread) {
  const Threads threads(2);
  std::atomic<int> running{0}, most{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      parallel_for(40, 1, [&](Index, Index) {
        const int now = ++running;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        usleep(1000);
        --running;
      });
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_LE(most, 4 + 1);
}

TEST(ParallelFor, WorksInForkedChildrenAndAfterThem) {
  const Threads threads(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    ASSERT_EQ(sum_of_a_loop(), 4950);
    EXPECT_TRUE(holds_in_a_child([] {
      return sum_of_a_loop() == 4950 && holds_in_a_child([] { return sum_of_a_loop() == 4950; });
    }));
  }
}

TEST(ParallelFor, WorksInAChildForkedDuringALoop) {
  const Threads threads(2);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) sum_of_a_loop();
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_TRUE(holds_in_a_child([] { return sum_of_a_loop() == 4950; }));
  }
  over = true;
  other.join();
  std::atomic<int> right{0};
  parallel_for(4, 1, [&](Index, Index) {
    right += holds_in_a_child([] { return sum_of_a_loop() == 4950; });
  });
  EXPECT_EQ(right, 4);
}

TEST(ParallelFor, RunsOnFewerThreadsWhereALimitForbidsThem) {
  for (const unsigned allowed : {0, 1, 2, 3, 4, 8}) {
    EXPECT_TRUE(holds_in_a_child([allowed] {
      // A user of no other process, as the limit is one for all processes of a user, but not root.
      if (getuid() == 0 && setuid(3'141'592) != 0) return true;
      const rlimit limit{1 + allowed, 1 + allowed};
      if (setrlimit(RLIMIT_NPROC, &limit) != 0) return false;
      set_num_threads(4);
      for (int repeat = 0; repeat < 3; ++repeat) {
        if (sum_of_a_loop() != 4950) return false;
      }
      sigset_t blocked;
      pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      return sigisemptyset(&blocked) == 1;
    })) << allowed;
  }
}

TEST(ParallelFor, LeavesSignalsToTheCallingThread) {
  if (!several_threads()) GTEST_SKIP() << "one thread";
  const Threads threads(2);
  EXPECT_TRUE(holds_in_a_child([] {
    if (sum_of_a_loop() != 4950 || tasks().size() < 2) return false;
    int blocking = 0;
    for (const std::filesystem::path& task : tasks()) {
      std::ifstream status(task / "status");
      for (std::string word; status >> word;) {
        std::uint64_t signals = 0;
        if (word == "SigBlk:" && status >> std::hex >> signals) blocking += signals >> 1 & 1;
      }
    }
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return blocking == std::ssize(tasks()) - 1 && sigisemptyset(&blocked) == 1;
  }));
}

TEST(LibraryCall, KeepsProductsToTheCallingThread) {
  EXPECT_TRUE(holds_in_a_child([] {
    set_num_threads(1);
    const Array a = normal({64, 4096}, 0, 1, DType::f32, {1, 1});
    return matmul(a, a, Trans::no, Trans::yes).numel() == 64 * 64 && tasks().size() == 1;
  }));
}

TEST(LibraryCall, KeepsSignalHandlersOffTheStackOfProducts) {
  const Threads threads(1);
  const Array a = normal({96, 700}, 0, 1, DType::f32, {1, 1});
  const Array b = normal({700, 80}, 0, 1, DType::f32, {1, 2});
  const Array quiet = matmul(a, b);
  static std::atomic<int> came;
  came = 0;
  const auto before = ::signal(SIGALRM, [](int) {
    volatile char deep[4096];
    for (volatile char& c : deep) c = 'x';
    ++came;
  });
  const itimerval often{{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, nullptr);
  bool same = true;
  while (same && came < 200) {
    const Array product = matmul(a, b);
    same = std::ranges::equal(product.read<float>(), quiet.read<float>());
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  ::signal(SIGALRM, before);
  EXPECT_TRUE(same);
}

}  // namespace
