#include "autograd/machine/parallel.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "autograd/errors.h"
#include "autograd/machine/thread_team.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace autograd {
namespace {

int default_threads() {
#ifdef _OPENMP
  return std::max(1, omp_get_max_threads());  // so that OMP_NUM_THREADS counts
#else
  return ThreadTeam::processors();
#endif
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_threads()};
  return count;
}

std::atomic<Index> piece_size{16384};

thread_local bool in_parallel = false;

// The exception of the lowest piece that threw: one that left its thread would end the program.
class FirstError {
 public:
  void keep(Index piece) noexcept {
    const std::lock_guard lock(mutex_);
    if (error_ && piece > piece_) return;
    error_ = std::current_exception();
    piece_ = piece;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  Index piece_ = 0;
};

}  // namespace

int num_threads() { return thread_count(); }

void set_num_threads(int n) {
  if (n < 1) fail<ValueError>("set_num_threads: expected at least 1, got {}", n);
  thread_count() = n;
}

Index elements_per_piece() { return piece_size.load(std::memory_order_relaxed); }
SmallPieces::SmallPieces() : before_(piece_size.exchange(256)) {}
SmallPieces::~SmallPieces() { piece_size = before_; }

namespace {

/// What a thread had before its outermost LibraryCall.
struct Before {
  int calls = 0;
  int threads = 1;
  sigset_t signals{};
};
thread_local Before before;

}  // namespace

LibraryCall::LibraryCall() {
  if (before.calls++ > 0) return;
#ifdef _OPENMP
  before.threads = omp_get_max_threads();
  if (before.threads != 1) omp_set_num_threads(1);
#endif
  if (ThreadTeam::on_worker()) return;  // they take no signals
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before.signals);
}

LibraryCall::~LibraryCall() {
  if (--before.calls > 0) return;
#ifdef _OPENMP
  if (before.threads != 1) omp_set_num_threads(before.threads);
#endif
  if (!ThreadTeam::on_worker()) pthread_sigmask(SIG_SETMASK, &before.signals, nullptr);
}

void detail::run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f) {
  grain = std::max<Index>(grain, 1);
  const Index pieces = (n - 1) / grain + 1;
  const auto piece = [&](Index i) { f(i * grain, std::min(n, (i + 1) * grain)); };
  const int threads = static_cast<int>(std::min<Index>(num_threads(), pieces));
  FirstError error;
  const auto guarded = [&](Index i) {
    const bool outer = std::exchange(in_parallel, true);
    try {
      piece(i);
    } catch (...) {
      error.keep(i);
    }
    in_parallel = outer;
  };
  if (threads > 1 && !in_parallel && ThreadTeam::run(pieces, threads, guarded)) {
    return error.rethrow();
  }
  for (Index i = 0; i < pieces; ++i) piece(i);
}

}  // namespace autograd
