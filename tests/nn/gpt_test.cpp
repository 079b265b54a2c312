#include "nn/gpt.h"

#include <cmath>
#include <string>

#include "autograd/graph/anomaly.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

GPTOptions small(DType dtype = DType::f64) {
  return {.block_size = 5, .vocab_size = 7, .n_layer = 2, .n_head = 2, .n_embd = 6, .dtype = dtype};
}

Tensor tokens(std::initializer_list<double> values, const Shape& shape) {
  return autograd::tensor(values, shape, DType::i64);
}

// --- an independent implementation

void expect_agreement(const std::string& name, GPTOptions config, double tolerance) {
  static const Reference reference("gpt_reference.csv");
  GPT gpt(config);
  State state;
  for (const NamedParameter& p : gpt.named_parameters()) {
    state.emplace(p.name, reference.get(name, p.name).to(config.dtype));
  }
  gpt.load_state(state);
  const Tensor logits = gpt(tokens({1, 4, 0, 6, 2, 2, 5, 3}, {2, 4}));
  EXPECT_TRUE(is_close(logits.to(DType::f64), reference.get(name, "logits"), tolerance));
  const Tensor target = tokens({4, 0, 6, -1, 2, 5, 3, 0}, {2, 4});
  const Tensor loss = cross_entropy(logits, target, {.ignore_index = -1});
  EXPECT_TRUE(
      is_close(loss.to(DType::f64), reference.get(name, "loss").reshape(Shape{}), tolerance));
  loss.backward();
  for (const NamedParameter& p : gpt.named_parameters()) {
    EXPECT_TRUE(
        is_close(p.tensor.grad().to(DType::f64), reference.get(name, "grad " + p.name), tolerance))
        << name << ' ' << p.name;
  }
}

TEST(GPT, AgreesWithAnIndependentImplementation) {
  expect_agreement("gpt2", small(), 1e-12);
  expect_agreement("gpt2", small(DType::f32), 1e-4);
  GPTOptions other = small();
  other.tied = Tied::no;
  other.norm = NormPosition::post;
  other.gelu = Gelu::tanh;
  other.qk_norm = QkNorm::yes;
  expect_agreement("other", other, 1e-12);
}

// --- parameters

TEST(GPT, HasTheParametersOfGpt2) {
  // One block of GPT-2 small; the other eleven are the same.
  const GPT gpt(GPTOptions{.n_layer = 1});
  constexpr Index kBlock = 12 * 768 * 768 + 13 * 768;
  EXPECT_EQ(gpt.parameter_count(), 50257 * 768 + 1024 * 768 + kBlock + 2 * 768);
  EXPECT_EQ(gpt.parameter_count() + 11 * kBlock, 124'439'808);
  EXPECT_EQ(gpt.named_parameters().front().name, "wte.weight");
  EXPECT_EQ(gpt.parameter("h.0.mlp.fc.weight").shape(), (Shape{3072, 768}));
}

TEST(GPT, CountsATiedHeadOnce) {
  GPTOptions config = small();
  const Index tied = GPT(config).parameter_count();
  config.tied = Tied::no;
  GPT own(config);
  EXPECT_EQ(own.parameter_count(), tied + 7 * 6);
  EXPECT_EQ(own.parameter("lm_head.weight").shape(), (Shape{7, 6}));
}

double deviation(const Tensor& x) { return std::sqrt(mean(x * x).item()); }

TEST(GPT, StartsAsGpt2Does) {
  const GPT gpt(
      GPTOptions{.block_size = 64, .vocab_size = 512, .n_layer = 8, .n_head = 2, .n_embd = 64});
  for (const NamedParameter& p : gpt.named_parameters()) {
    const double measured = deviation(p.tensor);
    if (p.tensor.rank() == 1) {
      EXPECT_EQ(measured, p.name.find("bias") == std::string::npos ? 1.0 : 0.0) << p.name;
    } else {
      const bool residual = p.name.find("proj.weight") != std::string::npos;
      const double expected = residual ? 0.02 / 4 : 0.02;  // sqrt(2 * 8) = 4
      EXPECT_NEAR(measured, expected, 0.05 * expected) << p.name;
    }
  }
}

