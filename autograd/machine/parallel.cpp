#include "autograd/machine/parallel.h"

#include <algorithm>
#include <atomic>

#include "autograd/errors.h"

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#endif

namespace autograd {
namespace {

std::atomic<int>& thread_count() {
#ifdef _OPENMP
  static std::atomic<int> count{std::max(1, omp_get_max_threads())};
#else
  static std::atomic<int> count{1};
#endif
  return count;
}

std::atomic<Index> piece_size{16384};

}  // namespace

int num_threads() { return thread_count(); }

void set_num_threads(int n) {
  if (n < 1) fail<ValueError>("set_num_threads: expected at least 1, got {}", n);
  thread_count() = n;
}

Index elements_per_piece() { return piece_size.load(std::memory_order_relaxed); }
SmallPieces::SmallPieces() : before_(piece_size.exchange(256)) {}
SmallPieces::~SmallPieces() { piece_size = before_; }

#ifdef _OPENMP

namespace {

thread_local bool takes_signals = true;  // no longer, once a thread was started for loops

// LibraryCalls of this thread, and what the outermost one found.
thread_local int calls = 0;
thread_local int threads_before;
thread_local sigset_t signals_before;

void block_signals(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

/// How many of n threads can run. As many again are tried out, because those that have just ended
/// may count towards a limit for a while, and because other processes start threads too.
int startable(int n) {
  std::vector<std::thread> started;
  started.reserve(static_cast<std::size_t>(2 * (n - 1)));
  std::mutex gate;
  {
    const std::lock_guard closed(gate);
    try {
      for (int i = 0; i < 2 * (n - 1); ++i)
        started.emplace_back([&gate] { const std::lock_guard passed(gate); });
    } catch (const std::exception&) {  // there is no room for more
    }
  }
  for (std::thread& thread : started) thread.join();
  return 1 + static_cast<int>(started.size()) / 2;
}

// The loops of this thread: how many threads they were to have, and how many they can have.
thread_local int wanted = 1, granted = 1;

[[maybe_unused]] const int at_forks = pthread_atfork(
    [] {
      if (omp_pause_resource_all(omp_pause_hard) == 0) wanted = granted = 1;  // threads end
    },
    nullptr, nullptr);

/// Threads for any loop that this thread starts now: libgomp ends those that a smaller loop spares.
int team_size() {
  if (const int n = num_threads(); n != wanted) {
    granted = startable(std::min(n, omp_get_num_procs()));
    wanted = n;
  }
  return granted;
}

/// The pieces [next, end) of one thread's part that nobody has begun.
struct alignas(64) Part {
  std::atomic<Index> next;
  Index end;
};

}  // namespace

LibraryCall::LibraryCall() {
  if (calls++ > 0) return;
  threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  if (takes_signals) block_signals(&signals_before);
}

LibraryCall::~LibraryCall() {
  if (--calls > 0) return;
  omp_set_num_threads(threads_before);
  if (takes_signals) pthread_sigmask(SIG_SETMASK, &signals_before, nullptr);
}

void detail::run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f) {
  grain = std::max<Index>(grain, 1);
  const Index pieces = (n - 1) / grain + 1;
  const auto piece = [&](Index i) { f(i * grain, std::min(n, (i + 1) * grain)); };

  static std::mutex alone;
  std::unique_lock lock(alone, std::defer_lock);
  const int team = omp_get_level() > 0 ? 1 : team_size();
  if (team == 1 || !lock.try_lock()) {
    for (Index i = 0; i < pieces; ++i) piece(i);
    return;
  }
  std::vector<Part> parts(static_cast<std::size_t>(team));
  for (int t = 0; t < team; ++t) {
    parts[t].next = pieces * t / team;
    parts[t].end = pieces * (t + 1) / team;
  }
  Index failed = pieces;
  std::exception_ptr error;  // of the lowest piece; one that left its thread would end the program
#pragma omp parallel for num_threads(team) schedule(static, 1)
  for (int own = 0; own < team; ++own) {
    if (omp_get_thread_num() > 0 && std::exchange(takes_signals, false)) block_signals(nullptr);
    for (int k = 0; k < team; ++k) {
      Part& part = parts[(own + k) % team];
      for (Index i; part.next < part.end && (i = part.next++) < part.end;) {
        try {
          piece(i);
        } catch (...) {
#pragma omp critical(autograd_parallel_for)
          if (i < failed) {
            failed = i;
            error = std::current_exception();
          }
        }
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

#else

LibraryCall::LibraryCall() = default;
LibraryCall::~LibraryCall() = default;

void detail::run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f) {
  grain = std::max<Index>(grain, 1);
  for (Index i = 0; i < n; i += grain) f(i, std::min(n, i + grain));
}

#endif

}  // namespace autograd
