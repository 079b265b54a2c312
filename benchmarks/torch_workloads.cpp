#include "torch_workloads.h"

#include <torch/torch.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

// Written with what libtorch 1.13 has: no fused attention.

namespace {

using torch::Tensor;
namespace F = torch::nn::functional;

enum class Causal { no, yes };

Tensor attend(const Tensor& x, const Tensor& qkv, const Tensor& proj, std::int64_t H,
              Causal causal) {
  const std::int64_t B = x.size(0), T = x.size(1), C = x.size(2), D = C / H;
  const auto heads = [&](const Tensor& t) { return t.view({B, T, H, D}).transpose(1, 2); };
  const auto parts = at::linear(x, qkv).split(C, 2);
  Tensor scores = at::matmul(heads(parts[0]), heads(parts[1]).transpose(-2, -1)) /
                  std::sqrt(static_cast<double>(D));  // (B, H, T, T)
  if (causal == Causal::yes) {
    const Tensor future = at::ones({T, T}, at::kBool).triu(1);
    scores = scores.masked_fill(future, -std::numeric_limits<float>::infinity());
  }
  const Tensor y = at::matmul(at::softmax(scores, -1), heads(parts[2]));
  return at::linear(y.transpose(1, 2).reshape({B, T, C}), proj);
}

Tensor weight(at::IntArrayRef shape) { return (torch::randn(shape) * 0.02).requires_grad_(); }

void drop_gradients(std::vector<Tensor>& leaves) {
  for (Tensor& leaf : leaves) leaf.mutable_grad() = Tensor();
}

std::function<void()> attention(std::int64_t B, std::int64_t T) {
  constexpr std::int64_t C = 768, H = 12;
  std::vector<Tensor> leaves = {torch::randn({B, T, C}).requires_grad_(), weight({3 * C, C}),
                                weight({C, C})};
  const Tensor g = torch::randn({B, T, C});
  return [=]() mutable {
    drop_gradients(leaves);
    attend(leaves[0], leaves[1], leaves[2], H, Causal::no).backward(g);
  };
}

/// nanoGPT's recipe for a CPU, the head tied to the token embedding.
class Gpt {
 public:
  Gpt() {
    for (std::int64_t i = 0; i < L; ++i) {
      for (const auto& shape :
           std::vector<std::vector<std::int64_t>>{{3 * C, C}, {C, C}, {4 * C, C}, {C, 4 * C}}) {
        matrices_.push_back(weight(shape));
      }
    }
    for (std::int64_t i = 0; i < 2 * L + 1; ++i)
      gains_.push_back(torch::ones({C}).requires_grad_());
    all_ = {wte_, wpe_};
    for (const auto* list : {&matrices_, &gains_})
      all_.insert(all_.end(), list->begin(), list->end());
    optimizer_ = std::make_unique<torch::optim::AdamW>(all_, torch::optim::AdamWOptions(1e-5));
  }

  void step() {
    drop_gradients(all_);
    F::cross_entropy(forward().view({B * T, V}), y_).backward();
    torch::nn::utils::clip_grad_norm_(all_, 1.0);
    optimizer_->step();
  }

 private:
  static constexpr std::int64_t B = 12, T = 64, C = 128, L = 4, H = 4, V = 65;

  Tensor norm(const Tensor& x, std::int64_t i) const {
    return at::layer_norm(x, {C}, gains_[static_cast<std::size_t>(i)]);
  }

  Tensor forward() const {
    Tensor x = at::embedding(wte_, x_) + wpe_;  // (B, T, C)
    for (std::int64_t i = 0; i < L; ++i) {
      const Tensor* w = &matrices_[static_cast<std::size_t>(4 * i)];
      x = x + attend(norm(x, 2 * i), w[0], w[1], H, Causal::yes);
      x = x + at::linear(at::gelu(at::linear(norm(x, 2 * i + 1), w[2])), w[3]);
    }
    return at::linear(norm(x, 2 * L), wte_);
  }

