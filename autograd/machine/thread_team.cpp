#include "autograd/machine/thread_team.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace autograd {
namespace {

constexpr int kMostThreads = 64;
constexpr int kSpins = 1000;  // some 50 us: longer than the gap between two loops of an op
constexpr int kYields = 50;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

/// Waits a little for done(), first at full readiness, then leaving the processor to others.
template <class Done>
bool spin_until(Done done) {
  for (int i = 0; i < kSpins; ++i) {
    if (done()) return true;
    pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return false;
}

/// The pieces [next, end) of one thread's part that nobody has begun, and the loop they belong to:
/// a thread that comes late finds another loop's number and takes nothing.
class alignas(64) Part {
 public:
  void fill(std::uint32_t loop, std::uint32_t begin, std::uint32_t end) {
    state_.store(0, std::memory_order_relaxed);  // nobody takes by an old state and the new end
    end_.store(end, std::memory_order_release);
    state_.store(std::uint64_t{loop} << 32 | begin, std::memory_order_release);
  }
  /// A piece of `loop`, or -1.
  std::int64_t take(std::uint32_t loop) {
    std::uint64_t state = state_.load(std::memory_order_acquire);
    while (state >> 32 == loop) {
      const auto next = static_cast<std::uint32_t>(state);
      if (next >= end_.load(std::memory_order_acquire)) return -1;
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return next;
    }
    return -1;
  }

 private:
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::uint32_t> end_{0};
};

thread_local bool is_worker = false;

class Team {
 public:
  bool run(Index pieces, int threads, const std::function<void(Index)>& piece) {
    const std::unique_lock alone(entry_, std::try_to_lock);
    if (!alone || pieces >= Index{1} << 31) return false;
    threads = std::min(threads, kMostThreads);
    while (workers_ < threads - 1) start_worker();
    const std::uint32_t loop = ++last_loop_ == 0 ? ++last_loop_ : last_loop_;  // 0 is no loop
    piece_.store(&piece, std::memory_order_relaxed);
    threads_.store(threads, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    for (int i = 0; i < threads; ++i) {
      const auto at = [&](int k) { return static_cast<std::uint32_t>(pieces * k / threads); };
      parts_[i].fill(loop, at(i), at(i + 1));
    }
    loop_.store(loop, std::memory_order_seq_cst);
    if (asleep_.load(std::memory_order_seq_cst) > 0) {
      const std::lock_guard lock(sleep_);
      wake_.notify_all();
    }
    work(loop, 0);
    while (!spin_until([&] { return done_.load(std::memory_order_acquire) == pieces; })) {
    }
    return true;
  }

 private:
  void start_worker() {
    const int slot = ++workers_;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);         // which the new thread inherits
    std::thread([this, slot] { live(slot); }).detach();  // they end with the process
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void live(int slot) {
    is_worker = true;
    std::uint32_t seen = 0;
    const auto news = [&] { return loop_.load(std::memory_order_seq_cst) != seen; };
    for (;;) {
      if (!spin_until(news)) {
        std::unique_lock lock(sleep_);
        asleep_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, news);
        asleep_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = loop_.load(std::memory_order_seq_cst);
      if (slot < threads_.load(std::memory_order_relaxed)) work(seen, slot);
    }
  }

  /// The pieces of the own part, then those that others have left.
  void work(std::uint32_t loop, int slot) {
    const int threads = std::max(1, threads_.load(std::memory_order_relaxed));
    Index finished = 0;
    for (int i = 0; i < threads; ++i) {
      Part& part = parts_[(slot + i) % threads];
      for (std::int64_t at; (at = part.take(loop)) >= 0; ++finished) {
        // A piece was taken, so its loop goes on, and this is its function.
        (*piece_.load(std::memory_order_relaxed))(static_cast<Index>(at));
      }
    }
    if (finished > 0) done_.fetch_add(finished, std::memory_order_acq_rel);
  }

  std::mutex entry_;
  std::atomic<std::uint32_t> loop_{0};
  std::uint32_t last_loop_ = 0;
  std::atomic<const std::function<void(Index)>*> piece_{nullptr};
  std::atomic<int> threads_{1};
  std::atomic<Index> done_{0};
  Part parts_[kMostThreads];

  int workers_ = 0;
  std::mutex sleep_;
  std::condition_variable wake_;
  std::atomic<int> asleep_{0};
};

// Never destroyed, as its threads may outlive all statics. A forked child has none of them and gets
// a team of its own.
std::atomic<Team*> team{nullptr};

Team& the_team() {
  static const bool registered = [] {
    team = new Team;
    pthread_atfork(nullptr, nullptr, [] { team = new Team; });
    return true;
  }();
  (void)registered;
  return *team;
}

}  // namespace

bool ThreadTeam::run(Index pieces, int threads, const std::function<void(Index)>& piece) {
  return the_team().run(pieces, threads, piece);
}

bool ThreadTeam::on_worker() { return is_worker; }

int ThreadTeam::processors() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace autograd