TEST(GPT, StartsAtTheLossOfChance) {
  Generator generator(1);
  GPT gpt(GPTOptions{.block_size = 16, .vocab_size = 65, .n_layer = 2, .n_head = 2, .n_embd = 32},
          generator);
  const auto random_tokens = [&] {
    return autograd::uniform({4, 16}, 0, 65, DType::f64, generator).to(DType::i64);
  };
  const Tensor x = random_tokens();
  EXPECT_NEAR(cross_entropy(gpt(x), random_tokens()).item(), std::log(65.0), 0.1);
}

// --- what a token sees

TEST(GPT, SeesOnlyThePast) {
  GPT gpt(small());
  const Tensor a = gpt(tokens({1, 2, 3, 4, 5}, {1, 5}));
  const Tensor b = gpt(tokens({1, 2, 3, 6, 5}, {1, 5}));
  EXPECT_TRUE(same_bits(a.narrow(1, 0, 3), b.narrow(1, 0, 3)));
  EXPECT_FALSE(allclose(a.narrow(1, 4, 1), b.narrow(1, 4, 1)));
  GPTOptions config = small();
  config.causal = Causal::no;
  GPT open(config);
  open.load_state(gpt.state());
  EXPECT_FALSE(allclose(open(tokens({1, 2, 3, 6, 5}, {1, 5})).select(1, 0),
                        open(tokens({1, 2, 3, 4, 5}, {1, 5})).select(1, 0)));
}

TEST(GPT, TracesItsAttention) {
  GPT gpt(small());
  const Tensor fused = gpt(tokens({1, 2, 3}, {1, 3}));
  const AttentionTrace trace;
  const Tensor logits = gpt(tokens({1, 2, 3}, {1, 3}));
  ASSERT_EQ(trace.calls().size(), 2u);
  EXPECT_EQ(trace[1].path, "GPT.h.1.attn");
  EXPECT_EQ(trace.at("GPT.h.1.attn").weights.shape(), (Shape{1, 2, 3, 3}));
  EXPECT_TRUE(is_close(logits, fused, 1e-12));  // another path
  EXPECT_EQ(trace[0].weights.at({0, 1, 0, 1}), 0.0);
}

TEST(GPT, DropoutWorksInTrainingAlone) {
  GPTOptions config = small();
  config.dropout = 0.5;
  GPT gpt(config);
  const Tensor x = tokens({1, 2, 3}, {1, 3});
  EXPECT_FALSE(same_bits(gpt(x), gpt(x)));
  gpt.eval();
  EXPECT_TRUE(same_bits(gpt(x), gpt(x)));
}

// --- errors

TEST(GPT, RefusesWhatDoesNotFit) {
  GPT gpt(small());
  EXPECT_THAT(
      [&] {
        gpt(tokens({1, 2, 3, 4, 5, 6}, {1, 6}));
      },
      ThrowsMessage<autograd::ShapeError>(HasSubstr("block_size 5 tokens in a row, got "
                                                    "(1, 6)")));
  EXPECT_THAT(
      [&] {
        gpt(tokens({1, 7}, {1, 2}));
      },
      ThrowsMessage<autograd::ValueError>(
          AllOf(HasSubstr("got 7 at position 1"), HasSubstr("in GPT.wte"))));
  EXPECT_THAT([] { GPT(GPTOptions{.n_layer = 0}); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("n_layer must be at least 1, got 0")));
  EXPECT_THAT([] { GPT(GPTOptions{.n_head = 5}); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("n_head 5 does not divide")));
}

TEST(GPT, NamesTheLayerThatMadeANaN) {
  Generator generator(0);
  GPT gpt(small(), generator);
  Tensor weight = gpt.parameter("h.1.mlp.fc.weight");
  weight.write<double>([](auto w) { w[0] = 1e308; });
  Tensor bias = gpt.parameter("h.1.mlp.fc.bias");
  bias.write<double>([](auto b) { b[0] = 1.7e308; });
  const autograd::AnomalyGuard guard;
  EXPECT_THAT(
      [&] {
        gpt(tokens({1, 2, 3}, {1, 3}));
      },
      ThrowsMessage<autograd::NumericError>(HasSubstr("GPT.h.1.mlp")));
}

}  // namespace
}  // namespace nn
