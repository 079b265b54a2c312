#include "nn/module.h"

#include <sstream>
#include <type_traits>

#include "autograd/scope.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::DTypeError;
using autograd::GraphError;
using autograd::Scope;
using autograd::ShapeError;
using autograd::ValueError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

static_assert(!std::is_copy_constructible_v<Linear> && !std::is_move_constructible_v<Linear>);
static_assert(!std::is_copy_assignable_v<Linear> && !std::is_move_assignable_v<Linear>);

// y = scale * (W x), and a note of the scope that its forward saw.
class Block : public Module {
 public:
  Block() : Module("Block") {}
  std::string seen;

 private:
  Tensor forward(const Tensor& x) override {
    const Tensor y = fc_(x);
    seen = Scope::path();
    return y * scale_;
  }

  Linear& fc_ = register_module<Linear>("fc", 3, 3, LinearOptions{.bias = Bias::no});
  Tensor scale_ = register_parameter("scale", autograd::ones({3}));
};

// Tied weights, a container that is not called, and a forward of two tensors.
class Model : public Module {
 public:
  Model() : Module("Model") {
    blocks_.append();
    blocks_.append();
    tied_ = register_parameter("tied", table_);
  }
  Tensor operator()(const Tensor& x, const Tensor& y) {
    const ModuleScope scope(*this);
    return forward(x, y);
  }
  ModuleList<Block>& blocks() { return blocks_; }

 private:
  using Module::forward;
  Tensor forward(const Tensor& x, const Tensor& y) {
    Tensor z = x * table_ + y * tied_;
    for (Block& block : blocks_) z = block(z);
    return z;
  }

  Tensor table_ = register_parameter("table", autograd::ones({3}));
  Tensor tied_;
  ModuleList<Block>& blocks_ = register_module<ModuleList<Block>>("h");
};

class Registering : public Module {
 public:
  Registering() : Module("Registering") {}
  Tensor add(const std::string& name) { return register_parameter(name, autograd::ones({2})); }
  Tensor add(const std::string& name, const Tensor& t) { return register_parameter(name, t); }
  void add_child(const std::string& name) { register_module<Linear>(name, 1, 1); }
  void add_bad_child(const std::string& name) { register_module<Linear>(name, 0, 1); }
};

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedParameter& p : module.named_parameters()) names.push_back(p.name);
  return names;
}

TEST(Module, NamedParametersInOrderOfRegistrationEachTensorOnce) {
  const Model model;
  EXPECT_THAT(names_of(model),
              ElementsAre("table", "h.0.scale", "h.0.fc.weight", "h.1.scale", "h.1.fc.weight"));
  EXPECT_EQ(model.parameter_count(), 3 + 2 * (3 + 9));
  EXPECT_EQ(model.parameters().size(), 5u);
  for (const Tensor& p : model.parameters()) EXPECT_TRUE(p.requires_grad() && p.is_leaf());
}

TEST(Module, AParameterIsTheTensorItself) {
  Linear linear(2, 1, {.bias = Bias::no});
  linear.parameter("weight").set_data(autograd::tensor({3, 4}, {1, 2}).data());
  EXPECT_EQ(linear(autograd::tensor({10, 1}, {1, 2})).item(), 34.0);
  EXPECT_THAT([&] { linear.parameter("wieght"); },
              ThrowsMessage<ValueError>(AllOf(HasSubstr("Linear"), HasSubstr("'wieght'"))));
}

TEST(Module, RefusesNamesThatAreTakenEmptyOrDotted) {
  Registering module;
  module.add("a");
  module.add_child("b");
  for (const char* name : {"a", "b", "", "c.d"}) {
    EXPECT_THROW(module.add(name), ValueError) << name;
    EXPECT_THROW(module.add_child(name), ValueError) << name;
  }
  EXPECT_THAT([&] { module.add("b"); },
              ThrowsMessage<ValueError>(AllOf(HasSubstr("Registering"), HasSubstr("'b'"))));
  EXPECT_THAT(names_of(module), ElementsAre("a", "b.weight", "b.bias"));
}

