#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "autograd/machine/parallel.h"
#include "experiments/tools/peak.h"
#include "experiments/tools/workloads.h"

// All workloads of experiments/tools on one and on two threads, each as time, GFLOP/s and its share
// of the peak of fused multiply-adds, which is the best of the bursts that ran just before it.

namespace {

using autograd::DType;
using autograd::Index;
using experiments::tools::Workload;

constexpr Index kRounds = 4'000'000;  // some ten milliseconds

void time_peak(benchmark::State& state, int threads) {
  autograd::set_num_threads(threads);
  for (auto _ : state) {
    benchmark::DoNotOptimize(experiments::tools::fma_burst(DType::f32, kRounds, threads));
  }
  const double flops = threads * experiments::tools::fma_flops(DType::f32, kRounds);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

/// Operations a second.
double peak(int threads) {
  using Seconds = std::chrono::duration<double>;
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(experiments::tools::fma_burst(DType::f32, kRounds, threads));
    const Seconds took = std::chrono::steady_clock::now() - start;
    best =
        std::max(best, threads * experiments::tools::fma_flops(DType::f32, kRounds) / took.count());
  }
  return best;
}

void time_work(benchmark::State& state, const Workload& work, int threads) {
  autograd::set_num_threads(threads);
  const double best = peak(threads);
  const std::function<void()> call = work.prepare();
  call();
  for (auto _ : state) call();
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["GFLOP/s"] = benchmark::Counter(work.flops / 1e9, rate);
  state.counters["of_peak"] = benchmark::Counter(work.flops / best, rate);
  if (work.tokens > 0) {
    state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(work.tokens), rate);
  }
}

void add_all(int threads) {
  const auto add = [threads](const std::string& name, auto&& body) {
    benchmark::RegisterBenchmark(fmt::format("{}/threads:{}", name, threads).c_str(), body)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  };
  add("peak", [threads](benchmark::State& state) { time_peak(state, threads); });
  for (const Workload& work : experiments::tools::all_workloads(DType::f32)) {
    add(work.name, [work, threads](benchmark::State& state) { time_work(state, work, threads); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const int threads : {1, 2}) add_all(threads);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
