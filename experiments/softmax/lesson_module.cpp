#include "experiments/softmax/lesson_module.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/ops.h"
#include "experiments/attention/head_counts.h"
#include "experiments/measure/statistics.h"
#include "experiments/softmax/scaling_trials.h"

namespace experiments::softmax {
namespace {

using autograd::DType;
using autograd::Generator;
using autograd::NoGrad;
using nn::MultiHeadAttention;
using nn::MultiHeadAttentionOptions;
using nn::Tensor;

constexpr std::uint64_t kModuleStream = 1u << 20, kInitialStream = 1u << 21;
constexpr Index kSequences = 64;  // of run_initial

Generator generator_at(std::uint64_t seed, std::uint64_t stream) {
  Generator generator(seed);
  generator.set_state({seed, stream});
  return generator;
}

double largest_difference(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item(); }

void count_over_heads(const MultiHeadAttentionOptions& config, ModuleFacts& facts) {
  std::set<Index> counts;
  for (const Index heads : attention::divisors(config.n_embd)) {
    MultiHeadAttentionOptions other = config;
    other.n_head = heads;
    ++facts.head_counts;
    counts.insert(MultiHeadAttention(other).parameter_count());
  }
  facts.distinct_counts = static_cast<Index>(counts.size());
}

void run_with_dropout(MultiHeadAttentionOptions config, const Tensor& x, Generator& generator,
                      ModuleFacts& facts) {
  config.dropout = 0.1;
  MultiHeadAttention attn(config, generator);
  facts.dropped_train_difference = largest_difference(attn(x), attn(x));
  attn.eval();
  facts.dropped_eval_difference = largest_difference(attn(x), attn(x));
}

}  // namespace

ModuleFacts run_module(std::uint64_t seed, DType dtype) {
  const NoGrad no_grad;
  Generator generator = generator_at(seed, kModuleStream);
  MultiHeadAttentionOptions config{.bias = nn::Bias::no, .dtype = dtype};
  MultiHeadAttention attn(config, generator);
  const Tensor x = autograd::randn({2, 8, config.n_embd}, dtype, generator);
  const Tensor y = attn(x);

  ModuleFacts facts;
  facts.input = x.shape();
  facts.output = y.shape();
  facts.parameters = attn.parameter_count();
  attn.eval();
  facts.eval_difference = largest_difference(attn(x), attn(x));

  Tensor x2 = x.clone();
  x2.select_(1, 0) += 1.0;
  const Tensor before = y.select(1, 5), after = attn(x2).select(1, 5);
  facts.moved = largest_difference(before, after);
  facts.moved_as_printed = !autograd::allclose(before, after);

  run_with_dropout(config, x, generator, facts);
  count_over_heads(config, facts);
  config.bias = nn::Bias::yes;
  facts.parameters_with_bias = MultiHeadAttention(config).parameter_count();
  return facts;
}

InitialAttention run_initial(std::uint64_t seed, DType dtype, const nn::Scale& scale) {
  const NoGrad no_grad;
  Generator generator = generator_at(seed, kInitialStream);
  const MultiHeadAttentionOptions config{.bias = nn::Bias::no, .scale = scale, .dtype = dtype};
  MultiHeadAttention attn(config, generator);
  const nn::AttentionTrace trace;
  attn(autograd::randn({kSequences, 8, config.n_embd}, dtype, generator));

  const auto T = static_cast<std::size_t>(trace[0].scores.size(-1));
  const autograd::Array scores = trace[0].scores.data().to(DType::f64),
                        weights = trace[0].weights.data().to(DType::f64);
  std::vector<double> entropy, p_max;
  for (std::size_t at = 0; at < scores.read<double>().size(); at += T) {
    const RowStats stats =
        row_stats(scores.read<double>().subspan(at, T), weights.read<double>().subspan(at, T));
    entropy.push_back(stats.entropy);
    p_max.push_back(stats.p_max);
  }
  const auto saturated =
      std::count_if(p_max.begin(), p_max.end(), [](double p) { return p > 0.9999; });
  return {.rows = static_cast<Index>(p_max.size()),
          .score_std = measure::summarize(scores.read<double>()).rms,
          .entropy_norm = measure::mean(entropy) / std::log(static_cast<double>(T)),
          .p_max = measure::mean(p_max),
          .saturated_rows = static_cast<double>(saturated) / static_cast<double>(p_max.size())};
}

double expected_initial_std() {
  return std::sqrt(static_cast<double>(MultiHeadAttentionOptions{}.head_size())) / 3;
}

Gpt2Count gpt2_count() {
  constexpr std::int64_t V = 50257, T = 1024, blocks = 12, C = 768;
  return {.tokens = V * C,
          .positions = T * C,
          .blocks = blocks * (12 * C * C + 13 * C),
          .final_norm = 2 * C,
          .attention_biases = blocks * 4 * C,
          .attention_weights = blocks * 4 * C * C};
}

}  // namespace experiments::softmax
