#include "experiments/training/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "experiments/cli/errors.h"
#include "nn/io/safetensors.h"
#include "tests/experiments/run.h"
#include "tests/support/tensors.h"

namespace experiments::training {
namespace {

using autograd::Array;
using autograd::DType;
using autograd::Tensor;
using test::Folder;
using testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

Tensor strange_floats() {
  return Tensor(Array::build<float>({3}, [](auto x) {
    x[0] = std::bit_cast<float>(0x7fc00123u);  // a NaN with a payload
    x[1] = std::bit_cast<float>(0xff800001u);  // a signalling one
    x[2] = -0.0f;
  }));
}

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.model = {{"wte.weight", strange_floats()}, {"ln_f.bias", ::test::f64({1, 2})}};
  checkpoint.optimizer = {{"m.wte.weight", strange_floats()},
                          {"t", Tensor(Array::scalar(7, DType::i64))}};
  checkpoint.step = std::numeric_limits<std::int64_t>::max();
  checkpoint.generators = {{"data", {kMax, kMax - 1}}, {"dropout", {0, 0}}};
  checkpoint.config_json = R"({"n_head": 4,  "text": "ü"})";
  checkpoint.vocabulary = {"\n", "a", "ü", "", std::string("\0", 1), "\xff\x80", "[1]"};
  checkpoint.metrics = {
      {"val_loss", 0.1}, {"best_val_loss", std::numeric_limits<double>::infinity()}, {"gap", -0.0}};
  return checkpoint;
}

void expect_same(const nn::State& got, const nn::State& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_TRUE(bit_equal(got.at(name).data(), tensor.data())) << name;
  }
}

TEST(Checkpoint, EverythingComesBack) {
  const Folder folder;
  const Checkpoint saved = example();
  save_checkpoint(folder / "x", saved);
  const Checkpoint loaded = load_checkpoint(folder / "x");
  expect_same(loaded.model, saved.model);
  expect_same(loaded.optimizer, saved.optimizer);
  EXPECT_EQ(loaded.step, saved.step);
  EXPECT_EQ(loaded.generators, saved.generators);
  EXPECT_EQ(loaded.config_json, saved.config_json);
  EXPECT_EQ(loaded.vocabulary, saved.vocabulary);
  EXPECT_EQ(loaded.metrics, saved.metrics);
  EXPECT_TRUE(std::signbit(loaded.metrics.at("gap")));
}

TEST(Checkpoint, NothingComesBackToo) {
  const Folder folder;
  save_checkpoint(folder / "x", {});
  const Checkpoint loaded = load_checkpoint(folder / "x");
  EXPECT_TRUE(loaded.model.empty() && loaded.optimizer.empty() && loaded.vocabulary.empty());
  EXPECT_EQ(loaded.step, 0);
}

TEST(Checkpoint, IsASafetensorsFileWithPlainNames) {
  const Folder folder;
  Checkpoint checkpoint = example();
  checkpoint.metrics["nan"] = std::nan("");
  save_checkpoint(folder / "x", checkpoint);
  const nn::Safetensors content = nn::read_safetensors(folder / "x");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : content.tensors) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("ln_f.bias", "optimizer.m.wte.weight", "optimizer.t",
                                          "wte.weight"));
  EXPECT_EQ(content.metadata,
            (std::map<std::string, std::string>{
                {"gradlab.checkpoint", "1"},
                {"gradlab.step", "9223372036854775807"},
                {"gradlab.config", R"({"n_head": 4,  "text": "ü"})"},
                {"gradlab.vocabulary", R"(["\n","a","ü","","\u0000",[255,128],"[1]"])"},
                {"gradlab.generator.data", "18446744073709551615 18446744073709551614"},
                {"gradlab.generator.dropout", "0 0"},
                {"gradlab.metric.val_loss", "0.1"},
                {"gradlab.metric.best_val_loss", "inf"},
                {"gradlab.metric.gap", "-0.0"},
                {"gradlab.metric.nan", "nan"}}));
  EXPECT_TRUE(std::isnan(load_checkpoint(folder / "x").metrics.at("nan")));
}

