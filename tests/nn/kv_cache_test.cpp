#include "nn/kv_cache.h"

#include <vector>

#include "nn/eval_mode.h"
#include "nn/gpt.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

GPTOptions small(DType dtype = DType::f64) {
  return {
      .block_size = 20, .vocab_size = 11, .n_layer = 3, .n_head = 2, .n_embd = 8, .dtype = dtype};
}

Tensor tokens(Index B, Index T) {
  Generator draws(4);
  return autograd::uniform({B, T}, 0, 11, DType::f64, draws).to(DType::i64);
}

/// Logits of all tokens, of which the cache is given `first`, then `step` at a time.
Tensor with_cache(GPT& gpt, const Tensor& x, Index first, Index step) {
  const KVCache cache;
  std::vector<Tensor> parts = {gpt(x.narrow(1, 0, first))};
  for (Index t = first; t < x.size(1); t += step) {
    EXPECT_EQ(cache.length(), t);
    parts.push_back(gpt(x.narrow(1, t, std::min(step, x.size(1) - t))));
  }
  return autograd::concat(parts, 1);
}

void expect_the_same(GPTOptions options, double tolerance) {
  Generator generator(2);
  GPT gpt(options, generator);
  for (Tensor& p : gpt.parameters()) p.set_data((p.detach() * 3.0).data());  // not nearly linear
  const EvalMode eval(gpt);
  for (const Index B : {1, 3}) {
    const Tensor x = tokens(B, 20), want = gpt(x);
    for (const auto& [first, step] : {std::pair<Index, Index>{1, 1}, {7, 1}, {3, 5}, {20, 1}}) {
      EXPECT_TRUE(is_close(with_cache(gpt, x, first, step), want, tolerance)) << first << B;
    }
  }
}

TEST(KVCache, GivesTheLogitsOfOneCall) {
  expect_the_same(small(), 1e-12);
  expect_the_same(small(DType::f32), 1e-4);
  GPTOptions other = small();
  other.qk_norm = QkNorm::yes;
  other.norm = NormPosition::post;
  other.dropout = 0.5;  // not in evaluation
  expect_the_same(other, 1e-12);
}

TEST(KVCache, ComputesTheNewPositionsAlone) {
  GPT gpt(small());
  const EvalMode eval(gpt);
  const Tensor x = tokens(1, 6);
  const AttentionTrace whole;
  gpt(x);
  const KVCache cache;
  gpt(x.narrow(1, 0, 5));
  const AttentionTrace trace;
  gpt(x.narrow(1, 5, 1));
  EXPECT_EQ(trace[2].q.shape(), (Shape{1, 2, 1, 4}));
  EXPECT_TRUE(is_close(trace[2].k, whole[2].k, 1e-13));
  EXPECT_TRUE(is_close(trace[2].weights, whole[2].weights.narrow(2, 5, 1), 1e-13));
}

TEST(KVCache, BeginsAnewWhenCleared) {
  GPT gpt(small());
  const EvalMode eval(gpt);
  KVCache cache;
  const Tensor first = gpt(tokens(1, 4));
  EXPECT_FALSE(allclose(gpt(tokens(1, 4)), first));
  cache.clear();
  EXPECT_TRUE(same_bits(gpt(tokens(1, 4)), first));
  {
    const KVCache inner;  // the newest works
    EXPECT_TRUE(same_bits(gpt(tokens(1, 4)), first));
  }
  EXPECT_EQ(cache.length(), 4);
}

TEST(KVCache, RefusesWhatItCannotKeep) {
  GPT gpt(small());
  KVCache cache;
  EXPECT_THAT([&] { gpt(tokens(1, 2)); },
              ThrowsMessage<autograd::GraphError>(
                  AllOf(HasSubstr("expected NoGrad or EvalMode"), HasSubstr("GPT.h.0.attn"))));
  const EvalMode eval(gpt);
  EXPECT_EQ(cache.length(), 0);
  gpt(tokens(2, 18));
  EXPECT_THAT([&] { gpt(tokens(2, 3)); },
              ThrowsMessage<autograd::ShapeError>(
                  HasSubstr("at most block_size 20 tokens in a row, got (2, 3) behind 18 in the")));
  EXPECT_THAT([&] { gpt(tokens(1, 1)); },
              ThrowsMessage<autograd::ShapeError>(
                  HasSubstr("keys that continue (2, 2, 18, 4), got (1, 2, 1, 4)")));
  GPTOptions open = small();
  open.causal = Causal::no;
  GPT other(open);
  const EvalMode eval_too(other);
  cache.clear();
  EXPECT_THAT([&] { other(tokens(1, 2)); },
              ThrowsMessage<autograd::ValueError>(
                  AllOf(HasSubstr("expected causal attention"), HasSubstr("GPT.h.0.attn"))));
}

TEST(KVCache, NoticesACallThatEndedEarly) {
  MultiHeadAttention one({.n_embd = 8, .n_head = 2, .causal = Causal::yes});
  MultiHeadAttention other({.n_embd = 8, .n_head = 2, .causal = Causal::yes});
  const autograd::NoGrad no_grad;
  const KVCache cache;
  one(autograd::ones({1, 3, 8}));
  EXPECT_EQ(cache.length(), 3);
  other(autograd::ones({1, 2, 8}));
  EXPECT_THAT([&] { cache.length(); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("expected clear() first")));
}

}  // namespace
}  // namespace nn
