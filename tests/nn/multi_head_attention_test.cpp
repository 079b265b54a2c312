#include <cmath>
#include <string>
#include <utility>

#include "nn/attention.h"
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

Tensor identity(Index n) {
  const Tensor ones = autograd::ones({n, n}, DType::f64);
  return autograd::tril(ones) - autograd::tril(ones, -1);
}

// Makes q, k, v and the output projection pass on what they are given.
void use_identity_projections(MultiHeadAttention& module) {
  const Tensor one = identity(module.options().n_embd);
  module.load_state({{"qkv.weight", autograd::concat({one, one, one}, 0)}, {"proj.weight", one}});
}

// --- the lesson's own checks

TEST(MultiHeadAttention, KeepsTheShapeOfItsInput) {
  MultiHeadAttention attn({.bias = Bias::no});
  EXPECT_EQ(attn(autograd::randn({2, 8, 768})).shape(), (Shape{2, 8, 768}));
}

TEST(MultiHeadAttention, ParameterCountDoesNotDependOnTheHeads) {
  for (const Index n_head : {1, 2, 12, 96, 768}) {
    EXPECT_EQ(MultiHeadAttention({.n_head = n_head, .bias = Bias::no}).parameter_count(), 2'359'296)
        << n_head;
    EXPECT_EQ(MultiHeadAttention({.n_head = n_head, .bias = Bias::yes}).parameter_count(),
              2'362'368);
  }
}

TEST(MultiHeadAttention, EvalTwiceGivesEqualBits) {
  Generator generator(1);
  const Tensor x = autograd::randn({2, 8, 48}, DType::f32, generator);
  MultiHeadAttention attn({.n_embd = 48, .dropout = 0.5, .bias = Bias::no}, generator);
  attn.eval();
  const Tensor y = attn(x);
  EXPECT_TRUE(same_bits(attn(x), y));
  MultiHeadAttention undropped({.n_embd = 48, .bias = Bias::no});
  undropped.load_state(attn.state());
  EXPECT_TRUE(same_bits(undropped(x), y));  // in training, with p = 0
  attn.train();
  EXPECT_FALSE(same_bits(attn(x), y));
}

TEST(MultiHeadAttention, EveryPositionSeesEveryOther) {
  MultiHeadAttention attn({.n_embd = 48, .bias = Bias::no});
  const Tensor x = autograd::randn({2, 8, 48});
  const Tensor y = attn(x);
  for (Index moved = 0; moved < 8; ++moved) {
    Tensor x2 = x.clone();
    x2.select_(1, moved) += 1.0;
    const Tensor y2 = attn(x2);
    for (Index t = 0; t < 8; ++t) {
      EXPECT_FALSE(autograd::allclose(y2.select(1, t), y.select(1, t))) << moved << " to " << t;
    }
  }
}

TEST(MultiHeadAttention, HeadsThatDoNotDivideTheWidthThrowAndNameBoth) {
  EXPECT_THAT(
      [] { MultiHeadAttention({.n_embd = 768, .n_head = 5, .bias = Bias::no}); },
      ThrowsMessage<autograd::ValueError>(HasSubstr("n_head 5 does not divide n_embd 768")));
}

// --- parameters, modes, errors

TEST(MultiHeadAttention, NamesAndShapes) {
  const MultiHeadAttention attn({.n_embd = 12, .n_head = 3, .bias = Bias::yes});
  const std::pair<const char*, Shape> expected[] = {
      {"qkv.weight", {36, 12}}, {"qkv.bias", {36}}, {"proj.weight", {12, 12}}, {"proj.bias", {12}}};
  const auto parameters = attn.named_parameters();
  ASSERT_EQ(parameters.size(), std::size(expected));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(parameters[i].name, expected[i].first);
    EXPECT_EQ(parameters[i].tensor.shape(), expected[i].second);
  }
  EXPECT_EQ(attn.parameter_count(), 4 * 12 * 12 + 4 * 12);
  EXPECT_EQ(MultiHeadAttention({.n_embd = 12, .bias = Bias::no}).named_parameters().size(), 2u);
}

TEST(MultiHeadAttention, Prints) {
  EXPECT_EQ(to_string(MultiHeadAttention({.bias = Bias::no})),
            "MultiHeadAttention(n_embd 768, n_head 12, scale sqrt_dk)  2,359,296 parameters\n"
            "  qkv: Linear(768 -> 2304, no bias)  1,769,472\n"
            "  proj: Linear(768 -> 768, no bias)  589,824\n"
            "  attn_dropout: Dropout(p 0)\n"
            "  resid_dropout: Dropout(p 0)");
}