/// The refusal of a checkpoint in which `key` has this text, or is missing if null.
std::string refusal(const std::string& key, const char* text) {
  const Folder folder;
  const std::string path = folder / "x";
  save_checkpoint(path, {});
  nn::Safetensors content = nn::read_safetensors(path);
  if (text) content.metadata[key] = text;
  else content.metadata.erase(key);
  nn::write_safetensors(path, content);
  const std::string message = ::test::message_of<cli::DataError>([&] { load_checkpoint(path); });
  EXPECT_TRUE(message.starts_with("'" + path + "': ")) << message;
  return message.substr(std::min(message.size(), path.size() + 4));
}

TEST(Checkpoint, MetadataThatIsMissing) {
  for (const char* key :
       {"gradlab.checkpoint", "gradlab.step", "gradlab.config", "gradlab.vocabulary"})
    EXPECT_EQ(refusal(key, nullptr), "metadata '" + std::string(key) + "' is missing");
}

TEST(Checkpoint, MetadataThatIsWrong) {
  EXPECT_EQ(refusal("gradlab.checkpoint", "2"),
            "metadata 'gradlab.checkpoint': expected '1', got '2'");
  for (const char* step : {"", "-1", "1.5", "1x", " 1", "9223372036854775808"})
    EXPECT_EQ(refusal("gradlab.step", step),
              "metadata 'gradlab.step': expected a whole number of at least 0, got '" +
                  std::string(step) + "'");
  for (const char* config : {"", "{", "[]", "1", "{} {}"})
    EXPECT_THAT(refusal("gradlab.config", config), HasSubstr("expected a JSON object, got"));
  EXPECT_THAT(refusal("gradlab.vocabulary", "{}"), HasSubstr("expected a JSON list, got '{}'"));
  for (const char* list : {"[1]", "[[256]]", "[[-1]]", "[[1.0]]", "[null]", "[[[1]]]"})
    EXPECT_THAT(refusal("gradlab.vocabulary", list),
                HasSubstr("expected strings or lists of bytes"));
  for (const char* state : {"", "1", "1 ", " 1", "1 2 3", "-1 0", "18446744073709551616 0"})
    EXPECT_THAT(refusal("gradlab.generator.g", state),
                HasSubstr("'gradlab.generator.g': expected two whole numbers, got"));
  for (const char* metric : {"", "x", "1,5", "0.1 "})
    EXPECT_THAT(refusal("gradlab.metric.m", metric), HasSubstr("expected a number, got"));
  EXPECT_EQ(refusal("gradlab.steps", "1"), "metadata 'gradlab.steps': unknown");
}

TEST(Checkpoint, MetadataOfOthersIsIgnored) {
  const Folder folder;
  save_checkpoint(folder / "x", example());
  nn::Safetensors content = nn::read_safetensors(folder / "x");
  content.metadata["format"] = "pt";
  nn::write_safetensors(folder / "x", content);
  EXPECT_EQ(load_checkpoint(folder / "x").step, example().step);
}

TEST(Checkpoint, WhatWouldNotLoadIsNotSaved) {
  const Folder folder;
  const auto message = [&](const Checkpoint& checkpoint) {
    return ::test::message_of<cli::DataError>([&] { save_checkpoint(folder / "x", checkpoint); });
  };
  Checkpoint checkpoint = example();
  checkpoint.model["optimizer.w"] = ::test::f64({1});
  EXPECT_THAT(message(checkpoint), HasSubstr("model tensor 'optimizer.w'"));
  checkpoint = example();
  checkpoint.config_json = "";
  EXPECT_THAT(message(checkpoint), HasSubstr("gradlab.config"));
  checkpoint = example();
  checkpoint.step = -1;
  EXPECT_THAT(message(checkpoint), HasSubstr("gradlab.step"));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace experiments::training
