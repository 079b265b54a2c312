#include "experiments/training/gpt_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/cli/errors.h"
#include "tests/support/tensors.h"

namespace experiments::training {
namespace {

using autograd::Generator;
using autograd::Shape;
using autograd::Tensor;
using nn::GPT;
using nn::GPTOptions;
using nn::State;
using testing::HasSubstr;

const GPTOptions kConfig = {
    .block_size = 5, .vocab_size = 7, .n_layer = 2, .n_head = 2, .n_embd = 4};

/// Different numbers in every tensor, so that none can be taken for another.
State state_of(const GPTOptions& config) {
  Generator generator(3);
  State state = GPT(config, generator).state();
  for (auto& [name, tensor] : state)
    tensor = autograd::randn(tensor.shape(), autograd::DType::f32, generator);
  return state;
}

void expect_same(const State& got, const State& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_TRUE(bit_equal(got.at(name).data(), tensor.data())) << name;
  }
}

GPTOptions with(nn::Bias bias, nn::Tied tied) {
  GPTOptions config = kConfig;
  config.bias = bias;
  config.tied = tied;
  return config;
}

TEST(GptNames, ThereAndBack) {
  for (const nn::Bias bias : {nn::Bias::no, nn::Bias::yes})
    for (const nn::Tied tied : {nn::Tied::no, nn::Tied::yes})
      for (const Layout layout : {Layout::linear, Layout::conv1d}) {
        const State ours = state_of(with(bias, tied));
        const ForeignGpt gpt = from_foreign(to_foreign(ours, layout), 2);
        expect_same(gpt.state, ours);
        EXPECT_EQ(gpt.layout, layout);
        EXPECT_EQ(gpt.config.bias, bias);
        EXPECT_EQ(gpt.config.tied, tied);
        GPT(gpt.config).load_state(gpt.state);
      }
}

TEST(GptNames, TheTensorsTellTheConfig) {
  const ForeignGpt gpt = from_foreign(to_foreign(state_of(kConfig), Layout::conv1d), 2);
  EXPECT_EQ(gpt.config.n_layer, 2);
  EXPECT_EQ(gpt.config.n_embd, 4);
  EXPECT_EQ(gpt.config.vocab_size, 7);
  EXPECT_EQ(gpt.config.block_size, 5);
  EXPECT_EQ(gpt.config.n_head, 2);
  EXPECT_EQ(gpt.config.dtype, autograd::DType::f32);
  EXPECT_EQ(gpt.config.gelu, nn::Gelu::tanh);
}

TEST(GptNames, NamesAreThoseOfTheOthers) {
  const State ours = state_of(with(nn::Bias::no, nn::Tied::yes));
  const State foreign = to_foreign(ours, Layout::linear);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : foreign)
    if (name.find(".h.1") == name.npos) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre(
                         "lm_head.weight", "transformer.h.0.attn.c_attn.weight",
                         "transformer.h.0.attn.c_proj.weight", "transformer.h.0.ln_1.weight",
                         "transformer.h.0.ln_2.weight", "transformer.h.0.mlp.c_fc.weight",
                         "transformer.h.0.mlp.c_proj.weight", "transformer.ln_f.weight",
                         "transformer.wpe.weight", "transformer.wte.weight"));
  EXPECT_TRUE(bit_equal(foreign.at("lm_head.weight").data(), ours.at("wte.weight").data()));
  EXPECT_TRUE(bit_equal(foreign.at("transformer.h.1.attn.c_attn.weight").data(),
                        ours.at("h.1.attn.qkv.weight").data()));
}

TEST(GptNames, Conv1dTransposesAlsoWhatIsSquare) {
  const State ours = state_of(kConfig);
  const State foreign = to_foreign(ours, Layout::conv1d);
  const auto shape = [&](const std::string& name) {
    return foreign.at("transformer.h.0." + name).shape();
  };
  EXPECT_EQ(shape("attn.c_attn.weight"), (Shape{4, 12}));
  EXPECT_EQ(shape("mlp.c_fc.weight"), (Shape{4, 16}));
  EXPECT_EQ(shape("mlp.c_proj.weight"), (Shape{16, 4}));
  const Tensor theirs = foreign.at("transformer.h.1.attn.c_proj.weight");
  EXPECT_EQ(theirs.at({1, 2}), ours.at("h.1.attn.proj.weight").at({2, 1}));
  EXPECT_EQ(foreign.at("transformer.wte.weight").shape(), (Shape{7, 4}));
}

TEST(GptNames, PrefixesMayBeMissingAndMasksAreDropped) {
  const State ours = state_of(kConfig);
  State bare, compiled;
  for (const auto& [name, tensor] : to_foreign(ours, Layout::conv1d)) {
    compiled["_orig_mod." + name] = tensor;
    if (name != "lm_head.weight") bare[name.substr(std::string("transformer.").size())] = tensor;
  }
  bare["h.0.attn.bias"] = bare["h.1.attn.bias"] = autograd::ones({1, 1, 5, 5});
  bare["h.1.attn.masked_bias"] = autograd::ones({});
  expect_same(from_foreign(bare, 2).state, ours);
  expect_same(from_foreign(compiled, 2).state, ours);
}