  Tensor wte_ = weight({V, C}), wpe_ = weight({T, C});
  std::vector<Tensor> matrices_, gains_, all_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  Tensor x_ = torch::randint(V, {B, T}, at::kLong), y_ = torch::randint(V, {B * T}, at::kLong);
};

std::function<void()> mlp() {
  std::vector<Tensor> leaves = {weight({16, 16}), weight({16}), weight({1, 16}), weight({1})};
  const Tensor x = torch::randn({1, 16});
  return [=]() mutable {
    drop_gradients(leaves);
    at::linear(at::tanh(at::linear(x, leaves[0], leaves[1])), leaves[2], leaves[3]).backward();
  };
}

std::function<void()> chain(std::int64_t nodes) {
  const Tensor x = torch::ones({1}).requires_grad_();
  return [=]() mutable {
    x.mutable_grad() = Tensor();
    Tensor y = x;
    for (std::int64_t i = 0; i < nodes; ++i) y = y * 1.0;
    y.backward();
  };
}

/// One scale of one batch of trials: forward, backward and what the rows are measured by.
std::vector<Tensor> scaling_pass(const std::array<Tensor, 3>& inputs, const Tensor& g,
                                 double factor) {
  const auto leaf = [](const Tensor& t) { return t.detach().requires_grad_(); };
  const Tensor q = leaf(inputs[0]), k = leaf(inputs[1]), v = leaf(inputs[2]);
  const auto norm = [](const Tensor& t) { return t.norm(2, -1); };
  const Tensor scores = at::matmul(q, k.transpose(-2, -1)) * factor;
  const Tensor weights = at::softmax(scores, -1);
  scores.retain_grad();
  weights.retain_grad();
  (at::matmul(weights, v) * g).sum().backward();
  const Tensor p = weights.detach(), ds = scores.grad(), dp = weights.grad();
  const Tensor square = (p * p).sum(-1);
  return {-(p * at::log(p.clamp_min(1e-38))).sum(-1),  // entropy
          p.amax(-1),
          1 - square,                                                             // trace of J
          (square - 2 * p.pow(3).sum(-1) + square * square).clamp_min(0).sqrt(),  // norm of J
          norm(ds) / norm(dp - dp.mean(-1, true)),                                // gain
          norm(ds),
          norm(q.grad()),
          norm(k.grad()),
          norm(v.grad()),
          norm(at::matmul(q.grad(), k.detach().transpose(-2, -1)))};  // step
}

/// `at_once` trials of 16 rows make a batch.
std::function<void()> scaling(std::int64_t rows, std::int64_t at_once) {
  return [=] {
    constexpr std::int64_t T = 16;
    for (std::int64_t d = 4; d <= 1024; d *= 2) {
      for (std::int64_t trial = 0; trial < rows / T; trial += at_once) {
        const auto draw = [&] { return torch::randn({at_once, T, d}); };
        const std::array<Tensor, 3> inputs{draw(), draw(), draw()};
        const Tensor g = draw() / std::sqrt(static_cast<double>(d));
        for (const double factor : {1.0, 1 / std::sqrt(static_cast<double>(d))}) {
          scaling_pass(inputs, g, factor);
        }
      }
    }
  };
}

std::function<void()> gemm(std::int64_t m, std::int64_t k, std::int64_t n) {
  const Tensor x = torch::randn({m, k}), w = torch::randn({n, k});
  return [=] { at::matmul(x, w.t()); };
}

template <class F>
std::function<void()> rowwise(std::int64_t rows, std::int64_t C, F op) {
  std::vector<Tensor> leaves = {torch::randn({rows, C}).requires_grad_(),
                                torch::ones({C}).requires_grad_(),
                                torch::zeros({C}).requires_grad_()};
  const Tensor g = torch::randn({rows, C});
  return [=]() mutable {
    drop_gradients(leaves);
    op(leaves).backward(g);
  };
}

}  // namespace

std::vector<TorchWork> torch_workloads() {
  using Leaves = std::vector<Tensor>;
  return {
      {"attention", "attention", [] { return attention(2, 128); }},
      {"attention_long", "attention_long", [] { return attention(1, 1024); }},
      {"chain_1000000", "chain_1000000", [] { return chain(1'000'000); }},
      {"gelu", "gelu",
       [] { return rowwise(1024, 3072, [](const Leaves& x) { return at::gelu(x[0]); }); }},
      {"gemm", "gemm", [] { return gemm(768, 128, 512); }},
      {"gemm_gpt2", "gemm_gpt2", [] { return gemm(1024, 768, 2304); }},
      {"gpt_step", "gpt_step",
       []() -> std::function<void()> { return [gpt = std::make_shared<Gpt>()] { gpt->step(); }; }},
      {"layer_norm", "layer_norm",
       [] {
         return rowwise(1024, 768, [](const Leaves& x) {
           return at::layer_norm(x[0], {x[0].size(1)}, x[1], x[2]);
         });
       }},
      {"mlp", "mlp", [] { return mlp(); }},
      {"scaling_one_by_one", "scaling", [] { return scaling(1600, 1); }},
      {"scaling", "scaling", [] { return scaling(1600, 100); }},
      {"softmax", "softmax",
       [] { return rowwise(12288, 1024, [](const Leaves& x) { return at::softmax(x[0], -1); }); }},
  };
}

void set_torch_threads(int n) { at::set_num_threads(n); }
