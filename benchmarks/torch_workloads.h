#pragma once

#include <functional>
#include <string>
#include <vector>

// The same pieces of work in libtorch, which is kept out of this header: its macros and ours never
// meet.

/// `ours` names the workload of experiments/tools that it is held against.
struct TorchWork {
  std::string name, ours;
  std::function<std::function<void()>()> prepare;
};

/// f32. attention at B=2 T=128 and B=1 T=1024, a chain, gemm, layer_norm, gelu, mlp, gpt_step,
/// scaling (all trials of a size at once, and one by one), softmax.
std::vector<TorchWork> torch_workloads();

void set_torch_threads(int n);
