#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/attention.h"
#include "nn/gpt.h"

// The pieces of work that `gradlab bench` and benchmarks/ time. Floating-point operations are
// counted, not measured: 2 m n k for a product of an m x k and a k x n matrix, and nothing else
// where there are products. Elementwise ops count each operation on an element once, exp, tanh and
// erf as one.

namespace experiments::tools {

using autograd::DType;
using autograd::Index;

inline constexpr std::uint64_t kSeed = 1;  // of all operands

/// One piece of work. `prepare` makes its operands and returns the call to be timed, which holds
/// them.
struct Workload {
  std::string name;
  std::string shape;
  double flops;  // of one call
  std::function<std::function<void()>()> prepare;
  Index tokens = 0;  // of one call, where tokens per second are of interest
};

enum class Pass { forward, backward };  // backward: forward and backward

/// Which of its operands a product reads transposed: y = x w^T, m x k by (n x k)^T, or one of its
/// gradients, dx = dy w and dw = dy^T x. Each takes 2 m n k.
enum class Product { y, dx, dw };
struct GemmShape {
  Index m, k, n;
};
Workload gemm(const GemmShape& shape, Product product, DType dtype);

/// Elementwise or a row at a time, on (rows, C).
enum class RowOp { softmax, layer_norm, gelu };
Workload row_op(RowOp op, Index rows, Index C, Pass pass, DType dtype);

/// A MultiHeadAttention of width C without biases, on (B, T, C): products 2 B T 4 C^2 and
/// 2 B T^2 2 C, and twice that for the gradients of the weights and of the input.
struct AttentionShape {
  Index B, T, C, H;
};
Workload attention_layer(const AttentionShape& shape, Pass pass, DType dtype);

/// A perceptron in -> hidden -> 1 with tanh and biases on one row, forward and backward to its
/// parameters, no loss.
Workload mlp(Index in, Index hidden, DType dtype);

/// Scales one number by 1 `nodes` times in a row, runs backward and frees the graph.
Workload chain(Index nodes, DType dtype);

/// One AdamW step of a GPT with a batch of B: forward, cross-entropy, backward, gradients clipped
/// to a norm of 1, update. Six operations per token and multiplying weight, (12 C^2 L + V C), and
/// 12 T C L per token for the scores and the weighted values, masked ones too.
Workload gpt_step(const nn::GPTOptions& config, Index B);
/// The model of nanoGPT's recipe for a CPU: 4 layers, 4 heads, C = 128, T = 64, V = 65, no biases.
nn::GPTOptions nano_gpt(DType dtype);

/// What `gradlab scaling` does for sizes d_k with `rows` rows each, T = 16, and the scales none and
/// sqrt_dk. Seven products per scale and trial: two forward, four backward, one for the step
/// along a query's gradient.
Workload scaling_rows(const std::vector<Index>& d_k, Index rows, DType dtype);

/// What `gradlab bench` measures, by name; what benchmarks/ does.
std::vector<Workload> headline_workloads(DType dtype);
std::vector<Workload> all_workloads(DType dtype);

}  // namespace experiments::tools