TEST(Module, AFailingConstructorSaysWhereAndRegistersNothing) {
  Registering module;
  EXPECT_THAT([&] { module.add_bad_child("fc"); }, ThrowsMessage<ValueError>(HasSubstr("[in fc]")));
  EXPECT_THAT(module.named_modules(), testing::SizeIs(1));
  module.add_child("fc");
}

TEST(Module, ParametersAreLeavesOfFloats) {
  Registering module;
  const Tensor a = module.add("a");
  EXPECT_THAT([&] { module.add("twice", a * 2.0); },
              ThrowsMessage<GraphError>(AllOf(HasSubstr("'twice'"), HasSubstr("leaf"))));
  EXPECT_THROW(module.add("labels", autograd::arange(3)), DTypeError);
  EXPECT_THAT(names_of(module), ElementsAre("a"));
}

TEST(Module, TrainAndEvalSetAFlagInTheWholeTreeAndNothingElse) {
  Model model;
  const auto flags = [&model] {
    std::vector<bool> all;
    for (const NamedModule& m : model.named_modules()) all.push_back(m.module->training());
    return all;
  };
  EXPECT_THAT(flags(), testing::Each(true));
  model.eval();
  EXPECT_THAT(flags(), testing::Each(false));
  for (const Tensor& p : model.parameters()) EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(model(autograd::ones({3}), autograd::ones({3})).requires_grad());
  EXPECT_FALSE(model.blocks().append().training());  // what comes later joins in
  model.train();
  EXPECT_THAT(flags(), testing::Each(true));
}

TEST(Module, NamedModulesAreTheTreeDownwards) {
  Model model;
  std::vector<std::string> names;
  for (const NamedModule& m : model.named_modules()) names.push_back(m.name);
  EXPECT_THAT(names, ElementsAre("", "h", "h.0", "h.0.fc", "h.1", "h.1.fc"));
  EXPECT_EQ(model.named_modules()[0].module, &model);
  EXPECT_EQ(model.blocks()[1].path(), "Model.h.1");
}

TEST(Module, ZeroGradDropsEveryGradient) {
  Model model;
  model(autograd::ones({3}), autograd::ones({3})).sum().backward();
  for (const Tensor& p : model.parameters()) EXPECT_TRUE(p.grad().defined());
  model.zero_grad();
  for (const Tensor& p : model.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(Module, TheScopeOfAForwardIsItsPathInTheTree) {
  Model model;
  Block& block = model.blocks()[1];
  model(autograd::ones({3}), autograd::ones({3}));
  EXPECT_EQ(block.seen, "Model.h.1");
  block(autograd::ones({3}));  // called from outside, it is still that part of the tree
  EXPECT_EQ(block.seen, "Model.h.1");
  {
    const Scope outer("step");
    block(autograd::ones({3}));
    EXPECT_EQ(block.seen, "step.Model.h.1");
  }
  EXPECT_EQ(Scope::path(), "");
  EXPECT_THAT(
      [&] {
        model(autograd::ones({2, 4}), autograd::ones({2, 4}));
      },
      ThrowsMessage<ShapeError>(HasSubstr("[in Model]")));
  EXPECT_THAT(
      [&] {
        block(autograd::ones({2, 4}));
      },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("(2, 4)"), HasSubstr("[in Model.h.1.fc]"))));
  EXPECT_EQ(Scope::path(), "");  // after an exception too
  Block alone;
  alone(autograd::ones({3}));
  EXPECT_EQ(alone.seen, "Block");
}

TEST(Module, WithoutAForwardOfOneTensorItSaysSo) {
  Model model;
  Module& module = model;
  EXPECT_THAT([&] { module(autograd::ones({3})); },
              ThrowsMessage<GraphError>(HasSubstr("Model: has no forward")));
}

