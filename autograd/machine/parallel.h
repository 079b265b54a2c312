#pragma once

#include <functional>

#include "autograd/array/shape.h"

namespace autograd {

/// How many threads parallel_for may use; at first as many as there are processors, or what
/// OMP_NUM_THREADS says where the build has OpenMP.
int num_threads();
void set_num_threads(int n);  // ValueError unless n >= 1

namespace detail {
void run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f);
}

/// Calls f(begin, end) for consecutive pieces of [0, n), each `grain` long (the last may be
/// shorter), on several threads when there is more than one piece. The pieces depend on n and grain
/// alone, so results that each piece computes by itself have the same bits for any thread count.
/// Nested calls run serially. If pieces throw, the exception of the lowest one is rethrown here.
/// Its source is the only one in the project that knows OpenMP.
template <class F>
void parallel_for(Index n, Index grain, F&& f) {
  if (n <= grain) {
    if (n > 0) f(Index{0}, n);  // one piece: no cost but the call
    return;
  }
  detail::run_pieces(n, grain, std::ref(f));
}

/// While it lives, a library that this thread calls works on this thread alone, if it would use
/// OpenMP threads, and no signal handler runs on its stack: oneDNN 2.6 keeps numbers below its
/// stack pointer, where a handler puts its own. Nests.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
};

/// Elements per piece of an elementwise loop: several microseconds of work, as much as makes a
/// thread worth its start. Smaller arrays stay on one.
Index elements_per_piece();

/// While it lives, pieces are so small that little arrays run on several threads too: for tests.
class SmallPieces {
 public:
  SmallPieces();
  ~SmallPieces();
  SmallPieces(const SmallPieces&) = delete;
  SmallPieces& operator=(const SmallPieces&) = delete;

 private:
  Index before_;
};

}  // namespace autograd
