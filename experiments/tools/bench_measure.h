#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace experiments::tools {

/// Seconds per call, over several samples.
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
/// machine does meanwhile affects them all alike. Each is first called once to warm up, and then
/// often enough to choose samples of at least half a millisecond. If there are several, each sample
/// is preceded by untimed calls, for 20 ms or at least one: until the threads of the others no
/// longer spin, as OpenMP's do for that long, and the caches hold its own data. Their time counts
/// as spent.
std::vector<Timing> time_in_turns(std::span<const std::function<void()>> calls,
                                  const Patience& patience);
Timing time_of(const std::function<void()>& call, const Patience& patience);

/// Seconds per call, and the median ratio of its samples to the mean of the two calls of
/// `yardstick` right before and after each: a machine that is slow for a while slows all three.
/// Patience applies to `call` alone.
struct Ratio {
  Timing call;
  double median = 0;
};
Ratio time_beside(const std::function<void()>& yardstick, const std::function<void()>& call,
                  const Patience& patience);

}  // namespace experiments::tools
