#include <cmath>
#include <limits>
#include <vector>

#include "autograd/machine/parallel.h"
#include "autograd/machine/pool.h"
#include "autograd/ops/attention_head.h"
#include "nn/attention.h"
#include "tests/nn/check.h"
#include "tests/support/aligned_bytes.h"

// The fused op on q, k and v of their own, against attention as it is written, step by step.

namespace nn {
namespace {

using autograd::FusedAttentionOptions;
using autograd::Retain;
using autograd::ShapeError;
using autograd::attention_tiles::kKeys;
using autograd::attention_tiles::kQueries;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Each head of x (B, G, S, D) `group` times in a row.
Tensor repeated(const Tensor& x, Index group) {
  const auto [B, G, S, D] = x.dims<4>("repeated");
  return x.reshape({B, G, 1, S, D}).expand({B, G, group, S, D}).reshape({B, G * group, S, D});
}

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const FusedAttentionOptions& o) {
  const Index T = q.size(2), S = k.size(2), group = q.size(1) / k.size(1);
  Tensor scores = matmul(q, repeated(k, group).transpose(-2, -1)) * o.scale.value();
  if (o.softcap > 0) scores = tanh(scores / o.softcap) * o.softcap;
  if (o.attn_bias.defined()) scores = scores + o.attn_bias;
  const Index offset = o.query_offset.value_or(0);
  const Tensor last = autograd::arange(offset + T).narrow(0, offset, T).reshape({T, 1});
  Tensor weights = o.causal == Causal::yes
                       ? masked_softmax(scores, le(autograd::arange(S), last), -1)
                       : softmax(scores, -1);
  if (o.dropout > 0) weights = dropout(weights, o.dropout, *o.generator);
  return matmul(weights, repeated(v, group));
}

struct Case {
  Index T, S, H, G, kv_batch;
  Shape bias;  // of rank 0: none
  FusedAttentionOptions options;
};

void expect_agreement(const Case& c, DType dtype, double tolerance) {
  Generator draws(static_cast<std::uint64_t>(c.T + 1000 * c.S)), one(5), other(5);
  std::vector<Tensor> in = {autograd::randn({2, c.H, c.T, 5}, dtype, draws),
                            autograd::randn({c.kv_batch, c.G, c.S, 5}, dtype, draws),
                            autograd::randn({c.kv_batch, c.G, c.S, 3}, dtype, draws)};
  FusedAttentionOptions options = c.options;
  options.scale = 0.7;
  if (c.bias.rank() > 0) {
    in.push_back(autograd::randn(c.bias, dtype, draws));
    options.attn_bias = in.back();
  }
  for (Tensor& x : in) x.requires_grad_();
  const Tensor seed = autograd::randn({2, c.H, c.T, 3}, dtype, draws);
  options.generator = &one;
  const Tensor y = fused_attention(in[0], in[1], in[2], options);
  options.generator = &other;
  const Tensor want = composed(in[0], in[1], in[2], options);
  EXPECT_TRUE(is_close(y, want, tolerance)) << c.T << ' ' << c.S;
  const auto g = grad(y, in, seed), g_want = grad(want, in, seed);
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_TRUE(is_close(g[i], g_want[i], tolerance)) << c.T << ' ' << c.S << ", input " << i;
  }
}

