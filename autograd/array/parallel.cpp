#include "autograd/array/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "autograd/errors.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace autograd {
namespace {

int default_threads() {
#ifdef _OPENMP
  return std::max(1, omp_get_max_threads());
#else
  return 1;
#endif
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{default_threads()};
  return count;
}

// The exception of the lowest piece that threw: one that left an OpenMP region would end the
// program.
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

#ifdef _OPENMP
void run_on_threads(Index pieces, int threads, const std::function<void(Index)>& piece) {
  FirstError error;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index i = 0; i < pieces; ++i) {
    try {
      piece(i);
    } catch (...) {
      error.keep(i);
    }
  }
  error.rethrow();
}
#endif

std::atomic<Index> piece_size{16384};

}  // namespace

Index elements_a_piece() { return piece_size.load(std::memory_order_relaxed); }
SmallPieces::SmallPieces() : before_(piece_size.exchange(256)) {}
SmallPieces::~SmallPieces() { piece_size = before_; }

int num_threads() { return thread_count(); }

void set_num_threads(int n) {
  if (n < 1) fail<ValueError>("set_num_threads: expected at least 1, got {}", n);
  thread_count() = n;
}

#ifdef _OPENMP
SerialLibraries::SerialLibraries() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
SerialLibraries::~SerialLibraries() {
  if (before_ != 1) omp_set_num_threads(before_);
}
#else
SerialLibraries::SerialLibraries() : before_(1) {}
SerialLibraries::~SerialLibraries() = default;
#endif

void detail::run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f) {
  grain = std::max<Index>(grain, 1);
  const Index pieces = (n - 1) / grain + 1;
  const auto piece = [&](Index i) { f(i * grain, std::min(n, (i + 1) * grain)); };
#ifdef _OPENMP
  const int threads = static_cast<int>(std::min<Index>(num_threads(), pieces));
  if (threads > 1 && !omp_in_parallel()) return run_on_threads(pieces, threads, std::ref(piece));
#endif
  for (Index i = 0; i < pieces; ++i) piece(i);
}

}  // namespace autograd
