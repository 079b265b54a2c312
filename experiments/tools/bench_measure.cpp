#include "experiments/tools/bench_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "experiments/measure/statistics.h"

namespace experiments::tools {
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

/// Seconds of calls until the threads of other work sleep.
double settle(const Call& call) {
  constexpr double kSpin = 0.02;
  double spent = 0;
  while (spent < kSpin) spent += seconds_of(call, 1);
  return spent;
}

bool is_wanted(std::ptrdiff_t sample, double spent, double seconds, const Patience& patience) {
  return sample < patience.min_samples || (spent < seconds && sample < kSamples);
}

Timing summary(std::vector<double>& samples) {
  return {measure::quantile(samples, 0.5), *std::ranges::min_element(samples), std::ssize(samples)};
}

}  // namespace

std::vector<Timing> time_in_turns(std::span<const Call> calls, const Patience& patience) {
  std::vector<std::ptrdiff_t> times;
  for (const Call& call : calls) times.push_back(calls_a_sample(call));
  std::vector<std::vector<double>> samples(calls.size());
  const double all = patience.seconds * static_cast<double>(calls.size());
  double spent = 0;
  for (std::ptrdiff_t turn = 0; is_wanted(turn, spent, all, patience); ++turn) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls.size() > 1) spent += settle(calls[i]);
      const double took = seconds_of(calls[i], times[i]);
      samples[i].push_back(took / static_cast<double>(times[i]));
      spent += took;
    }
  }
  std::vector<Timing> timings;
  for (std::vector<double>& of_one : samples) timings.push_back(summary(of_one));
  return timings;
}

Ratio time_beside(const Call& yardstick, const Call& call, const Patience& patience) {
  const std::ptrdiff_t times = calls_a_sample(call);
  std::vector<double> samples, ratios;
  double spent = 0, before = seconds_of(yardstick, 1);
  while (is_wanted(std::ssize(samples), spent, patience.seconds, patience)) {
    const double took = seconds_of(call, times), after = seconds_of(yardstick, 1);
    samples.push_back(took / static_cast<double>(times));
    ratios.push_back(2 * samples.back() / (before + after));
    spent += took;
    before = after;
  }
  return {summary(samples), measure::quantile(ratios, 0.5)};
}

Timing time_of(const Call& call, const Patience& patience) {
  return time_in_turns({&call, 1}, patience).front();
}

}  // namespace experiments::tools
