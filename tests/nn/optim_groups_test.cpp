#include <cmath>
#include <limits>

#include "nn/clip.h"
#include "nn/linear.h"
#include "nn/optim.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ShapeError;
using autograd::ValueError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A parameter () of value 1, with a gradient.
NamedParameter one(std::string name, std::optional<double> grad) {
  Tensor value = autograd::ones({}, DType::f64);
  value.requires_grad_();
  if (grad) value.set_grad(autograd::full({}, *grad, DType::f64));
  return {std::move(name), value};
}

// --- state

TEST(Optim, StateNamesAverageAndParameter) {
  NamedParameter p = one("h.0.weight", 0.5);
  AdamW optimizer({p}, {.lr = 0.1});
  const State before = optimizer.state();
  optimizer.step();
  const State state = optimizer.state();
  std::vector<std::string> keys;
  for (const auto& entry : state) keys.push_back(entry.first);
  EXPECT_THAT(keys, ElementsAre("exp_avg.h.0.weight", "exp_avg_sq.h.0.weight", "step"));
  EXPECT_NEAR(state.at("exp_avg.h.0.weight").item(), 0.05, 1e-15);
  EXPECT_NEAR(state.at("exp_avg_sq.h.0.weight").item(), 0.00025, 1e-15);
  EXPECT_EQ(state.at("step").dtype(), DType::i64);
  EXPECT_EQ(state.at("step").item(), 1);
  EXPECT_EQ(before.at("exp_avg.h.0.weight").item(), 0);
  EXPECT_EQ(before.at("step").item(), 0);
  EXPECT_EQ(SGD({p}).state().size(), 1u);
  EXPECT_EQ(SGD({p}, {.momentum = 0.5}).state().count("momentum_buffer.h.0.weight"), 1u);
}

TEST(Optim, AStateThatDoesNotFitChangesNothing) {
  NamedParameter p = one("p", 0.5);
  Adam optimizer({p}, {.lr = 0.1});
  optimizer.step();
  const State good = optimizer.state();
  const auto refused = [&](auto change, const auto& matcher) {
    State state = good;
    change(state);
    EXPECT_THAT([&] { optimizer.load_state(state); }, matcher);
    EXPECT_EQ(optimizer.steps(), 1);
    EXPECT_EQ(optimizer.state().at("exp_avg.p").item(), good.at("exp_avg.p").item());
  };
  refused([](State& s) { s.erase("exp_avg_sq.p"); },
          ThrowsMessage<ValueError>(HasSubstr("missing 'exp_avg_sq.p'")));
  refused([](State& s) { s["exp_avg.q"] = s["exp_avg.p"]; },
          ThrowsMessage<ValueError>(HasSubstr("unexpected 'exp_avg.q'")));
  refused([](State& s) { s["exp_avg.p"] = autograd::zeros({2}, DType::f64); },
          ThrowsMessage<ShapeError>(AllOf(HasSubstr("'exp_avg.p'"), HasSubstr("(2,)"))));
  refused([](State& s) { s["exp_avg.p"] = autograd::zeros({}, DType::f32); },
          ThrowsMessage<autograd::DTypeError>(HasSubstr("expected f64, got f32")));
  refused([](State& s) { s["step"] = autograd::full({}, -2, DType::i64); },
          ThrowsMessage<ValueError>(HasSubstr("-2")));
  refused([](State& s) { s["step"] = Tensor(); },
          ThrowsMessage<ValueError>(HasSubstr("'step' is undefined")));
}

// --- groups

/// An embedding and a head that share their weight, a layer with a bias, and a gain.
class Tied : public Module {
 public:
  Tied() : Module("Tied") {
    const Tensor weight = autograd::ones({4, 3}, DType::f64);
    register_module<Holder>("wte", weight);
    register_module<Linear>("fc", 3, 3, LinearOptions{.dtype = DType::f64});
    register_module<Holder>("norm", autograd::ones({3}, DType::f64));
    register_module<Holder>("lm_head", weight);
  }

 private:
  class Holder : public Module {
   public:
    explicit Holder(const Tensor& weight) : Module("Holder") {
      register_parameter("weight", weight);
    }
  };
};

std::vector<std::string> names_of(const ParameterGroup& group) {
  std::vector<std::string> names;
  for (const NamedParameter& p : group.parameters) names.push_back(p.name);
  return names;
}

TEST(Optim, DecayGroups) {
  const Tied module;
  const std::vector<ParameterGroup> groups = decay_groups(module, 0.1);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(names_of(groups[0]), ElementsAre("wte.weight", "fc.weight"));
  EXPECT_THAT(names_of(groups[1]), ElementsAre("fc.bias", "norm.weight"));
  EXPECT_EQ(groups[0].weight_decay, 0.1);
  EXPECT_EQ(groups[1].weight_decay, 0.0);
}

TEST(Optim, ATiedWeightMovesAndDecaysOnce) {
  for (const double g : {0.0, 1.0}) {
    const Tied module;
    Tensor weight = module.parameter("wte.weight");
    weight.set_grad(autograd::full({4, 3}, g, DType::f64));
    if (g == 0) AdamW(decay_groups(module, 0.1), {.lr = 0.1}).step();
    else SGD(module.named_parameters(), {.lr = 0.1}).step();
    EXPECT_TRUE(is_close(weight, autograd::full({4, 3}, g == 0 ? 0.99 : 0.9, DType::f64), 1e-15));
  }
}

