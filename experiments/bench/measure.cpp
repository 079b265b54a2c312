#include "experiments/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "experiments/report/statistics.h"

namespace experiments {
namespace {

using Call = std::function<void()>;

constexpr double kSample = 5e-4;           // seconds; 10,000 times what reading the clock takes
constexpr std::ptrdiff_t kSamples = 1000;  // at most

double seconds_of(const Call& call, std::ptrdiff_t times) {
  const auto start = std::chrono::steady_clock::now();
  for (std::ptrdiff_t i = 0; i < times; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// How many calls make a sample.
std::ptrdiff_t calls_a_sample(const Call& call) {
  call();
  std::ptrdiff_t times = 1;
  while (seconds_of(call, times) < kSample) times *= 2;
  return times;
}

}  // namespace

std::vector<Timing> time_in_turns(std::span<const Call> calls, const Patience& patience) {
  std::vector<std::ptrdiff_t> times;
  for (const Call& call : calls) times.push_back(calls_a_sample(call));
  std::vector<std::vector<double>> samples(calls.size());
  const double all = patience.seconds * static_cast<double>(calls.size());
  double spent = 0;
  for (std::ptrdiff_t turn = 0; turn < patience.min_samples || (spent < all && turn < kSamples);
       ++turn) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const double took = seconds_of(calls[i], times[i]);
      samples[i].push_back(took / static_cast<double>(times[i]));
      spent += took;
    }
  }
  std::vector<Timing> timings;
  for (std::vector<double>& of_one : samples) {
    const double median = quantile(of_one, 0.5), min = *std::ranges::min_element(of_one);
    timings.push_back({median, min, std::ssize(of_one)});
  }
  return timings;
}

Timing time_of(const Call& call, const Patience& patience) {
  return time_in_turns({&call, 1}, patience).front();
}

}  // namespace experiments
