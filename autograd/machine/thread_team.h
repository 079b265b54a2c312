#pragma once

#include <functional>

#include "autograd/array/shape.h"

namespace autograd {

/// Threads that share the pieces of a loop. Each begins with its own part, so that it meets the
/// memory that it met in the loop before, and then takes over what others have not begun: the loop
/// ends when the pieces are done, not when every thread came by. On a busy machine, where a thread
/// may not run for milliseconds, an OpenMP barrier waits for it; this does not.
class ThreadTeam {
 public:
  /// Calls piece(0) to piece(pieces - 1), each once, on the calling thread and up to threads - 1
  /// others; piece must not throw. False, and nothing done, where another thread is in here.
  static bool run(Index pieces, int threads, const std::function<void(Index)>& piece);

  /// Whether this thread is one of those others. They take no signals.
  static bool on_worker();

  static int processors();  // at least 1
};

}  // namespace autograd
