#include "experiments/training/watch.h"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

#include "nn/optim.h"
#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using namespace experiments::training;
using nn::Causal;
using test::f64;
using test::leaf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kInf = std::numeric_limits<double>::infinity();

// --- heads

/// One head whose logits are `values` (T, S) at scale 1: q holds them and k is the identity.
HeadStats one_head(const Tensor& values, Causal causal) {
  const Index T = values.size(0), S = values.size(1);
  const Tensor identity = to(eq(arange(S).reshape({S, 1}), arange(S)), values.dtype());
  return head_stats(values.reshape({1, 1, T, S}), identity.reshape({1, 1, S, S}), 1, causal).at(0);
}

TEST(HeadStats, OfTwoKeysInClosedForm) {
  const double p = 1 / (1 + std::exp(-3.0)), r = 1 - p;
  const HeadStats s = one_head(f64({3, 0, -1, 2}, {2, 2}), Causal::no);  // p or r in both rows
  EXPECT_EQ(s.rows, 2);
  EXPECT_NEAR(s.entropy, -(p * std::log(p) + r * std::log(r)) / std::log(2.0), 1e-12);
  EXPECT_NEAR(s.p_max, p, 1e-12);
  EXPECT_NEAR(s.gain, 2 * p * r, 1e-12);  // whatever u is
  EXPECT_EQ(s.dead_rows, 0);
  EXPECT_EQ(s.max_logit, 3);
  EXPECT_NEAR(s.logit_std, std::sqrt((4 + 1 + 4 + 1) / 4.0), 1e-12);  // about the mean 1
}

TEST(HeadStats, SaturatedRowsKeepTheirDigits) {
  const HeadStats s = one_head(f64({40, 0}, {1, 2}), Causal::no);
  EXPECT_NEAR(s.gain / (2 * std::exp(-40.0)), 1, 1e-9);
  EXPECT_NEAR(s.entropy * std::log(2.0) / (41 * std::exp(-40.0)), 1, 1e-9);
  EXPECT_EQ(s.dead_rows, 1);
  EXPECT_EQ(one_head(f64({9000, 0}, {1, 2}), Causal::no).gain, 0);
}

TEST(HeadStats, SeesOnlyThePast) {
  const Tensor uniform = zeros({4, 4}, DType::f64);
  const HeadStats s = one_head(uniform, Causal::yes);
  EXPECT_EQ(s.rows, 3);  // the first query has no choice
  EXPECT_NEAR(s.entropy, 1, 1e-12);
  EXPECT_NEAR(s.p_max, (1 / 2.0 + 1 / 3.0 + 1 / 4.0) / 3, 1e-12);
  EXPECT_NEAR(s.gain, s.p_max, 1e-12);  // 1 / n of a uniform row
  const HeadStats large = one_head(f64({1, 5000, 6000, 1, 1, 2e4, 1, 1, 1}, {3, 3}), Causal::yes);
  EXPECT_EQ(large.max_logit, 1);
  EXPECT_EQ(large.logit_std, 0);
  EXPECT_NEAR(large.entropy, 1, 1e-12);
}

TEST(HeadStats, LevelsOfLogits) {
  EXPECT_EQ(level_of(1e3), LogitLevel::fine);
  EXPECT_EQ(level_of(1001), LogitLevel::warn);
  EXPECT_EQ(level_of(1e4), LogitLevel::warn);
  EXPECT_EQ(level_of(10001), LogitLevel::alarm);
  EXPECT_EQ(one_head(f64({-2000, 0}, {1, 2}), Causal::no).level, LogitLevel::warn);
  const HeadStats broken = one_head(f64({std::nan(""), 0}, {1, 2}), Causal::no);
  EXPECT_EQ(broken.level, LogitLevel::alarm);
  EXPECT_EQ(broken.max_logit, kInf);
  EXPECT_TRUE(std::isnan(broken.entropy) && std::isnan(broken.gain));
}

// Figures of an independent simulation for T = 16, d = 64: rows of iid normal q and k.
TEST(HeadStats, OfNormalQueriesAndKeys) {
  Generator generator(7);
  const Tensor q = randn({400, 2, 16, 64}, DType::f32, generator);
  const Tensor k = randn({400, 2, 16, 64}, DType::f32, generator);
  for (const HeadStats& s : head_stats(q, k, 1, Causal::no)) {
    EXPECT_EQ(s.rows, 6400);
    EXPECT_NEAR(s.logit_std, 8, 0.1);
    EXPECT_NEAR(s.entropy, .150, .008);
    EXPECT_NEAR(s.dead_rows, .13, .02);
    EXPECT_NEAR(s.gain, .038, .002);
  }
  for (const HeadStats& s : head_stats(q, k, 1.0 / 8, Causal::no)) {
    EXPECT_NEAR(s.logit_std, 1, 0.02);
    EXPECT_NEAR(s.entropy, .850, .005);
    EXPECT_EQ(s.dead_rows, 0);
    EXPECT_NEAR(s.gain, .075, .002);
  }
}

