#include <cmath>
#include <limits>

#include "autograd/array/elementwise.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops/attention_head.h"
#include "nn/attention.h"
#include "tests/nn/check.h"

// The fused op against attention() as it is written, step by step.

namespace nn {
namespace {

using autograd::fused_attention;
using autograd::FusedAttentionOptions;
using autograd::attention_tiles::kKeys;
using autograd::attention_tiles::kQueries;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The same from separate heads.
Tensor composed(const Tensor& qkv, Index H, const FusedAttentionOptions& options = {}) {
  const Index B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3;
  const Index D = C / H;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(D)));
  auto [q, k, v] = autograd::split<3>(qkv, C, -1);
  q = q.reshape({B, T, H, D}).transpose(1, 2);
  k = k.reshape({B, T, H, D}).transpose(1, 2);
  v = v.reshape({B, T, H, D}).transpose(1, 2);
  const Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  const Tensor past = le(autograd::arange(T), autograd::arange(T).reshape({T, 1}));
  Tensor weights =
      options.causal == Causal::yes ? masked_softmax(scores, past, -1) : softmax(scores, -1);
  if (options.dropout > 0) weights = dropout(weights, options.dropout, *options.generator);
  return matmul(weights, v).transpose(1, 2).reshape({B, T, C});
}

struct Case {
  Index B, T, H, D;
  Causal causal;
  double dropout;
};

void expect_agreement(const Case& c, DType dtype, double tolerance) {
  Generator draws(static_cast<std::uint64_t>(c.T));
  const Index C = c.H * c.D;
  const Tensor qkv = autograd::randn({c.B, c.T, 3 * C}, dtype, draws).requires_grad_();
  const Tensor seed = autograd::randn({c.B, c.T, C}, dtype, draws);
  Generator one(5), other(5);
  FusedAttentionOptions options{
      .scale = 0.7, .causal = c.causal, .dropout = c.dropout, .generator = &one};
  const Tensor y = fused_attention(qkv, c.H, options);
  options.generator = &other;
  const Tensor want = composed(qkv, c.H, options);
  EXPECT_TRUE(is_close(y, want, tolerance)) << c.T;
  EXPECT_TRUE(is_close(grad(y, {qkv}, seed)[0], grad(want, {qkv}, seed)[0], tolerance)) << c.T;
  EXPECT_EQ(one.state(), other.state());
}

TEST(FusedAttention, AgreesWithTheComposedPath) {
  for (const Causal causal : {Causal::no, Causal::yes}) {
    for (const double p : {0.0, 0.4}) {
      // Within a tile, at its edges, and over several.
      for (const Index T :
           {Index{1}, Index{2}, Index{7}, Index{64}, kQueries - 1, kQueries, kQueries + 1,
            Index{193}, kKeys - 1, kKeys, kKeys + 1, 2 * kKeys + 70}) {
        expect_agreement({2, T, 3, 5, causal, p}, DType::f64, 1e-12);
        expect_agreement({1, T, 2, 8, causal, p}, DType::f32, 2e-5);
      }
    }
  }
}

TEST(FusedAttention, DropsEverythingAtOne) {
  const Tensor qkv = autograd::randn({1, 5, 12}).requires_grad_();
  const Tensor y = fused_attention(qkv, 2, {.dropout = 1.0});
  EXPECT_EQ(y.shape(), Shape({1, 5, 4}));
  EXPECT_EQ(max(abs(y)).item(), 0);  // of either sign
  const Tensor g = grad(y, {qkv}, autograd::ones({1, 5, 4}))[0];
  EXPECT_EQ(max(abs(g)).item(), 0);
}

TEST(FusedAttention, SurvivesHugeScoresAndPassesNaNOn) {
  Tensor qkv = autograd::randn({1, 4, 6}) * 1e4;
  EXPECT_TRUE(allclose(fused_attention(qkv, 1), composed(qkv, 1)));
  qkv.write<float>([](auto x) { x[0] = std::numeric_limits<float>::quiet_NaN(); });  // of query 0
  const Tensor y = fused_attention(qkv, 1);
  EXPECT_TRUE(std::isnan(y.at({0, 0, 0})));
  EXPECT_FALSE(std::isnan(y.at({0, 1, 0})));
}

/// What is NaN or infinite in `part` (0 to 2: q, k, v) of the last token.
Tensor with_last(double value, Index part, Index T) {
  Generator draws(4);
  Tensor qkv = autograd::randn({1, T, 12}, DType::f32, draws);
  qkv.write<float>([&](auto x) { x[12 * (T - 1) + 4 * part] = static_cast<float>(value); });
  return qkv.requires_grad_();
}

TEST(FusedAttention, AFutureThatIsNotFiniteReachesNoFurtherThanInTheComposedPath) {
  const double inf = std::numeric_limits<double>::infinity();
  const FusedAttentionOptions options{.scale = 0.5, .causal = Causal::yes};
  for (const double value : {inf, -inf, std::nan("")}) {
    for (const Index T : {Index{3}, kQueries + 2, kKeys + 44}) {
      for (const Index part : {0, 1}) {
        const Tensor qkv = with_last(value, part, T), seed = autograd::ones({1, T, 4});
        const Tensor y = fused_attention(qkv, 2, options), want = composed(qkv, 2, options);
        const Tensor g = grad(y, {qkv}, seed)[0], g_want = grad(want, {qkv}, seed)[0];
        for (const auto& [got, expected] : {std::pair{y, want}, std::pair{g, g_want}}) {
          for (Index i = 0; i < got.numel(); ++i) {
            const double a = got.data().at(i), b = expected.data().at(i);
            const auto where = [&] { return fmt::format("{}, T {}, element {}", value, T, i); };
            ASSERT_TRUE(!std::isnan(a) || std::isnan(b)) << where();
            ASSERT_TRUE(!std::isfinite(b) || std::abs(a - b) <= 1e-3) << where();
          }
        }
        EXPECT_FALSE(std::isnan(y.at({0, 0, 0})));
      }
    }
  }
}