TEST(Module, PrintsItsTreeWithSizes) {
  Sequential big;
  big.append<Linear>(1000, 1234, LinearOptions{.bias = Bias::no});
  big.append<Linear>(1, 7);
  EXPECT_EQ(to_string(big),
            "Sequential()  1,234,014 parameters\n"
            "  0: Linear(1000 -> 1234, no bias)  1,234,000\n"
            "  1: Linear(1 -> 7)  14");
  std::ostringstream out;
  out << Model();
  EXPECT_EQ(out.str(),
            "Model()  27 parameters\n"
            "  table: (3,)  3\n"
            "  tied: (3,)  3\n"
            "  h: ModuleList()  24\n"
            "    0: Block()  12\n"
            "      scale: (3,)  3\n"
            "      fc: Linear(3 -> 3, no bias)  9\n"
            "    1: Block()  12\n"
            "      scale: (3,)  3\n"
            "      fc: Linear(3 -> 3, no bias)  9");
}

// --- state

TEST(ModuleState, IsWhatTheParametersAreNow) {
  Model model;
  const State before = model.state();
  EXPECT_EQ(before.size(), 5u);
  EXPECT_FALSE(before.at("table").requires_grad());
  Tensor table = model.parameter("table");
  table.write<float>([](std::span<float> values) { values[0] = 7; });
  EXPECT_EQ(before.at("table").at({0}), 1.0);
  EXPECT_EQ(model.state().at("table").at({0}), 7.0);
  model.load_state(before);
  EXPECT_EQ(model.parameter("table").at({0}), 1.0);
  table.write<float>([](std::span<float> values) { values[0] = 8; });
  EXPECT_EQ(before.at("table").at({0}), 1.0);
}

TEST(ModuleState, MovesBetweenModules) {
  Linear a(4, 3), b(4, 3);
  const Tensor x = autograd::randn({2, 4});
  EXPECT_FALSE(same_bits(a(x), b(x)));
  b.load_state(a.state());
  EXPECT_TRUE(same_bits(a(x), b(x)));
  for (const Tensor& p : b.parameters()) EXPECT_TRUE(p.requires_grad());
}

TEST(ModuleState, NamesWhatIsMissingAndUnexpectedAndChangesNothing) {
  Linear linear(2, 2);
  const State before = linear.state();
  State other = {{"weight", autograd::zeros({2, 2})}, {"scale", autograd::zeros({2})}};
  EXPECT_THAT([&] { linear.load_state(other); },
              ThrowsMessage<ValueError>(
                  AllOf(HasSubstr("missing 'bias'"), HasSubstr("unexpected 'scale'"))));
  for (const auto& [name, value] : before) EXPECT_TRUE(same_bits(linear.parameter(name), value));
  other.clear();
  for (int i = 0; i < 9; ++i) other.emplace(fmt::format("k{}", i), autograd::zeros({1}));
  EXPECT_THAT([&] { linear.load_state(other); },
              ThrowsMessage<ValueError>(AllOf(HasSubstr("'k4' and 4 more"), Not(HasSubstr("k5")))));
}

TEST(ModuleState, RefusesOtherShapesAndTypesAndChangesNothing) {
  Linear linear(2, 3);
  const State before = linear.state();
  // bias is the second: weight must not have been written by then
  State other = {{"bias", autograd::zeros({4})}, {"weight", autograd::zeros({3, 2})}};
  EXPECT_THAT(
      [&] { linear.load_state(other); },
      ThrowsMessage<ShapeError>(AllOf(HasSubstr("'bias'"), HasSubstr("(3,)"), HasSubstr("(4,)"))));
  other["bias"] = autograd::zeros({3}, DType::f64);
  EXPECT_THAT(
      [&] { linear.load_state(other); },
      ThrowsMessage<DTypeError>(AllOf(HasSubstr("'bias'"), HasSubstr("f32"), HasSubstr("f64"))));
  other["bias"] = Tensor();
  EXPECT_THROW(linear.load_state(other), ValueError);
  for (const auto& [name, value] : before) EXPECT_TRUE(same_bits(linear.parameter(name), value));
}

}  // namespace
}  // namespace nn