TEST(SeparateAttention, AgreesWithTheComposedPath) {
  const Index many = kKeys + 30;
  const FusedAttentionOptions causal{.causal = Causal::yes};
  const auto at = [](Index offset) {
    return FusedAttentionOptions{.softcap = 1.5, .causal = Causal::yes, .query_offset = offset};
  };
  const Case cases[] = {
      {1, 1, 1, 1, 2, {}, causal},
      {7, 3, 4, 2, 2, {}, {}},
      {3, 7, 6, 1, 1, {6, 1, 1}, {.softcap = 0.8}},
      {1, many, 4, 2, 2, {many}, {.dropout = 0.3}},
      {kQueries + 1, many, 2, 2, 1, {2, 1, many}, at(0)},
      {kQueries + 1, many, 2, 1, 2, {kQueries + 1, 1}, at(many - kQueries - 1)},
      {many, many, 2, 2, 2, {2, 2, many, many}, causal},
      {2 * kQueries, 2 * kKeys, 3, 3, 1, {2, 1, 1, 2 * kKeys}, at(100)},  // nothing of tile 2
      {many, 4, 2, 1, 2, {1, 2, many, 1}, at(1)},
      {40, 30, 4, 4, 2, {1, 1, 40, 30}, {.causal = Causal::yes, .query_offset = 3, .dropout = 0.2}},
  };
  for (const Case& c : cases) {
    expect_agreement(c, DType::f64, 1e-12);
    expect_agreement(c, DType::f32, 3e-5);
  }
}

TEST(SeparateAttention, ByHand) {
  // Scores 0 and 3, which become 0 and 2 tanh(1.5), and ln 3 for the first key.
  const Tensor q = autograd::tensor({1}, {1, 1}, DType::f64);
  const Tensor k = autograd::tensor({0, 3}, {2, 1}, DType::f64);
  const Tensor v = autograd::tensor({10, 0, 0, 10}, {2, 2}, DType::f64);
  const Tensor bias = autograd::tensor({std::log(3.0), 0}, DType::f64);
  const Tensor y = fused_attention(q, k, v, {.softcap = 2, .attn_bias = bias});
  const double other = std::exp(2 * std::tanh(1.5));
  EXPECT_NEAR(y.at({0, 0}), 30 / (3 + other), 1e-13);
  EXPECT_NEAR(y.at({0, 1}), 10 * other / (3 + other), 1e-13);
}

TEST(SeparateAttention, IsWhatAProjectionGives) {
  const Tensor qkv = autograd::randn({2, 70, 3 * 12});
  const auto parts = autograd::split<3>(qkv, 12, -1);
  const auto heads = [&](int i) { return parts[i].reshape({2, 70, 3, 4}).transpose(1, 2); };
  const Tensor y = fused_attention(heads(0), heads(1), heads(2), {.causal = Causal::yes});
  EXPECT_TRUE(same_bits(y.transpose(1, 2).reshape({2, 70, 12}),
                        fused_attention(qkv, 3, {.causal = Causal::yes})));
}

// --- causal attention of queries that are not all there are

TEST(CausalOffset, TheLastQueriesSeeWhatTheyDoAmongAll) {
  const Tensor x = autograd::randn({2, 9, 4}, DType::f64), last = x.narrow(1, 6, 3);
  const Tensor whole = attention(x, x, x, {.causal = Causal::yes}).narrow(1, 6, 3);
  EXPECT_TRUE(
      is_close(attention(last, x, x, {.causal = Causal::yes, .query_offset = 6}), whole, 1e-14));
  EXPECT_TRUE(is_close(fused_attention(last, x, x, {.causal = Causal::yes, .query_offset = 6}),
                       whole, 1e-14));
  const Tensor one = x.narrow(1, 8, 1);  // sees all
  EXPECT_TRUE(same_bits(fused_attention(one, x, x, {.causal = Causal::yes, .query_offset = 8}),
                        fused_attention(one, x, x)));
}

TEST(CausalOffset, IsAskedForWhereItIsNotPlain) {
  const Tensor q = autograd::ones({1, 4}), k = autograd::ones({5, 4});
  const auto names_both = [](const char* op) {
    return ThrowsMessage<ShapeError>(AllOf(HasSubstr(op), HasSubstr("1 queries to 5 keys"),
                                           HasSubstr("query_offset"), HasSubstr("S - T")));
  };
  EXPECT_THAT([&] { attention(q, k, k, {.causal = Causal::yes}); }, names_both("attention: "));
  EXPECT_THAT([&] { fused_attention(q, k, k, {.causal = Causal::yes}); },
              names_both("fused_attention: "));
  EXPECT_THAT(
      [&] { attention(q, k, k, {.causal = Causal::yes, .query_offset = -1}); },
      ThrowsMessage<autograd::ValueError>(HasSubstr("query_offset must be at least 0, got -1")));
}

