#include "nn/attention.h"

#include <cmath>
#include <thread>

#include "autograd/ops.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ShapeError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor f64(std::initializer_list<double> values, const Shape& shape) {
  return autograd::tensor(values, shape, DType::f64);
}

Tensor draw(const Shape& shape) { return autograd::randn(shape, DType::f64); }

TEST(Attention, OneQueryByHand) {
  // scores (0, ln 3) give weights (1/4, 3/4)
  const Tensor q = f64({1, 0}, {1, 2}), k = f64({0, 5, std::log(3.0), 7}, {2, 2});
  const Tensor v = f64({4, 8, 12, 0, 4, -4}, {2, 3});
  const Tensor y = attention(q, k, v, {.scale = Scale::none()});
  EXPECT_TRUE(is_close(y, f64({1, 5, 0}, {1, 3}), 1e-15));
}

TEST(Attention, ScaleMultipliesTheScores) {
  const Tensor q = draw({2, 3, 5}), k = draw({2, 4, 5}), v = draw({2, 4, 2});
  for (const Scale& scale : {Scale::sqrt_dk(), Scale::dk(), Scale::number(-0.7)}) {
    const Tensor y = attention(q, k, v, {.scale = scale});
    const Tensor scaled = attention(q * scale.factor(5), k, v, {.scale = Scale::none()});
    EXPECT_TRUE(is_close(y, scaled, 1e-14)) << scale.name();
  }
  EXPECT_TRUE(same_bits(attention(q, k, v), attention(q, k, v, {.scale = Scale::sqrt_dk()})));
}

TEST(Attention, OneKeyGetsAllTheWeight) {
  const Tensor v = draw({1, 4});
  const Tensor y = attention(draw({3, 2}), draw({1, 2}), v);
  EXPECT_TRUE(same_bits(y, v.expand({3, 4})));
}

TEST(Attention, LeadingDimsBroadcast) {
  const Tensor q = draw({2, 3, 4, 5}), k = draw({3, 6, 5}), v = draw({6, 7});
  const Tensor y = attention(q, k, v);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4, 7}));
  const Tensor one = attention(q.select(0, 1).select(0, 2), k.select(0, 2), v);
  EXPECT_TRUE(is_close(y.select(0, 1).select(0, 2), one, 1e-14));
}

TEST(Attention, DropoutIsOnTheWeights) {
  Generator generator(1);
  Dropout dropout(0.5, generator);
  const Tensor q = draw({8, 3}), k = draw({8, 3});
  const Tensor identity = autograd::tril(autograd::ones({8, 8}, DType::f64)) -
                          autograd::tril(autograd::ones({8, 8}, DType::f64), -1);
  const AttentionTrace trace;
  const Tensor dropped = attention(q, k, identity, {.dropout = &dropout});
  Index zeros = 0;
  for (Index i = 0; i < 64; ++i) {
    const double weight = trace[0].weights.data().at(i), kept = dropped.data().at(i);
    zeros += kept == 0.0;
    EXPECT_TRUE(kept == 0.0 || kept == 2 * weight);
  }
  EXPECT_GT(zeros, 8);
  EXPECT_LT(zeros, 56);
  dropout.eval();
  EXPECT_TRUE(same_bits(attention(q, k, identity, {.dropout = &dropout}), trace[0].weights));
}

TEST(Attention, TraceHoldsTheStepsAndTheirGradients) {
  Tensor q = draw({2, 3, 5}), k = draw({2, 4, 5}), v = draw({2, 4, 6});
  for (Tensor* t : {&q, &k, &v}) t->requires_grad_();
  const AttentionTrace calls;
  const Tensor y = attention(q, k, v, {.scale = Scale::dk()});
  const TracedAttention& trace = calls[0];
  EXPECT_EQ(trace.scores.shape(), (Shape{2, 3, 4}));
  EXPECT_TRUE(is_close(trace.scores, matmul(q, k.transpose(1, 2)) / 5.0, 1e-15));
  EXPECT_TRUE(same_bits(trace.weights, softmax(trace.scores, -1)));
  EXPECT_TRUE(same_bits(trace.kept, trace.weights));
  EXPECT_TRUE(same_bits(matmul(trace.weights, v), y));
  EXPECT_TRUE(same_bits(trace.out, y));

  const Tensor g = draw(y.shape());
  y.backward(g);
  const Tensor dw = matmul(g, v.detach().transpose(1, 2)), w = trace.weights.detach();
  const Tensor ds = w * (dw - (w * dw).sum({-1}, autograd::KeepDim::yes));
  EXPECT_TRUE(same_bits(trace.out.grad(), g));
  EXPECT_TRUE(is_close(trace.weights.grad(), dw, 1e-14));
  EXPECT_TRUE(is_close(trace.scores.grad(), ds, 1e-14));
  EXPECT_TRUE(is_close(trace.q.grad(), matmul(ds, k.detach()) / 5.0, 1e-14));
  EXPECT_TRUE(is_close(trace.k.grad(), matmul(ds.transpose(1, 2), q.detach()) / 5.0, 1e-14));
  EXPECT_TRUE(is_close(trace.v.grad(), matmul(w.transpose(1, 2), g), 1e-14));
  EXPECT_TRUE(same_bits(trace.q.grad(), q.grad()));
}

