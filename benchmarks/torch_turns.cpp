#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include "autograd/machine/parallel.h"
#include "experiments/tools/bench_measure.h"
#include "experiments/tools/workloads.h"
#include "torch_workloads.h"

// gradlab_torch [NAME...]: the engine and libtorch on the same work in one process, in turns, on
// one and on two threads. The ratio is of medians; above 1 the engine is faster.

namespace {

using experiments::tools::Workload;

void compare(const tools::Workload& ours, const TorchWork& theirs, int threads) {
  autograd::set_num_threads(threads);
  set_torch_threads(threads);
  const std::array<std::function<void()>, 2> calls{ours.prepare(), theirs.prepare()};
  const auto timings = experiments::tools::time_in_turns(calls, {.seconds = 4, .min_samples = 11});
  const double a = timings[0].median * 1e3, b = timings[1].median * 1e3;
  fmt::print("{:<18}{:>8}{:>12.4g}{:>12.4g}{:>8.2f}\n", theirs.name, threads, a, b, b / a);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> only(argv + 1, argv + argc);
  std::vector<Workload> all = experiments::tools::headline_workloads(autograd::DType::f32);
  all.push_back(experiments::tools::chain(1'000'000, autograd::DType::f32));
  const std::vector<TorchWork> torch = torch_workloads();
  for (const std::string& name : only) {
    if (std::ranges::count(torch, name, &TorchWork::name) > 0) continue;
    fmt::print(stderr, "error: no workload '{}'\n", name);
    return 2;
  }
  fmt::print("{:<18}{:>8}{:>12}{:>12}{:>8}\n", "name", "threads", "gradlab ms", "torch ms",
             "ratio");
  for (const int threads : {1, 2}) {
    for (const TorchWork& theirs : torch) {
      if (!only.empty() && std::ranges::count(only, theirs.name) == 0) continue;
      compare(*std::ranges::find(all, theirs.ours, &tools::Workload::name), theirs, threads);
    }
  }
}