TEST(HeadStats, RefusesShapesThatDoNotFit) {
  const Tensor q = zeros({1, 2, 3, 4});
  const std::string text = test::message_of<ShapeError>([&] {
    (void)head_stats(q, zeros({1, 2, 3, 5}), 1, Causal::no);
  });
  EXPECT_THAT(text, HasSubstr("(1, 2, 3, 5)"));
}

// --- a GPT under watch

nn::GPTOptions tiny() {
  return {
      .block_size = 6, .vocab_size = 11, .n_layer = 2, .n_head = 2, .n_embd = 8, .dropout = 0.3};
}

Tensor some_tokens() { return to(f64({1, 2, 3, 4, 5, 6, 10, 9, 8, 7, 6, 5}, {2, 6}), DType::i64); }

Tensor loss_of(nn::GPT& model) { return cross_entropy(model(some_tokens()), some_tokens()); }

TEST(WatchLayers, LeavesTrainingAsItIs) {
  const auto trained = [](int watch_every) {
    Generator generator(3);
    nn::GPT model(tiny(), generator);
    nn::AdamW optimizer(model.named_parameters(), {.lr = 1e-2});
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      loss_of(model).backward();
      if (watch_every && step % watch_every == 0) (void)watch_layers(model, some_tokens());
      optimizer.step();
    }
    return model.state();
  };
  const Generator::State before = default_generator().state();
  const nn::State plain = trained(0), watched = trained(1);
  for (const auto& [name, value] : plain) {
    EXPECT_TRUE(bit_equal(value.data(), watched.at(name).data())) << name;
  }
  EXPECT_EQ(default_generator().state(), before);
}

TEST(WatchLayers, EvaluatesAndGivesEveryModuleItsModeBack) {
  Generator generator(3);
  nn::GPT model(tiny(), generator);
  model.blocks()[1].eval();
  const std::int64_t nodes = live_nodes();
  const auto first = rows_of(watch_layers(model, some_tokens()));
  const auto second = rows_of(watch_layers(model, some_tokens()));
  EXPECT_EQ(live_nodes(), nodes);
  ASSERT_EQ(first.size(), 4u);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].values, second[i].values);
  EXPECT_EQ(first[3].name, "h.1.attn.1");
  EXPECT_EQ(first[3].level, "fine");
  EXPECT_EQ(first[3].values[0], std::make_pair(std::string("rows"), 10.0));  // 2 * (6 - 1)
  EXPECT_TRUE(model.training() && model.blocks()[0].mlp().training());
  EXPECT_FALSE(model.blocks()[1].training() || model.blocks()[1].mlp().training());
}

TEST(WatchLayers, AgreesWithTheTrace) {
  nn::GPTOptions config = tiny();
  config.dropout = 0;
  config.scale = nn::Scale::number(30);
  config.dtype = DType::f64;
  Generator generator(5);
  nn::GPT model(config, generator);
  const nn::AttentionTrace trace;
  (void)model(some_tokens());
  const std::vector<LayerStats> layers = watch_layers(model, some_tokens());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (Index h = 0; h < 2; ++h) {
      const Tensor p = trace.calls()[i].weights.select(1, h).narrow(1, 1, 5);  // rows with a choice
      const double mean_p_max = p.max({-1}).mean().item();
      EXPECT_NEAR(layers[i][static_cast<std::size_t>(h)].p_max, mean_p_max, 1e-12);
    }
  }
}

// --- parameters

TEST(ParameterWatch, MeasuresAStep) {
  Tensor w = leaf({3, 4}), zero = leaf({0, 0}), still = leaf({0}), idle = leaf({1, 2, 2}),
         broken = leaf({0});
  broken.set_grad(f64({std::nan("")}));
  w.set_grad(f64({0, 2}));
  zero.set_grad(f64({1, 0}));
  still.set_grad(f64({0}));
  const std::vector<nn::NamedParameter> all{
      {"w", w}, {"zero", zero}, {"still", still}, {"idle", idle}, {"broken", broken}};
  nn::SGD optimizer(all, {.lr = 0.1});
  ParameterWatch watch(all);
  watch.before();
  optimizer.step();
  const std::vector<ParameterStats> stats = watch.after();
  ASSERT_EQ(stats.size(), 5u);
  EXPECT_EQ(stats[0].name, "w");
  EXPECT_EQ(stats[0].grad_norm, 2);
  EXPECT_EQ(stats[0].norm, 5);
  EXPECT_NEAR(stats[0].update_ratio, 0.04, 1e-12);
  EXPECT_EQ(stats[1].update_ratio, 1);  // from zero to somewhere
  EXPECT_EQ(stats[2].update_ratio, 0);
  EXPECT_EQ(stats[3].norm, 3);
  EXPECT_FALSE(stats[3].grad_norm);
  EXPECT_TRUE(std::isnan(stats[4].update_ratio));
  EXPECT_TRUE(std::isnan(rows_of(stats)[3].values[0].second));
  EXPECT_EQ(rows_of(stats)[0].values[2].first, "update_ratio");
  EXPECT_THROW((void)watch.after(), std::logic_error);
}