// --- nn::attention with changed scores

TEST(Attention, ChangesScoresAsTheFusedOpDoes) {
  const Tensor q = autograd::randn({2, 3, 5}, DType::f64),
               k = autograd::randn({2, 4, 5}, DType::f64);
  const Tensor bias = autograd::randn({3, 1}, DType::f64) * 0.5 + autograd::randn({4}, DType::f64);
  const AttentionTrace trace;
  const Tensor y = attention(
      q, k, k,
      {.score_mod = [](const Tensor& s) { return tanh(s / 0.5) * 0.5; }, .attn_bias = bias});
  EXPECT_TRUE(is_close(y, fused_attention(q, k, k, {.softcap = 0.5, .attn_bias = bias}), 1e-14));
  EXPECT_LE((trace[0].scores - bias).abs().max().item(), 0.5);  // what softmax was given
  EXPECT_THAT(
      [&] {
        attention(q, k, k, {.attn_bias = autograd::ones({5, 1, 4}, DType::f64)});
      },
      ThrowsMessage<ShapeError>(HasSubstr("broadcasts to (2, 3, 4), got (5, 1, 4)")));
}

// --- gradients

TEST(SeparateAttention, GradientsOfSomeInputsDoNotDependOnTheOthers) {
  Generator draws(3);
  std::vector<Tensor> in;
  for (int i = 0; i < 3; ++i)
    in.push_back(autograd::randn({2, 6, 4}, DType::f64, draws).requires_grad_());
  const auto run = [&in] { return fused_attention(in[0], in[1], in[2]); };
  const Tensor seed = autograd::randn({2, 6, 4}, DType::f64, draws), other = seed * -3.0;
  const auto want = grad(run(), in, seed), want_other = grad(run(), in, other);
  const Tensor y = run();
  // What one pass leaves behind is not what the next one is about.
  EXPECT_TRUE(same_bits(grad(y, {in[0]}, seed, Retain::yes)[0], want[0]));
  EXPECT_TRUE(same_bits(grad(y, {in[1]}, other, Retain::yes)[0], want_other[1]));
  EXPECT_TRUE(same_bits(grad(y, {in[2]}, other, Retain::yes)[0], want_other[2]));
  EXPECT_TRUE(same_bits(grad(y, {in[2], in[1]}, seed, Retain::yes)[1], want[1]));
}

TEST(SeparateAttention, SameBitsOnAnyNumberOfThreads) {
  const int before = autograd::num_threads();
  const auto result = [](int threads) {
    autograd::set_num_threads(threads);
    Generator draws(6);
    std::vector<Tensor> in = {autograd::randn({2, 4, kQueries + 9, 8}, DType::f32, draws),
                              autograd::randn({1, 2, kKeys + 9, 8}, DType::f32, draws),
                              autograd::randn({2, 1, kKeys + 9, 8}, DType::f32, draws),
                              autograd::randn({4, 1, kKeys + 9}, DType::f32, draws)};
    for (Tensor& x : in) x.requires_grad_();
    const Tensor y = fused_attention(in[0], in[1], in[2], {.attn_bias = in[3]});
    std::vector<Tensor> all = grad(y, in, autograd::ones(y.shape()));
    all.push_back(y);
    return all;
  };
  const std::vector<Tensor> want = result(1);
  const autograd::SmallPieces small;
  for (const int threads : {1, 3}) {
    const std::vector<Tensor> got = result(threads);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
  }
  autograd::set_num_threads(before);
}

