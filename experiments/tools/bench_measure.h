#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace experiments::tools {

/// Seconds of one call, of several samples.
struct Timing {
  double median = 0;
  double min = 0;
  std::ptrdiff_t samples = 0;
};

struct Patience {
  double seconds = 0.35;           // of all samples of one piece of work, warm-up aside
  std::ptrdiff_t min_samples = 5;  // even where they take longer
};

/// Times each of `calls`, sample by sample in turns (A B A B ...), so that whatever else the
/// machine does meanwhile meets them all alike. Each is first called once to warm up, and then for
/// so long that its samples can be cut to at least half a millisecond each. Where there are
/// several, calls that are not timed, of 20 ms or one, come before each sample: until the threads
/// of another no longer spin, as OpenMP's do for that long, and the caches are its own. They count
/// as spent.
std::vector<Timing> time_in_turns(std::span<const std::function<void()>> calls,
                                  const Patience& patience);
Timing time_of(const std::function<void()>& call, const Patience& patience);

/// Seconds of one call, and the median of its samples' ratios to the mean of the two calls of
/// `yardstick` right before and after each: a machine that is slower for a while slows all three.
/// Patience is with `call` alone.
struct Ratio {
  Timing call;
  double median = 0;
};
Ratio time_beside(const std::function<void()>& yardstick, const std::function<void()>& call,
                  const Patience& patience);

}  // namespace experiments::tools
