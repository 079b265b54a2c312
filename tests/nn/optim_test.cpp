#include "nn/optim.h"

#include <functional>
#include <memory>
#include <optional>

#include "autograd/machine/parallel.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kSteps = 10;

NamedParameter parameter(std::string name, const Tensor& value) {
  Tensor leaf = value.detach();
  leaf.requires_grad_();
  return {std::move(name), leaf};
}

/// A parameter () of value 1, with a gradient.
NamedParameter one(std::string name, std::optional<double> grad) {
  NamedParameter p = parameter(std::move(name), autograd::ones({}, DType::f64));
  if (grad) p.tensor.set_grad(autograd::full({}, *grad, DType::f64));
  return p;
}

// --- ten steps against the reference

struct Case {
  const char* name;
  std::function<std::unique_ptr<Optimizer>(NamedParameter w, NamedParameter b)> make;
};

template <class O, class Config>
std::unique_ptr<Optimizer> make(NamedParameter w, NamedParameter b, const Config& config) {
  return std::make_unique<O>(std::vector<NamedParameter>{std::move(w), std::move(b)}, config);
}

constexpr AdamOptions kAdam = {.lr = 0.05, .betas = {0.9, 0.99}, .eps = 1e-6};
constexpr AdamOptions kAdamL2 = {
    .lr = 0.05, .betas = {0.9, 0.99}, .eps = 1e-6, .weight_decay = 0.3};
constexpr AdamWOptions kAdamW = {
    .lr = 0.05, .betas = {0.9, 0.99}, .eps = 1e-6, .weight_decay = 0.3};

const Case kCases[] = {
    {"sgd",
     [](auto w, auto b) { return make<SGD>(w, b, SGDOptions{.lr = 0.1, .weight_decay = 0.05}); }},
    {"momentum",
     [](auto w, auto b) {
       return make<SGD>(w, b, SGDOptions{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.05});
     }},
    {"nesterov",
     [](auto w, auto b) {
       return make<SGD>(
           w, b,
           SGDOptions{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.05, .nesterov = Nesterov::yes});
     }},
    {"adam", [](auto w, auto b) { return make<Adam>(w, b, kAdam); }},
    {"adam_l2", [](auto w, auto b) { return make<Adam>(w, b, kAdamL2); }},
    {"adamw", [](auto w, auto b) { return make<AdamW>(w, b, kAdamW); }},
    {"groups",
     [](auto w, auto b) {
       return std::make_unique<AdamW>(
           std::vector<ParameterGroup>{
               {.parameters = {w}},
               {.parameters = {b}, .lr_scale = 2.0, .weight_decay = 0.0, .eps = 0.5}},
           kAdamW);
     }},
};

struct Reached {
  std::vector<Tensor> w, b;  // after each step
};

/// Ten steps with the reference's gradients; after step `restart` a new optimizer goes on from the
/// state of the old one.
Reached run(const Case& c, const Reference& reference, DType dtype, int restart = kSteps) {
  NamedParameter w = parameter("w", reference.get("all", "w").to(dtype));
  NamedParameter b = parameter("b", reference.get("all", "b").to(dtype));
  const Tensor grad_w = reference.get("all", "grad w").to(dtype);
  const Tensor grad_b = reference.get("all", "grad b").to(dtype);
  std::unique_ptr<Optimizer> optimizer = c.make(w, b);
  Reached reached;
  for (int t = 0; t < kSteps; ++t) {
    if (t == restart) {
      const State state = optimizer->state();
      optimizer = c.make(w, b);
      optimizer->load_state(state);
    }
    optimizer->zero_grad();
    w.tensor.set_grad(grad_w.select(0, t));
    if (t != 3) b.tensor.set_grad(grad_b.select(0, t));
    optimizer->step();
    reached.w.push_back(w.tensor.clone());
    reached.b.push_back(b.tensor.clone());
  }
  return reached;
}

TEST(Optim, TenStepsAsInTheReference) {
  const Reference reference("optim_reference.csv");
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    for (const auto& [dtype, tolerance] :
         {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 1e-6}}) {
      const Reached reached = run(c, reference, dtype);
      const autograd::NoGrad no_grad;
      EXPECT_TRUE(is_close(stack(reached.w, 0), reference.get(c.name, "w"), tolerance));
      EXPECT_TRUE(is_close(stack(reached.b, 0), reference.get(c.name, "b"), tolerance));
    }
  }
}

TEST(Optim, AStateContinuesToTheBit) {
  const Reference reference("optim_reference.csv");
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Reached whole = run(c, reference, DType::f32), parts = run(c, reference, DType::f32, 5);
    EXPECT_TRUE(same_bits(whole.w.back(), parts.w.back()));
    EXPECT_TRUE(same_bits(whole.b.back(), parts.b.back()));
  }
}

