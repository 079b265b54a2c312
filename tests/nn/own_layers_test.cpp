#include <cmath>
#include <limits>

#include "autograd/gradcheck/gradcheck.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/module_list.h"
#include "tests/nn/check.h"

// Layers that the library does not have, written as a reader would, each in a few lines.
// own_attention_test.cpp has those around attention, buffers_test.cpp a BatchNorm.

namespace nn {
namespace {

void expect_right_gradients(Module* layer, std::vector<Tensor> inputs,
                            const autograd::GradcheckFunction& f) {
  for (Tensor& x : inputs) x = x.clone().requires_grad_();
  if (layer) {
    for (const Tensor& p : layer->parameters()) inputs.push_back(p);
  }
  const auto report = autograd::gradcheck(f, inputs);
  EXPECT_TRUE(report.ok) << report.message;
}

// --- RMSNorm

/// Zhang and Sennrich, "Root mean square layer normalization" (2019): (..., C) -> (..., C).
struct RMSNorm : Module {
  RMSNorm(Index size, DType dtype)
      : Module("RMSNorm"), weight(register_parameter("weight", autograd::ones({size}, dtype))) {}
  Tensor forward(const Tensor& x) override {
    return x * (x.square().mean(-1, autograd::KeepDim::yes) + 1e-6).rsqrt() * weight;
  }
  Tensor weight;
};

TEST(OwnLayers, RMSNorm) {
  RMSNorm layer(8, DType::f64);
  const Tensor x = autograd::randn({3, 5, 8}, DType::f64), y = layer(x);
  EXPECT_TRUE(is_close(y.square().mean(-1), autograd::ones({3, 5}, DType::f64), 1e-4));
  EXPECT_TRUE(is_close(layer(x * 1000.0), y, 1e-4)) << "the size of x does not count";
  // Where the mean is zero, it does what LayerNorm does.
  const Tensor centred = x - x.mean(-1, autograd::KeepDim::yes);
  EXPECT_TRUE(is_close(layer(centred), layer_norm(centred, Tensor(), Tensor(), 1e-6), 1e-13));
  expect_right_gradients(&layer, {x}, [&](const auto& in) { return layer(in[0]); });
}

// --- rotary positions

/// Su et al., "RoFormer" (2021): channels i and i + D / 2 of position t turn by the angle
/// t base^(-2 i / D). x (..., T, D), whose first position is `first`; D is even.
Tensor rope(const Tensor& x, Index first = 0, double base = 10'000) {
  const Index half = x.size(-1) / 2;
  const Tensor rate = pow(base, autograd::arange(half, x.dtype()) / -static_cast<double>(half));
  const Tensor position = autograd::arange(first, first + x.size(-2), 1, x.dtype());
  const Tensor angle = position.unsqueeze(1) * rate;  // (T, D / 2)
  const auto [a, b] = autograd::split<2>(x, half, -1);
  return concat(a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle), -1);
}

TEST(OwnLayers, Rope) {
  constexpr Index T = 6, D = 8;
  const Tensor q = autograd::randn({2, T, D}, DType::f64),
               k = autograd::randn({2, T, D}, DType::f64);
  // By hand: channels 1 and 5 of position 3 turn by 3 / 10000^(2 / 8).
  const double angle = 3 / std::pow(10'000, 0.25), a = q.at({0, 3, 1}), b = q.at({0, 3, 5});
  EXPECT_NEAR(rope(q).at({0, 3, 1}), a * std::cos(angle) - b * std::sin(angle), 1e-14);
  EXPECT_NEAR(rope(q).at({0, 3, 5}), a * std::sin(angle) + b * std::cos(angle), 1e-14);
  // A turn keeps lengths, and a score depends on the distance of its two positions alone.
  EXPECT_TRUE(is_close(rope(q).square().sum(-1), q.square().sum(-1), 1e-13));
  const auto scores = [&](Index first) {
    return matmul(rope(q, first), rope(k, first).transpose(-2, -1));
  };
  EXPECT_TRUE(is_close(scores(0), scores(777), 1e-11));
  EXPECT_FALSE(is_close(scores(0), matmul(q, k.transpose(-2, -1)), 0.1));
  // Token by token, as with a cache.
  EXPECT_TRUE(is_close(rope(q.narrow(1, 4, 2), 4), rope(q).narrow(1, 4, 2), 1e-14));
  expect_right_gradients(nullptr, {q}, [](const auto& in) { return rope(in[0], 2); });
}

// --- convolution and pooling

/// x (B, in, L), weight (out, in, K), bias (out) -> (B, out, W): W windows fit, stride apart.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, Index stride = 1,
              Index padding = 0) {
  const Tensor windows = pad(x, {padding, padding}).unfold(2, weight.size(2), stride);
  const Tensor rows = windows.transpose(1, 2).reshape({x.size(0), windows.size(2), -1});
  return linear(rows, weight.reshape({weight.size(0), -1}), bias).transpose(1, 2);
}

/// (..., L) -> (..., W)
Tensor max_pool1d(const Tensor& x, Index size, Index stride, Index padding = 0) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return pad(x, {padding, padding}, -kInf).unfold(-1, size, stride).max(-1);
}

Tensor avg_pool1d(const Tensor& x, Index size, Index stride) {
  return x.unfold(-1, size, stride).mean(-1);
}