TEST(Attention, TraceHoldsTheWeightsThatDropoutKept) {
  Tensor q = draw({6, 5});
  q.requires_grad_();
  const Tensor k = draw({7, 5}), v = draw({7, 4});
  Generator generator(3);
  Dropout dropout(0.5, generator);
  const AttentionTrace calls;
  const Tensor y = attention(q, k, v, {.dropout = &dropout});
  const TracedAttention& trace = calls[0];
  EXPECT_FALSE(same_bits(trace.kept, trace.weights));
  EXPECT_TRUE(same_bits(matmul(trace.kept, v), y));
  const Tensor g = draw(y.shape());
  y.backward(g);
  const Tensor through = matmul(g, v.transpose(0, 1)),
               factor = trace.kept.detach() / trace.weights.detach();
  EXPECT_TRUE(is_close(trace.kept.grad(), through, 1e-14));
  EXPECT_TRUE(is_close(trace.weights.grad(), through * factor, 1e-14));
}

TEST(Attention, TraceOfConstantsHasNoGradients) {
  const Tensor q = draw({3, 5}), k = draw({4, 5});
  Tensor v = draw({4, 6});
  v.requires_grad_();
  const AttentionTrace calls;
  attention(q, k, v).sum().backward();
  const TracedAttention trace = calls[0];
  EXPECT_TRUE(trace.v.grad().defined());
  EXPECT_FALSE(trace.q.grad().defined());
  EXPECT_FALSE(trace.weights.grad().defined());
  const autograd::NoGrad no_grad;
  EXPECT_NO_THROW(attention(q, k, v));
}

TEST(Attention, TracingChangesNoBit) {
  Tensor q = draw({2, 3, 5}), k = draw({2, 4, 5}), v = draw({2, 4, 6});
  q.requires_grad_();
  const Tensor plain = attention(q, k, v);
  const AttentionTrace trace;
  const Tensor traced = attention(q, k, v);
  EXPECT_TRUE(same_bits(plain, traced));
  const Tensor g = draw(plain.shape());
  EXPECT_TRUE(same_bits(autograd::grad(plain, {q}, g)[0], autograd::grad(traced, {q}, g)[0]));
}

TEST(Attention, TheNewestTraceRecordsWhileItLives) {
  const Tensor x = draw({3, 5});
  const AttentionTrace outer;
  attention(x, x, x);
  {
    const AttentionTrace inner;
    attention(x, x, x);
    attention(x, x, x);
    EXPECT_EQ(inner.calls().size(), 2u);
  }
  attention(x, x, x);
  EXPECT_EQ(outer.calls().size(), 2u);
  std::thread([&] { attention(x, x, x); }).join();  // another thread's calls are not seen
  EXPECT_EQ(outer.calls().size(), 2u);
  EXPECT_THAT([&] { outer[2]; },
              ThrowsMessage<autograd::ValueError>(HasSubstr("call 2 is not in [0, 2)")));
  EXPECT_THAT([&] { outer.at("GPT.h.0.attn"); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("none of its 2 calls")));
}

TEST(Attention, WrongShapesAreShown) {
  const Shape good_q{3, 5}, good_k{4, 5}, good_v{4, 6};
  const Shape wrong[][3] = {{{3, 4}, good_k, good_v},       {good_q, good_k, {3, 6}},
                            {{5}, good_k, good_v},          {good_q, {5}, good_v},
                            {good_q, good_k, {}},           {{3, 0}, {4, 0}, good_v},
                            {{2, 3, 5}, {3, 4, 5}, good_v},  // batches
                            {{2, 3, 5}, good_k, {3, 4, 6}}};
  for (const auto& [q, k, v] : wrong) {
    const Tensor a = autograd::ones(q), b = autograd::ones(k), c = autograd::ones(v);
    EXPECT_THAT([&] { attention(a, b, c); },
                ThrowsMessage<ShapeError>(AllOf(
                    HasSubstr("attention: expected q (..., T, D)"), HasSubstr(a.shape().str()),
                    HasSubstr(b.shape().str()), HasSubstr(c.shape().str()))));
  }
  for (const Causal causal : {Causal::no, Causal::yes}) {
    const Tensor q = autograd::ones({4, 5});
    EXPECT_THAT([&] { attention(q, q, q, {.causal = causal, .mask = autograd::ones({7}) > 0}); },
                ThrowsMessage<ShapeError>(
                    HasSubstr("attention: expected a mask that broadcasts to (4, 4), got (7,)")));
  }
  EXPECT_THROW(attention(draw(good_q), autograd::ones(good_k), draw(good_v)), autograd::DTypeError);
}

}  // namespace
}  // namespace nn