TEST(Optim, TheNumberOfThreadsChangesNoBit) {
  const auto after = [](int threads) {
    autograd::set_num_threads(threads);
    Generator generator(3);
    const Shape shape{100'077};
    NamedParameter p = parameter("p", autograd::randn(shape, DType::f32, generator));
    AdamW optimizer({p}, {.lr = 0.1});
    for (int t = 0; t < 3; ++t) {
      p.tensor.set_grad(autograd::randn(shape, DType::f32, generator));
      optimizer.step();
    }
    return p.tensor;
  };
  const int before = autograd::num_threads();
  const Tensor serial = after(1), parallel = after(4);
  autograd::set_num_threads(before);
  EXPECT_TRUE(same_bits(serial, parallel));
}

// --- one step by hand

TEST(Optim, AdamCountsStepsNotParameters) {
  std::vector<NamedParameter> both = {one("a", 0.5), one("b", 0.5)};
  Adam optimizer(both, {.lr = 0.1, .eps = 1e-8});
  optimizer.step();
  for (const NamedParameter& p : both) EXPECT_NEAR(p.tensor.item(), 0.900000002, 1e-14);
  optimizer.step();
  optimizer.step();
  for (const NamedParameter& p : both) EXPECT_NEAR(p.tensor.item(), 0.700000006, 1e-14);
  EXPECT_EQ(optimizer.steps(), 3);
}

TEST(Optim, DecayIsCoupledInAdamAndDecoupledInAdamW) {
  NamedParameter p = one("p", 0.0), q = one("q", 0.0), r = one("r", 0.0);
  AdamW({p}, {.lr = 0.1, .weight_decay = 0.1}).step();
  Adam({q}, {.lr = 0.1, .weight_decay = 0.1}).step();
  SGD({r}, {.lr = 0.1, .weight_decay = 0.1}).step();
  EXPECT_NEAR(p.tensor.item(), 0.99, 1e-15);
  EXPECT_NEAR(q.tensor.item(), 0.90000001, 1e-14);
  EXPECT_NEAR(r.tensor.item(), 0.99, 1e-15);
}

TEST(Optim, NoGradientNoChange) {
  NamedParameter p = one("p", {});
  SGD({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1}).step();
  Adam({p}, {.lr = 0.1, .weight_decay = 0.1}).step();
  AdamW({p}, {.lr = 0.1, .weight_decay = 0.1}).step();
  EXPECT_EQ(p.tensor.item(), 1.0);
}

TEST(Optim, TheRateOfAStepIsTheLastOneSet) {
  NamedParameter p = one("p", 1.0);
  SGD optimizer({p}, {.lr = 0.5});
  optimizer.set_lr(0.25);
  optimizer.step();
  EXPECT_EQ(p.tensor.item(), 0.75);
  EXPECT_EQ(optimizer.lr(), 0.25);
  optimizer.set_lr(0);
  optimizer.step();
  EXPECT_EQ(p.tensor.item(), 0.75);
  EXPECT_THAT([&] { optimizer.set_lr(-1); }, ThrowsMessage<ValueError>(HasSubstr("-1")));
}

// --- memory

TEST(Optim, AStepLeavesWhatAGraphSaved) {
  NamedParameter w = parameter("w", autograd::full({3}, 2.0, DType::f64));
  Tensor x = autograd::full({3}, 5.0, DType::f64);
  x.requires_grad_();
  const Tensor y = (w.tensor * x).sum();
  w.tensor.set_grad(autograd::ones({3}, DType::f64));
  SGD({w}, {.lr = 1}).step();
  EXPECT_EQ(w.tensor.at({0}), 1.0);
  y.backward();
  EXPECT_TRUE(same_bits(x.grad(), autograd::full({3}, 2.0, DType::f64)));
}

TEST(Optim, UpdatesInPlaceAndKeepsNoGradient) {
  NamedParameter p = parameter("p", autograd::randn({100}));
  AdamW optimizer({p});
  Tensor grad = autograd::ones({100});
  p.tensor.set_grad(grad);
  const void* const memory = p.tensor.data().read<float>().data();
  const void* const of_grad = grad.data().read<float>().data();
  optimizer.step();
  optimizer.zero_grad();
  EXPECT_EQ(p.tensor.data().read<float>().data(), memory);
  EXPECT_FALSE(p.tensor.grad().defined());
  grad.write<float>([&](std::span<float> g) { EXPECT_EQ(g.data(), of_grad); });
}

}  // namespace
}  // namespace nn