// --- diagnoses

/// out(relu(fc(x))), where fc may be cut off.
class Net : public nn::Module {
 public:
  enum class Fault { none, detach, dead, log };
  explicit Net(Fault fault)
      : Module("Net"),
        fault_(fault),
        generator_(1),
        fc_(register_module<nn::Linear>("fc", 2, 3, nn::LinearOptions{}, generator_)),
        drop_(register_module<nn::Dropout>("drop", 0.5, generator_)),
        out_(register_module<nn::Linear>("out", 3, 1, nn::LinearOptions{}, generator_)) {}

 private:
  Tensor forward(const Tensor& x) override {
    Tensor h = fc_(x);
    if (fault_ == Fault::detach) h = h.detach();
    if (fault_ == Fault::dead) h = relu(h - 1000.0);
    if (fault_ == Fault::log) h = log(h * 0.0);
    return out_(drop_(h));
  }

  Fault fault_;
  Generator generator_;
  nn::Linear& fc_;
  nn::Dropout& drop_;
  nn::Linear& out_;
};

Tensor net_loss(Net& net) { return sum(net(tensor({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}))); }

std::vector<std::string> diagnosis_of(Net::Fault fault) {
  Net net(fault);
  return diagnose(net, [&net] { return net_loss(net); });
}

TEST(Diagnose, NamesParameterAndCut) {
  EXPECT_THAT(diagnosis_of(Net::Fault::none), ElementsAre());
  EXPECT_THAT(diagnosis_of(Net::Fault::detach),
              ElementsAre("fc.weight: no gradient; cut at detach of (4, 3) in Net",
                          "fc.bias: no gradient; cut at detach of (4, 3) in Net"));
  EXPECT_THAT(diagnosis_of(Net::Fault::dead),
              ElementsAre("fc.weight: gradient all zero; lost in relu of (4, 3) in Net",
                          "fc.bias: gradient all zero; lost in relu of (4, 3) in Net",
                          "out.weight: gradient all zero; lost in linear of (1, 3) in Net.out"));
}

TEST(Diagnose, ExplainsALossWithoutHistory) {
  Net net(Net::Fault::none);
  const auto lines = diagnose(net, [&net] {
    const NoGrad no_grad;
    return net_loss(net);
  });
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0],
            "fc.weight: no gradient; cut at linear of (3, 2) in Net.fc, which ran under "
            "NoGrad");
}

TEST(Diagnose, LeavesGradientsAndRandomStateAsTheyAre) {
  Generator generator(3);
  nn::GPT model(tiny(), generator);
  loss_of(model).backward();
  const Tensor weight = model.parameter("wte.weight");
  const Array grad = weight.grad().data();
  const auto drawn = [&model] {
    std::vector<std::uint64_t> streams{default_generator().state().next_stream};
    for (const nn::NamedModule& m : model.named_modules()) {
      if (auto* dropout = dynamic_cast<nn::Dropout*>(m.module)) {
        streams.push_back(dropout->generator().state().next_stream);
      }
    }
    return streams;
  };
  const auto before = drawn();
  EXPECT_THAT(diagnose(model, [&model] { return loss_of(model) + sum(randn({1})); }),
              ElementsAre());
  EXPECT_TRUE(bit_equal(weight.grad().data(), grad));
  EXPECT_EQ(drawn(), before);
}

TEST(ExplainNonfinite, NamesTheFirstOp) {
  Net net(Net::Fault::log);
  const std::string text = explain_nonfinite(net, [&net] { net_loss(net).backward(); });
  EXPECT_THAT(text, StartsWith("log: forward made an infinity from operand 0 (4, 3) in [")) << text;
  EXPECT_THAT(text, HasSubstr("[in Net]"));
  EXPECT_EQ(Observer::innermost(), nullptr);
}

TEST(ExplainNonfinite, NamesABrokenParameter) {
  Net net(Net::Fault::none);
  net.parameter("out.bias").set_data(Array::full({1}, kInf, DType::f32));
  EXPECT_THAT(explain_nonfinite(net, [&net] { net_loss(net).backward(); }),
              StartsWith("out.bias: the parameter itself is not finite: (1,) in [inf, inf]"));
}

TEST(ExplainNonfinite, SaysWhenItFindsNothing) {
  Net net(Net::Fault::none);
  EXPECT_THAT(explain_nonfinite(net, [&net] { net_loss(net).backward(); }),
              HasSubstr("could not be repeated"));
}

// --- lines

TEST(WatchLines, DrawALayerALine) {
  HeadStats sharp, flat;
  sharp.entropy = 0.01, sharp.gain = 0.001, sharp.max_logit = 1500;
  flat.entropy = 1, flat.gain = 1, flat.max_logit = 0.1;
  EXPECT_THAT(watch_lines({{flat, sharp}, {flat, flat}}, experiments::report::Glyphs::ascii),
              ElementsAre("h.0  entropy #_  gain #_  |logit| _* at most 1.5e+03  warn",
                          "h.1  entropy ##  gain ##  |logit| __ at most 0.1"));
}

}  // namespace