TEST(OwnLayers, Conv1d) {
  constexpr Index L = 11, K = 3, stride = 2, padding = 1;
  const Tensor x = autograd::randn({2, 3, L}, DType::f64);
  const Tensor w = autograd::randn({4, 3, K}, DType::f64), b = autograd::randn({4}, DType::f64);
  const Tensor y = conv1d(x, w, b, stride, padding);
  ASSERT_EQ(y.shape(), Shape({2, 4, (L + 2 * padding - K) / stride + 1}));
  // The same as K products of matrices, one for each place in a window.
  Tensor sum = b.unsqueeze(1);
  for (Index i = 0; i < K; ++i) {
    const Tensor at = autograd::arange(i, L + 2 * padding - K + 1 + i, stride);
    sum = sum + matmul(w.select(2, i), pad(x, {padding, padding}).index_select(2, at));
  }
  EXPECT_TRUE(is_close(y, sum, 1e-13));
  // One weight at 1 shifts: y[t] = x[t - 1].
  const Tensor shift = autograd::tensor({1, 0, 0}, {1, 1, 3}, DType::f64);
  const Tensor row = x.narrow(0, 0, 1).narrow(1, 0, 1);
  EXPECT_TRUE(same_bits(conv1d(row, shift, Tensor(), 1, 1), pad(row, {1, -1})));
  expect_right_gradients(nullptr, {x, w, b}, [](const auto& in) {
    return conv1d(in[0], in[1], in[2], stride, padding);
  });
}

TEST(OwnLayers, Pools) {
  const Tensor x = autograd::randn({2, 3, 9}, DType::f64);
  const Tensor largest = max_pool1d(x, 3, 2, 1), average = avg_pool1d(x, 3, 3);
  ASSERT_EQ(largest.shape(), Shape({2, 3, 5}));
  for (Index t = 0; t < 5; ++t) {
    const Index begin = std::max<Index>(0, 2 * t - 1), end = std::min<Index>(9, 2 * t + 2);
    EXPECT_TRUE(same_bits(largest.select(2, t), x.narrow(2, begin, end - begin).max(2))) << t;
  }
  // A mean of equal windows side by side is a convolution with 1 / size, and keeps the mean.
  const Tensor w = autograd::eye(3, DType::f64).unsqueeze(2).expand({3, 3, 3}) / 3.0;
  EXPECT_TRUE(is_close(average, conv1d(x, w, Tensor(), 3), 1e-14));
  EXPECT_TRUE(is_close(average.mean(-1), x.mean(-1), 1e-14));
  expect_right_gradients(nullptr, {x}, [](const auto& in) {
    return max_pool1d(in[0], 3, 2, 1).sum(-1) + avg_pool1d(in[0], 3, 3).square().sum(-1);
  });
}

// --- a mixture of experts

/// Shazeer et al., "Outrageously large neural networks" (2017), without its noise: the k experts
/// that the router likes best share each token, by the softmax of their logits. (B, T, C).
struct MixtureOfExperts : Module {
  MixtureOfExperts(Index n_embd, Index n_expert, Index k, DType dtype)
      : Module("MixtureOfExperts"),
        k_(k),
        router(register_module<Linear>("router", n_embd, n_expert, LinearOptions{.dtype = dtype})),
        experts(register_module<ModuleList<MLP>>("experts")) {
    for (Index i = 0; i < n_expert; ++i) experts.append(n_embd, MLPOptions{.dtype = dtype});
  }
  Tensor forward(const Tensor& x) override {
    const Tensor tokens = x.reshape({-1, x.size(-1)});      // (N, C)
    const auto [logits, chosen] = router(tokens).topk(k_);  // (N, k)
    const Tensor share = softmax(logits, -1).reshape({-1, 1});
    const Tensor expert = chosen.reshape({-1}), order = expert.argsort();  // (N k)
    const Tensor counts = one_hot(expert, experts.size()).sum(0);
    Tensor y = zeros_like(tokens);
    for (Index e = 0, begin = 0; e < experts.size(); ++e) {
      const auto count = static_cast<Index>(counts[e].item());
      const Tensor places = order.narrow(0, begin, count), token = floor_divide(places, k_);
      const Tensor part = experts[e](tokens.index_select(0, token)) * share.index_select(0, places);
      y = y.scatter_add(0, token.unsqueeze(1).expand(part.shape()), part);
      begin += count;
    }
    return y.reshape(x.shape());
  }
  const Index k_;
  Linear& router;
  ModuleList<MLP>& experts;
};

TEST(OwnLayers, MixtureOfExperts) {
  constexpr Index kExperts = 5;
  autograd::Generator generator(2);
  MixtureOfExperts layer(4, kExperts, 2, DType::f64);
  const Tensor x = autograd::randn({2, 3, 4}, DType::f64, generator);
  // The same with every expert at every token, under weights that are 0 but for two.
  const auto dense = [&](const Tensor& in) {
    const Tensor logits = layer.router(in);
    const Tensor second = logits.topk(2).values.narrow(-1, 1, 1);
    const Tensor weight = masked_softmax(logits, logits >= second, -1);
    Tensor y = zeros_like(in);
    for (Index e = 0; e < kExperts; ++e) {
      y = y + layer.experts[e](in) * weight.narrow(-1, e, 1);
    }
    return y;
  };
  EXPECT_TRUE(is_close(layer(x), dense(x), 1e-13));
  expect_right_gradients(&layer, {x}, [&](const auto& in) { return layer(in[0]); });
  // An expert that no token chooses has nothing to do.
  layer.zero_grad();
  layer(x.narrow(0, 0, 1).narrow(1, 0, 1)).sum().backward();
  int idle = 0;
  for (MLP& expert : layer.experts) {
    const Tensor g = expert.parameter("fc.weight").grad();
    idle += !g.defined() || g.abs().max().item() == 0;
  }
  EXPECT_EQ(idle, kExperts - 2);
}

}  // namespace
}  // namespace nn
