#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "experiments/softmax/scaling_trials.h"
#include "experiments/tools/workloads.h"
#include "nn/clip.h"
#include "nn/optim.h"

namespace experiments::tools {
namespace {

using autograd::Generator;
using autograd::Tensor;

double real(Index i) { return static_cast<double>(i); }

std::function<void()> attention_call(const AttentionShape& s, Pass pass, DType dtype) {
  Generator generator(kSeed);
  const nn::MultiHeadAttentionOptions config{
      .n_embd = s.C, .n_head = s.H, .bias = nn::Bias::no, .dtype = dtype};
  const auto layer = std::make_shared<nn::MultiHeadAttention>(config, generator);
  Tensor x = autograd::randn({s.B, s.T, s.C}, dtype, generator);
  if (pass == Pass::forward) {
    return [=] {
      const autograd::NoGrad guard;
      (*layer)(x);
    };
  }
  const Tensor g = autograd::randn({s.B, s.T, s.C}, dtype, generator);
  x.requires_grad_();
  return [=]() mutable {
    layer->zero_grad();
    x.zero_grad();
    (*layer)(x).backward(g);
  };
}

struct Perceptron {
  Perceptron(Index in, Index size, DType dtype, Generator generator)
      : hidden(in, size, {.dtype = dtype}, generator), out(size, 1, {.dtype = dtype}, generator) {}

  void step(const Tensor& x) {
    hidden.zero_grad();
    out.zero_grad();
    out(tanh(hidden(x))).backward();
  }

  nn::Linear hidden, out;
};

/// Everything that an iteration of training needs.
class Training {
 public:
  Training(const nn::GPTOptions& config, Index B, Generator generator)
      : model_(config, generator),
        parameters_(model_.parameters()),
        optimizer_(nn::decay_groups(model_, /*weight_decay=*/0.1), {.lr = kRate}) {
    const Index T = config.block_size, V = config.vocab_size;
    x_ = tokens(B, T, V, /*shift=*/0);
    y_ = tokens(B, T, V, /*shift=*/1);
  }

  void step() {
    optimizer_.zero_grad();
    cross_entropy(model_(x_), y_).backward();
    nn::clip_grad_norm(parameters_, 1.0);
    optimizer_.step();
  }

 private:
  // So small that a thousand steps on one batch do not shrink gradients to denormals.
  static constexpr double kRate = 1e-5;

  static Tensor tokens(Index B, Index T, Index V, Index shift) {
    std::vector<std::int64_t> ids;
    for (Index i = 0; i < B * T; ++i) ids.push_back((i + shift) * 31 % V);
    return autograd::from_values<std::int64_t>(ids, {B, T});
  }

  nn::GPT model_;
  std::vector<Tensor> parameters_;
  nn::AdamW optimizer_;
  Tensor x_, y_;
};

}  // namespace

Workload attention_layer(const AttentionShape& s, Pass pass, DType dtype) {
  const bool both = pass == Pass::backward;
  const double B = real(s.B), T = real(s.T), C = real(s.C);
  const double forward = 2 * B * T * 4 * C * C + 2 * B * T * T * 2 * C;
  return {.name = fmt::format("attention_{}x{}{}", s.B, s.T, both ? "_backward" : ""),
          .shape = fmt::format("B={} T={} C={} H={}", s.B, s.T, s.C, s.H),
          .flops = both ? 3 * forward : forward,
          .prepare = [=] { return attention_call(s, pass, dtype); }};
}

Workload mlp(Index in, Index hidden, DType dtype) {
  const auto prepare = [=]() -> std::function<void()> {
    const auto net = std::make_shared<Perceptron>(in, hidden, dtype, Generator(kSeed));
    Generator generator(kSeed + 1);
    const Tensor x = autograd::randn({1, in}, dtype, generator);
    return [=] { net->step(x); };
  };
  const double products = 2 * real(hidden) * (real(in) + 1);
  return {.name = "mlp",
          .shape = fmt::format("{}-{}-1 batch 1", in, hidden),
          .flops = 2 * products + 2 * real(hidden),  // the input itself needs no gradient
          .prepare = prepare};
}

Workload gpt_step(const nn::GPTOptions& config, Index B) {
  const Index T = config.block_size, V = config.vocab_size;
  const double C = real(config.n_embd), L = real(config.n_layer);
  const double a_token = 6 * (12 * C * C * L + real(V) * C) + 12 * real(T) * C * L;
  const auto prepare = [=]() -> std::function<void()> {
    const auto training = std::make_shared<Training>(config, B, Generator(kSeed));
    return [=] { training->step(); };
  };
  return {.name = "gpt_step",
          .shape = fmt::format("B={} T={} C={} L={} H={} V={}", B, T, config.n_embd, config.n_layer,
                               config.n_head, V),
          .flops = a_token * real(B * T),
          .prepare = prepare,
          .tokens = B * T};
}

nn::GPTOptions nano_gpt(DType dtype) {
  return {.block_size = 64,
          .vocab_size = 65,
          .n_layer = 4,
          .n_head = 4,
          .n_embd = 128,
          .bias = nn::Bias::no,
          .dtype = dtype};
}

Workload scaling_rows(const std::vector<Index>& d_k, Index rows, DType dtype) {
  const std::vector<nn::Scale> scales = {nn::Scale::none(), nn::Scale::sqrt_dk()};
  std::vector<softmax::Setting> settings;
  double flops = 0;
  for (const Index d : d_k) {
    const Index trials =
        (rows + softmax::Setting::queries_of(16) - 1) / softmax::Setting::queries_of(16);
    settings.push_back({.d_k = d, .seq_len = 16, .trials = trials, .dtype = dtype});
    flops += 7 * 2 * real(settings.back().rows()) * 16 * real(d) * real(std::ssize(scales));
  }
  const auto call = [=] {
    for (const softmax::Setting& setting : settings) {
      softmax::run_trials(setting, scales, softmax::chunk_of(setting), [](double) {});
    }
  };
  return {.name = "scaling",
          .shape = fmt::format("d_k {} to {}, {} rows", d_k.front(), d_k.back(), rows),
          .flops = flops,
          .prepare = [=]() -> std::function<void()> { return call; }};
}

}  // namespace experiments::tools