/// The most bytes that forward and backward of T queries and keys take from the system.
double peak_bytes(Index T) {
  Generator draws(1);
  std::vector<Tensor> in = {autograd::randn({4, T, 32}, DType::f32, draws),
                            autograd::randn({2, T, 32}, DType::f32, draws),
                            autograd::randn({2, T, 32}, DType::f32, draws),
                            autograd::randn({4, 1, T}, DType::f32, draws)};
  for (Tensor& x : in) x.requires_grad_();
  autograd::pool::trim();
  const auto before = ::test::aligned_bytes();
  const Tensor y = fused_attention(in[0], in[1], in[2],
                                   {.softcap = 5, .attn_bias = in[3], .causal = Causal::yes});
  grad(y, in, autograd::ones(y.shape()));
  return static_cast<double>(::test::aligned_bytes() - before);  // the pool has kept all of it
}

TEST(SeparateAttention, TakesMemoryForTheRowsAlone) {
  const int threads = autograd::num_threads();
  autograd::set_num_threads(1);  // others would keep blocks in pools of their own
  const double one = peak_bytes(1024), two = peak_bytes(2048);
  EXPECT_LT(two, 4. * 2048 * 2048);  // a quarter of the scores
  EXPECT_LT(two, 2.2 * one);
  autograd::set_num_threads(threads);
}

// --- the edges

TEST(SeparateAttention, TakesNothing) {
  const auto of = [](const Shape& q, const Shape& kv) {
    Tensor a = autograd::ones(q).requires_grad_(), b = autograd::ones(kv).requires_grad_();
    const Tensor y = fused_attention(a, b, b);
    const auto g = grad(y, {a, b}, autograd::ones(y.shape()));
    EXPECT_TRUE(same_bits(g[0], autograd::zeros(q)));
    EXPECT_TRUE(same_bits(g[1], autograd::zeros(kv)));
    return y;
  };
  EXPECT_TRUE(same_bits(of({2, 3, 4}, {2, 0, 4}), autograd::zeros({2, 3, 4})));  // no keys
  EXPECT_EQ(of({2, 0, 4}, {2, 3, 4}).numel(), 0);
  EXPECT_EQ(of({0, 2, 3, 4}, {1, 1, 3, 4}).numel(), 0);
}

TEST(SeparateAttention, HidesKeysBehindMinusInfinity) {
  const Tensor q = autograd::randn({3, 4}), k = autograd::randn({5, 4});
  Tensor bias = autograd::zeros({5});
  bias.write<float>([](auto b) { b[3] = b[4] = -std::numeric_limits<float>::infinity(); });
  EXPECT_TRUE(is_close(fused_attention(q, k, k, {.attn_bias = bias}),
                       fused_attention(q, k.narrow(0, 0, 3), k.narrow(0, 0, 3)), 1e-6));
}

TEST(SeparateAttention, RefusesWhatDoesNotFit) {
  const Shape good{2, 4, 3, 5};
  const Shape wrong[][3] = {{{5}, {5}, {5}},
                            {good, {2, 4, 3, 6}, good},
                            {good, good, {2, 4, 2, 5}},
                            {good, {2, 3, 3, 5}, {2, 3, 3, 5}},
                            {good, {3, 4, 3, 5}, {3, 4, 3, 5}},
                            {{4, 3, 5}, good, good},
                            {{3, 0}, {3, 0}, {3, 1}}};
  for (const auto& [q, k, v] : wrong) {
    const Tensor a = autograd::ones(q), b = autograd::ones(k), c = autograd::ones(v);
    EXPECT_THAT([&] { fused_attention(a, b, c); },
                ThrowsMessage<ShapeError>(
                    AllOf(HasSubstr("expected q (..., H, T, D)"), HasSubstr(a.shape().str()),
                          HasSubstr(b.shape().str()), HasSubstr(c.shape().str()))));
  }
  const Tensor x = autograd::ones(good);
  EXPECT_THAT(
      [&] {
        fused_attention(x, x, x, {.attn_bias = autograd::ones({2, 1, 1, 1, 1})});
      },
      ThrowsMessage<ShapeError>(HasSubstr("broadcasts to (2, 4, 3, 3), got (2, 1,")));
  EXPECT_THAT([&] { fused_attention(x, x, x, {.softcap = -1}); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("a softcap above 0, or 0 for none")));
}

}  // namespace
}  // namespace nn