TEST(FusedAttention, SameBitsOnAnyNumberOfThreadsOverSeveralTiles) {
  const int before = autograd::num_threads();
  const auto result = [](int threads) {
    autograd::set_num_threads(threads);
    Generator draws(6);
    const Tensor qkv = autograd::randn({2, kKeys + 44, 24}, DType::f32, draws).requires_grad_();
    const Tensor y = fused_attention(qkv, 2, {.causal = Causal::yes});
    return std::pair{y, grad(y, {qkv}, autograd::ones({2, kKeys + 44, 8}))[0]};
  };
  const auto [y, g] = result(1);
  const autograd::SmallPieces small;
  for (const int threads : {1, 3}) {
    const auto [other_y, other_g] = result(threads);
    EXPECT_TRUE(same_bits(other_y, y)) << threads;
    EXPECT_TRUE(same_bits(other_g, g)) << threads;
  }
  autograd::set_num_threads(before);
}

/// One head of one sequence whose scores are `offset` in the first tile of keys and 0 to 1 after
/// it.
Tensor with_offset(double offset, Index T) {
  Tensor qkv = autograd::zeros({1, T, 6});
  Generator draws(1);
  const Tensor noise = autograd::uniform({T, 2}, 0, 1, DType::f32, draws);
  qkv.write<float>([&](auto x) {
    for (Index t = 0; t < T; ++t) {
      x[6 * t] = 1;                                                              // q
      x[6 * t + 2] = static_cast<float>(t < kKeys ? offset : noise.at({t, 0}));  // k
      x[6 * t + 4] = x[6 * t + 5] = static_cast<float>(noise.at({t, 1}));        // v
    }
  });
  return qkv;
}

TEST(FusedAttention, IsRightWhereAWholeTileOfKeysIsMinusInfinity) {
  const Tensor qkv = with_offset(-std::numeric_limits<float>::infinity(), kKeys + 72);
  const Tensor y = fused_attention(qkv, 1);
  EXPECT_TRUE(autograd::all_finite(y.data()));
  EXPECT_TRUE(is_close(y, composed(qkv, 1), 1e-5));
  const Tensor nowhere = with_offset(-std::numeric_limits<float>::infinity(), kKeys);
  EXPECT_TRUE(std::isnan(fused_attention(nowhere, 1).at({0, 5, 0})));  // as softmax has it
}

TEST(FusedAttention, KeepsItsGradientWhereAllScoresOfARowAreLarge) {
  Generator draws(2);
  for (const double offset : {1e2, 1e3, 1e4}) {
    // q . k = offset + noise: a common offset, which softmax takes away.
    Tensor qkv = autograd::randn({1, 40, 12}, DType::f32, draws);
    qkv.write<float>([&](auto x) {
      for (Index t = 0; t < 40; ++t) x[12 * t] = 1, x[12 * t + 4] = static_cast<float>(offset);
    });
    const Tensor seed = autograd::randn({1, 40, 4}, DType::f32, draws);
    const auto gradient = [&seed](Tensor x) {
      x.requires_grad_();
      return grad(fused_attention(x, 1), {x}, seed.to(x.dtype()))[0].to(DType::f64);
    };
    const Tensor want = gradient(qkv.to(DType::f64).detach());
    const double largest = want.abs().max().item();
    // The scores themselves are rounded to 6e-8 of the offset.
    EXPECT_LE((gradient(qkv.detach()) - want).abs().max().item(), 1e-6 * offset * largest)
        << offset;
  }
}

TEST(FusedAttention, TakesNoSequencesAndNoTokens) {
  EXPECT_EQ(fused_attention(autograd::zeros({0, 4, 6}), 1).shape(), (Shape{0, 4, 2}));
  EXPECT_EQ(fused_attention(autograd::zeros({2, 0, 6}), 1).shape(), (Shape{2, 0, 2}));
}

TEST(FusedAttention, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      [] {
        fused_attention(autograd::zeros({1, 2, 12}), 3);
      },
      ThrowsMessage<autograd::ShapeError>(HasSubstr("got (1, 2, 12) and 3")));
  EXPECT_THAT(
      [] {
        fused_attention(autograd::zeros({1, 2, 7}), 1);
      },
      ThrowsMessage<autograd::ShapeError>(HasSubstr("(1, 2, 7)")));
  EXPECT_THAT(
      [] {
        fused_attention(autograd::zeros({1, 2, 6}), 1, {.dropout = 1.5});
      },
      ThrowsMessage<autograd::ValueError>(HasSubstr("got 1.5")));
}

TEST(FusedAttention, IsWhatTheLayerUsesUnlessAskedForMore) {
  MultiHeadAttention attn({.n_embd = 12, .n_head = 3, .causal = Causal::yes});
  const Tensor x = autograd::randn({2, 70, 12}).requires_grad_();
  const Tensor fused = attn(x);
  const AttentionTrace trace;
  const Tensor traced = attn(x);
  EXPECT_TRUE(is_close(fused, traced, 1e-5));
  EXPECT_NE(dot(fused).find("fused_attention"), std::string::npos);
  EXPECT_EQ(dot(traced).find("fused_attention"), std::string::npos);
}

}  // namespace
}  // namespace nn