TEST(GptNames, GeluFollowsWhoseModelItLooksLike) {
  const auto told = [](nn::Tied tied, Layout layout, Masks masks = Masks::no) {
    const State foreign = to_foreign(state_of(with(nn::Bias::yes, tied)), layout);
    const ForeignGpt gpt = from_foreign(foreign, 2, masks);
    return std::pair(gpt.config.gelu, std::string(gpt.why_gelu));
  };
  using testing::Pair;
  const auto tanh = nn::Gelu::tanh, erf = nn::Gelu::erf;
  EXPECT_THAT(told(nn::Tied::yes, Layout::linear), Pair(erf, HasSubstr("nanoGPT")));
  EXPECT_THAT(told(nn::Tied::no, Layout::linear), Pair(tanh, HasSubstr("minGPT")));
  EXPECT_THAT(told(nn::Tied::yes, Layout::linear, Masks::yes), Pair(tanh, HasSubstr("masks")));
  EXPECT_THAT(told(nn::Tied::yes, Layout::conv1d), Pair(tanh, HasSubstr("GPT-2")));
  EXPECT_THAT(told(nn::Tied::no, Layout::conv1d), Pair(tanh, HasSubstr("GPT-2")));
  State masked = to_foreign(state_of(kConfig), Layout::linear);
  masked["transformer.h.0.attn.bias"] = autograd::ones({1, 1, 5, 5});
  EXPECT_EQ(from_foreign(masked, 2).config.gelu, tanh);
}

TEST(GptNames, AHeadThatIsMissingIsTied) {
  State state = to_foreign(state_of(kConfig), Layout::linear);
  EXPECT_EQ(from_foreign(state, 2).head, LmHead::tied);
  state.erase("lm_head.weight");
  EXPECT_EQ(from_foreign(state, 2).head, LmHead::missing);
  EXPECT_EQ(from_foreign(state, 2).config.tied, nn::Tied::yes);
  const State untied = to_foreign(state_of(with(nn::Bias::yes, nn::Tied::no)), Layout::linear);
  EXPECT_EQ(from_foreign(untied, 2).head, LmHead::own);
}

TEST(GptNames, MissingAndUnknownNamesAreListed) {
  const State whole = to_foreign(state_of(kConfig), Layout::linear);
  const auto message = [](const State& state) {
    return ::test::message_of<cli::DataError>([&] { from_foreign(state, 2); });
  };
  State state = whole;
  state.erase("transformer.h.1.ln_2.bias");
  state.erase("transformer.wpe.weight");
  EXPECT_EQ(message(state), "not a GPT: missing wpe.weight, h.1.ln_2.bias");
  state["transformer.h.0.attn.rotary"] = autograd::ones({1});
  state["transformer.h.0.attn.bias"] = autograd::ones({4});  // a mask has four dims
  EXPECT_THAT(message(state), HasSubstr("; unknown h.0.attn.bias, h.0.attn.rotary"));
  state = whole;
  state["transformer.h.1000000000000.ln_1.weight"] = autograd::ones({4});
  EXPECT_THAT(message(state), HasSubstr("missing h.2.ln_1.weight, h.2.ln_1.bias"));
  EXPECT_THAT(message(state), HasSubstr("unknown h.1000000000000.ln_1.weight"));
  EXPECT_THAT(message({}), HasSubstr("missing wte.weight, wpe.weight, h.0.ln_1.weight"));
  state = whole;
  state["wte.weight"] = autograd::ones({7, 4});
  EXPECT_THAT(message(state), HasSubstr("tensor wte.weight: comes twice"));
}

TEST(GptNames, ShapesLayoutsAndDtypesAreChecked) {
  const State whole = to_foreign(state_of(kConfig), Layout::linear);
  const auto message = [&](const std::string& name, const Tensor& tensor) {
    State state = whole;
    state["transformer." + name] = tensor;
    return ::test::message_of<cli::DataError>([&] { from_foreign(state, 2); });
  };
  EXPECT_EQ(message("h.1.attn.c_attn.weight", autograd::ones({4, 12})),
            "tensor h.1.attn.c_attn.weight: expected shape (12, 4), got (4, 12) (n_embd is 4; one "
            "layout for all layers)");
  EXPECT_THAT(message("h.0.attn.c_attn.weight", autograd::ones({4, 12})),
              HasSubstr("expected shape (4, 16), got (16, 4)"));
  EXPECT_THAT(message("h.0.attn.c_attn.weight", autograd::ones({12})),
              HasSubstr("expected shape (12, 4), got (12,)"));
  EXPECT_EQ(message("ln_f.bias", autograd::ones({5})),
            "tensor ln_f.bias: expected shape (4,), got (5,)");
  EXPECT_EQ(message("wte.weight", autograd::ones({4})),
            "tensor wte.weight: expected a table (rows, n_embd), got (4,)");
  EXPECT_EQ(message("wpe.weight", autograd::ones({0, 4})),
            "tensor wpe.weight: expected a table (rows, n_embd), got (0, 4)");
  EXPECT_EQ(message("ln_f.bias", ::test::f64({1, 2, 3, 4})),
            "tensor ln_f.bias: expected f32 as in wte.weight, got f64");
  EXPECT_EQ(message("wte.weight", autograd::ones({7, 4}).to(autograd::DType::i64)),
            "tensor wte.weight: expected floats, got i64");
}

TEST(GptNames, WhatOthersDoNotHaveHasNoName) {
  GPTOptions config = kConfig;
  config.qk_norm = nn::QkNorm::yes;
  const State ours = state_of(config);
  EXPECT_THAT(::test::message_of<cli::DataError>([&] { to_foreign(ours, Layout::linear); }),
              HasSubstr("unknown h.0.attn.k_norm.weight, h.0.attn.q_norm.weight"));
}

}  // namespace
}  // namespace experiments::training
