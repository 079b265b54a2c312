#include "nn/io/save.h"

#include "nn/dropout.h"
#include "nn/io/errors.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tests/nn/check.h"
#include "tests/support/process.h"
#include "tests/support/tensors.h"

namespace nn {
namespace {

using test::Folder;
using test::message_of;
using testing::AllOf;
using testing::HasSubstr;

/// A small model with everything that a run has to remember, and its training.
struct TrainingRun {
  explicit TrainingRun(std::uint64_t seed, Index hidden = 5)
      : generator(seed), optimizer(build(hidden).named_parameters(), {.lr = 0.1}) {}

  Module& build(Index hidden) {
    model.append<Linear>(Index{3}, hidden, LinearOptions{}, generator);
    model.append<Dropout>(0.5, generator);
    model.append<Linear>(hidden, Index{1}, LinearOptions{}, generator);
    return model;
  }
  void train_until(Index steps) {
    for (Index i = optimizer.steps(); i < steps; ++i) {
      Generator data(static_cast<std::uint64_t>(i));
      model.zero_grad();
      const Tensor y = model(autograd::randn({4, 3}, DType::f32, data));
      mean(y * y).backward();
      optimizer.step();
    }
  }

  Generator generator;
  Sequential model;
  AdamW optimizer;
};

void expect_same(const TrainingState& got, const TrainingState& want) {
  EXPECT_EQ(got.generators, want.generators);
  for (const State TrainingState::*part : {&TrainingState::model, &TrainingState::optimizer}) {
    ASSERT_EQ((got.*part).size(), (want.*part).size());
    for (const auto& [name, value] : want.*part) {
      EXPECT_TRUE(same_bits((got.*part).at(name), value)) << name;
    }
  }
}

TrainingState state_of(const TrainingRun& run) { return training_state(run.model, run.optimizer); }

TEST(Save, WeightsComeBack) {
  const Folder folder;
  TrainingRun a(1), b(2);
  save(folder / "x", a.model.state());
  b.model.load_state(load(folder / "x"));
  a.model.eval();
  b.model.eval();
  const Tensor x = autograd::randn({2, 3});
  EXPECT_TRUE(same_bits(b.model(x), a.model(x)));
  EXPECT_THAT(folder.names(), testing::ElementsAre("x"));
}

TEST(Save, TrainingGoesOnBitForBit) {
  const Folder folder;
  TrainingRun whole(1), first(1), second(2);
  whole.train_until(6);
  first.train_until(3);
  save_training(folder / "x", first.model, first.optimizer);
  load_training(folder / "x", second.model, second.optimizer);
  EXPECT_EQ(second.optimizer.steps(), 3);
  second.train_until(6);
  expect_same(state_of(second), state_of(whole));
}

TEST(Save, WhatDoesNotFitChangesNothing) {
  const Folder folder;
  TrainingRun run(1), wider(1, 6);
  run.train_until(2);
  const TrainingState before = state_of(run);
  const auto refusal = [&](const std::string& name) {
    return message_of<DataError>([&] { load_training(folder / name, run.model, run.optimizer); });
  };
  save_training(folder / "wider", wider.model, wider.optimizer);
  EXPECT_THAT(refusal("wider"), AllOf(HasSubstr("wider': does not fit: Sequential: load_state: "),
                                      HasSubstr("expected (5, 3), got (6, 3)")));
  save(folder / "weights", wider.model.state());
  EXPECT_THAT(refusal("weights"), HasSubstr("does not fit"));
  // The last part alone does not fit: the others were put in already.
  TrainingRun other(3);
  other.train_until(1);
  Safetensors content = to_safetensors(state_of(other));
  content.tensors.erase("optimizer.step");
  write_safetensors(folder / "stepless", content);
  EXPECT_THAT(refusal("stepless"), HasSubstr("AdamW: load_state: missing 'step'"));
  expect_same(state_of(run), before);
  content = to_safetensors(state_of(other));
  content.metadata.erase("gradlab.generator.1");
  write_safetensors(folder / "dull", content);
  EXPECT_THAT(refusal("dull"), HasSubstr("set_generators: missing '1'"));
  content.metadata["gradlab.generator.1"] = "7";
  write_safetensors(folder / "odd", content);
  EXPECT_THAT(
      refusal("odd"),
      HasSubstr("odd': metadata 'gradlab.generator.1': expected two whole numbers, got '7'"));
  expect_same(state_of(run), before);
}

TEST(Save, AModelMayNotNameItsTensorsLikeAnOptimizer) {
  const TrainingState state{{{"optimizer.w", autograd::ones({1})}}, {}, {}};
  EXPECT_THAT(message_of<DataError>([&] { to_safetensors(state); }),
              HasSubstr("model tensor 'optimizer.w'"));
}

}  // namespace
}  // namespace nn
