#pragma once

#include <functional>

#include "autograd/array/shape.h"

namespace autograd {

/// How many threads parallel_for may use; at first OMP_NUM_THREADS, or as many as there are
/// processors. Without OpenMP it is 1, and loops are serial whatever is set.
int num_threads();
void set_num_threads(int n);  // ValueError unless n >= 1; loops use no more than the processors

namespace detail {
void run_pieces(Index n, Index grain, const std::function<void(Index, Index)>& f);
}

/// Calls f(begin, end) for consecutive pieces of [0, n), each `grain` long (the last may be
/// shorter), on several threads when there is more than one piece. If pieces throw, the exception
/// of the lowest one is rethrown here.
///
/// OpenMP runs the pieces. Whatever goes beyond a plain `parallel for` has its reason:
/// - The pieces depend on n and grain alone, so results that each piece computes by itself have the
///   same bits for any number of threads.
/// - Each thread begins with its own part of them, since its cache holds what it wrote in the loop
///   before, and then takes what others have not begun, since not all processors are equally fast.
/// - A loop is serial inside another one and beside one of another thread, so that no more threads
///   are at work than were asked for.
/// - Threads are tried out before OpenMP starts any, and where a limit forbids them there are
///   fewer: libgomp would end the program.
/// - OpenMP's threads end before a fork. The child has none of them, and would wait for them
/// forever.
/// - They take no signals, so that handlers run on the program's own threads.
template <class F>
void parallel_for(Index n, Index grain, F&& f) {
  if (n <= grain) {
    if (n > 0) f(Index{0}, n);  // one piece: no cost but the call
    return;
  }
  detail::run_pieces(n, grain, std::ref(f));
}

/// While it lives, oneDNN works on the calling thread alone, and no signal handler runs there:
/// version 2.6 keeps numbers below its stack pointer, where a handler puts its own. Nests.
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