// --- accumulation

/// The gradients of mean((x w^T + b - t)^2) over 8 rows, in `parts` parts that are averaged, and
/// what clipping leaves of them.
std::vector<Tensor> accumulated(Index parts, DType dtype) {
  Generator generator(11);
  Linear layer(5, 3, {.dtype = dtype}, generator);
  const Tensor x = autograd::randn({8, 5}, dtype, generator);
  const Tensor target = autograd::randn({8, 3}, dtype, generator);
  const Index rows = 8 / parts;
  for (Index i = 0; i < parts; ++i) {
    const Tensor error = layer(x.narrow(0, i * rows, rows)) - target.narrow(0, i * rows, rows);
    ((error * error).mean() / static_cast<double>(parts)).backward();
  }
  const Tensor weight = layer.weight().grad(), bias = layer.bias().grad();
  EXPECT_GT(clip_grad_norm(layer.parameters(), 0.1), 0.1);
  return {weight, bias, layer.weight().grad(), layer.bias().grad()};
}

TEST(Optim, AccumulatedGradientsAreThoseOfTheWholeBatch) {
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 1e-5}}) {
    const std::vector<Tensor> whole = accumulated(1, dtype), parts = accumulated(4, dtype);
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(is_close(parts[i], whole[i], tolerance));
  }
}

// --- what is refused

TEST(Optim, ParametersThatAreRefused) {
  const NamedParameter p = one("p", {}), q = one("q", {});
  EXPECT_THAT([] { SGD(std::vector<NamedParameter>{}); },
              ThrowsMessage<ValueError>("SGD: expected at least one parameter, got none"));
  EXPECT_THAT(
      [&] {
        Adam({p, q, NamedParameter{"r", p.tensor}});
      },
      ThrowsMessage<ValueError>("Adam: 'r' and 'p' are the same parameter"));
  EXPECT_THAT(
      [&] {
        AdamW({p, NamedParameter{"p", q.tensor}});
      },
      ThrowsMessage<ValueError>("AdamW: two parameters have the name 'p'"));
  EXPECT_THAT(
      [] {
        SGD({NamedParameter{"ids", autograd::arange(3)}});
      },
      ThrowsMessage<autograd::DTypeError>("SGD: 'ids': expected f32 or f64, got i64"));
  EXPECT_THAT(
      [&] {
        SGD({NamedParameter{"sum", p.tensor + q.tensor}});
      },
      ThrowsMessage<autograd::GraphError>(AllOf(HasSubstr("'sum'"), HasSubstr("add"))));
  EXPECT_THAT(
      [] {
        SGD({NamedParameter{"none", Tensor()}});
      },
      ThrowsMessage<ValueError>("SGD: 'none' is undefined"));
}

TEST(Optim, SettingsOutOfRangeAreShown) {
  const std::vector<NamedParameter> p = {one("p", {})};
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto refused = [](auto make, const char* text) {
    EXPECT_THAT(make, ThrowsMessage<ValueError>(HasSubstr(text)));
  };
  refused([&] { SGD(p, {.lr = -0.5}); },
          "SGD: lr: expected a finite number of at least 0, got -0.5");
  refused([&] { SGD(p, {.momentum = 1}); }, "SGD: momentum: expected a number in [0, 1), got 1");
  refused([&] { SGD(p, {.momentum = nan}); }, "got nan");
  refused([&] { SGD(p, {.weight_decay = -0.1}); }, "weight_decay");
  refused([&] { SGD(p, {.nesterov = Nesterov::yes}); }, "nesterov");
  refused([&] { Adam(p, {.lr = inf}); }, "Adam: lr");
  refused([&] { Adam(p, {.betas = {1.0, 0.9}}); }, "Adam: betas[0]: expected a number in [0, 1)");
  refused(
      [&] {
        Adam(p, {.betas = {0.9, -0.1}});
      },
      "betas[1]: expected a number in [0, 1), got -0.1");
  refused([&] { Adam(p, {.eps = -1e-8}); }, "Adam: eps");
  refused([&] { Adam(p, {.eps = 0}); }, "Adam: eps: expected a number above 0 in f");
  const std::vector<NamedParameter> f32 = {{"w", autograd::ones({1})}};
  refused([&] { Adam(f32, {.eps = 1e-46}); }, "above 0 in f32 for 'w', got 1e-46");
  refused([&] { AdamW(p, {.weight_decay = nan}); }, "AdamW: weight_decay");
  const auto group = [&](ParameterGroup g) {
    g.parameters = p;
    return std::vector<ParameterGroup>{g};
  };
  refused([&] { AdamW(group({.lr_scale = -1})); }, "AdamW: lr_scale of a group");
  refused([&] { AdamW(group({.weight_decay = inf})); }, "AdamW: weight_decay of a group");
  refused([&] { AdamW(group({.eps = nan})); }, "AdamW: eps of a group");
  refused([&] { AdamW(group({.eps = 0})); }, "AdamW: eps: expected a number above 0 in f");
}

}  // namespace
}  // namespace nn