TEST(MultiHeadAttention, WrongShapesAreShownWithThePath) {
  MultiHeadAttention attn({.n_embd = 12, .n_head = 3, .bias = Bias::no});
  EXPECT_THAT(
      [&] {
        attn(autograd::ones({2, 5, 8}));
      },
      ThrowsMessage<ShapeError>(
          AllOf(HasSubstr("(2, 5, 8)"), HasSubstr("[in MultiHeadAttention.qkv]"))));
  for (const Shape& shape : {Shape{5, 12}, Shape{12}, Shape{1, 2, 5, 12}}) {
    const auto matcher =
        ThrowsMessage<ShapeError>(AllOf(HasSubstr("x is (B, T, n_embd)"), HasSubstr(shape.str()),
                                        HasSubstr("[in MultiHeadAttention]")));
    EXPECT_THAT([&] { attn(autograd::ones(shape)); }, matcher);
    const AttentionTrace trace;
    EXPECT_THAT([&] { attn(autograd::ones(shape)); }, matcher);
  }
}

TEST(MultiHeadAttention, BothDropoutsActInTrainingOnStreamsOfTheirOwn) {
  const Tensor x = autograd::ones({1, 6, 6}, DType::f64);
  MultiHeadAttention attn(
      {.n_embd = 6, .n_head = 1, .dropout = 0.5, .bias = Bias::no, .dtype = DType::f64});
  use_identity_projections(attn);
  const AttentionTrace trace;
  const Tensor y = attn(x);
  // All weights are 1/6 and all values 1: before the residual dropout a row is (number of weights
  // kept) / 3 throughout; after it, an element is 0 or twice that.
  bool residual = false, weights = false;
  for (Index t = 0; t < 6; ++t) {
    const double row = y.select(1, t).max().item();
    weights = weights || std::abs(row - 2.0) > 1e-9;
    for (Index c = 0; c < 6; ++c) {
      residual = residual || (row > 0 && y.at({0, t, c}) == 0.0);
      EXPECT_TRUE(y.at({0, t, c}) == 0.0 || std::abs(y.at({0, t, c}) - row) < 1e-12);
    }
  }
  EXPECT_TRUE(weights);
  EXPECT_TRUE(residual);
  EXPECT_TRUE(is_close(trace[0].weights.sum({-1}), autograd::ones({1, 1, 6}, DType::f64), 1e-15));
}

TEST(MultiHeadAttention, SameSeedGivesTheSameModuleInBothTypes) {
  const auto make = [](DType dtype) {
    Generator generator(9);
    return MultiHeadAttention({.n_embd = 24, .bias = Bias::no, .dtype = dtype}, generator).state();
  };
  const State f32 = make(DType::f32), again = make(DType::f32), wide = make(DType::f64);
  for (const auto& [name, value] : f32) {
    EXPECT_TRUE(same_bits(value, again.at(name)));
    EXPECT_TRUE(is_close(value, wide.at(name), 1e-7));
  }
}

// --- values

TEST(MultiHeadAttention, ScalesByTheWidthOfAHead) {
  MultiHeadAttention attn({.n_embd = 4, .n_head = 2, .bias = Bias::no, .dtype = DType::f64});
  use_identity_projections(attn);
  const double a = 0.6697615493266569, b = 1 - a;  // 1 / (1 + exp(-1 / sqrt(2)))
  EXPECT_TRUE(is_close(attn(f64({1, 0, 0, 1, 0, 1, 1, 0}, {1, 2, 4})),
                       f64({a, b, b, a, b, a, a, b}, {1, 2, 4}), 1e-12));
}

TEST(MultiHeadAttention, MergesHeadsSideBySide) {
  // So sharp a softmax that every position sees itself alone: out comes what went in.
  MultiHeadAttention attn({.n_embd = 4,
                           .n_head = 2,
                           .bias = Bias::no,
                           .scale = Scale::number(1000),
                           .dtype = DType::f64});
  use_identity_projections(attn);
  const Tensor x = f64({3, 0, 7, 1, 0, 5, 1, 7}, {1, 2, 4});
  EXPECT_TRUE(same_bits(attn(x), x));
}

TEST(MultiHeadAttention, PermutedPositionsGivePermutedResults) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    MultiHeadAttention attn({.n_embd = 4, .n_head = 2, .bias = Bias::no, .dtype = dtype});
    const Tensor x = f64({1, 0, 2, 1, 0, 1, 1, 0, 1, 1, 0, 3}, {1, 3, 4}).to(dtype);
    const auto permuted = [](const Tensor& t) {
      return autograd::stack({t.select(1, 2), t.select(1, 0), t.select(1, 1)}, 1);
    };
    EXPECT_TRUE(is_close(attn(permuted(x)), permuted(attn(x)), dtype == DType::f32 ? 1e-6 : 1e-14));
  }
}

TEST(MultiHeadAttention, OnePositionGivesItsOwnValue) {
  MultiHeadAttention attn({.n_embd = 4, .n_head = 2, .bias = Bias::yes, .dtype = DType::f64});
  const Tensor x = f64({1, 0, 2, 1}, {1, 1, 4});
  const Tensor w_v = attn.parameter("qkv.weight").narrow(0, 8, 4);
  const Tensor b_v = attn.parameter("qkv.bias").narrow(0, 8, 4);
  const Tensor v = linear(x, w_v, b_v);
  const Tensor y = linear(v, attn.parameter("proj.weight"), attn.parameter("proj.bias"));
  EXPECT_TRUE(is_close(attn(x), y, 1e-15));
}

TEST(MultiHeadAttention, OfNoPositionsOrNoBatchIsEmpty) {
  MultiHeadAttention attn({.n_embd = 4, .n_head = 2, .bias = Bias::no});
  EXPECT_EQ(attn(autograd::ones({2, 0, 4})).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(attn(autograd::ones({0, 3, 4})).shape(), (Shape{0, 3, 4}));
}

// --- against attention_reference.py

const Reference& reference() {
  static const Reference all("attention_reference.csv");
  return all;
}

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : 1e-5; }

Tensor input(const std::string& name, DType dtype) {
  return reference().get("all", name).to(dtype);
}

void load_reference(MultiHeadAttention& attn) {
  State state;
  for (const NamedParameter& p : attn.named_parameters()) {
    state[p.name] = input(p.name, attn.options().dtype);
  }
  attn.load_state(state);
}

struct ReferenceCase {
  const char* name;
  Scale scale;
  Bias bias;
};

TEST(MultiHeadAttentionAgainstNumPy, ValuesAndGradients) {
  const ReferenceCase cases[] = {{"sqrt_dk", Scale::sqrt_dk(), Bias::no},
                                 {"none", Scale::none(), Bias::no},
                                 {"sqrt_dk_bias", Scale::sqrt_dk(), Bias::yes},
                                 {"none_bias", Scale::none(), Bias::yes}};
  for (const ReferenceCase& c : cases) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(fmt::format("{} {}", c.name, name(dtype)));
      MultiHeadAttention attn(
          {.n_embd = 12, .n_head = 3, .bias = c.bias, .scale = c.scale, .dtype = dtype});
      load_reference(attn);
      Tensor x = input("x", dtype);
      x.requires_grad_();
      const Tensor y = attn(x);
      y.backward(input("cotangent", dtype));
      const auto stored = [&c](const std::string& what) { return reference().get(c.name, what); };
      EXPECT_TRUE(is_close(y, stored("y"), tolerance(dtype)));
      EXPECT_TRUE(is_close(x.grad(), stored("grad x"), tolerance(dtype)));
      for (const NamedParameter& p : attn.named_parameters()) {
        EXPECT_TRUE(is_close(p.tensor.grad(), stored("grad " + p.name), tolerance(dtype)))
            << p.name;
      }
    }
  }
}

TEST(MultiHeadAttentionAgainstNumPy, TheMapAndItsGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    MultiHeadAttention attn({.n_embd = 12, .n_head = 3, .bias = Bias::no, .dtype = dtype});
    load_reference(attn);
    const AttentionTrace trace;
    attn(input("x", dtype)).backward(input("cotangent", dtype));
    const std::pair<std::string, Tensor> steps[] = {{"q", trace[0].q},
                                                    {"k", trace[0].k},
                                                    {"v", trace[0].v},
                                                    {"scores", trace[0].scores},
                                                    {"weights", trace[0].weights}};
    for (const auto& [what, step] : steps) {
      const Tensor value = reference().get("sqrt_dk", what);
      const Tensor gradient = reference().get("sqrt_dk", "grad " + what);
      EXPECT_TRUE(is_close(step, value, tolerance(dtype))) << what << " " << name(dtype);
      EXPECT_TRUE(is_close(step.grad(), gradient, tolerance(dtype))) << what << " " << name(dtype);
    }
  }
}

}  // namespace
}  // namespace nn
