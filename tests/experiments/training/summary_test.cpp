#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "autograd/machine/parallel.h"
#include "autograd/machine/pool.h"
#include "experiments/training/gpt_layers.h"
#include "tests/experiments/command_run.h"
#include "tests/support/aligned_bytes.h"

namespace experiments::training {
namespace {

using autograd::Node;
using test::cell;
using test::in_process;
using testing::HasSubstr;

nn::GPTOptions small(nn::Tied tied, nn::QkNorm qk_norm, nn::Bias bias) {
  return {.block_size = 6,
          .vocab_size = 11,
          .n_layer = 3,
          .n_head = 2,
          .n_embd = 8,
          .bias = bias,
          .tied = tied,
          .qk_norm = qk_norm,
          .dtype = nn::DType::f64};
}

const nn::GPTOptions kConfigs[] = {small(nn::Tied::yes, nn::QkNorm::no, nn::Bias::yes),
                                   small(nn::Tied::no, nn::QkNorm::yes, nn::Bias::no)};

/// 2 m n k of every product in the graph.
double graph_flops(const Node& root) {
  std::set<const Node*> seen;
  std::vector<const Node*> todo = {&root};
  double flops = 0;
  while (!todo.empty()) {
    const Node& node = *todo.back();
    todo.pop_back();
    if (!seen.insert(&node).second) continue;
    const std::string op = node.op;
    if (op == "linear" || op == "matmul") {
      const autograd::Shape& left = node.edges.at(0).shape;
      flops += 2.0 * static_cast<double>(node.shape.numel() * left[left.rank() - 1]);
    }
    if (op == "fused_attention") {
      flops += 4.0 * static_cast<double>(node.shape.numel() * node.shape[1]);  // (B, T, C)
    }
    for (const autograd::Edge& edge : node.edges) {
      if (edge.input) todo.push_back(edge.input.get());
    }
  }
  return flops;
}

TEST(Summary, HasTheParametersAndProductsOfARealGpt) {
  for (const nn::GPTOptions& config : kConfigs) {
    autograd::Generator generator(1);
    nn::GPT model(config, generator);
    const std::vector<nn::NamedShape> computed = parameter_shapes(config);
    const auto real = model.named_parameters();
    ASSERT_EQ(computed.size(), real.size());
    for (std::size_t i = 0; i < real.size(); ++i) {
      EXPECT_EQ(computed[i].name, real[i].name);
      EXPECT_EQ(computed[i].shape, real[i].tensor.shape()) << real[i].name;
    }
    const LayerTotal sum = total(gpt_layers(config), 0);
    EXPECT_EQ(sum.parameters, model.parameter_count());
    const nn::Tensor logits = model(autograd::arange(config.block_size).reshape({1, -1}));
    EXPECT_EQ(sum.flops, graph_flops(*logits.node()));
  }
}

TEST(Summary, NamesAndOrderAreThoseOfTheModules) {
  for (const nn::GPTOptions& config : kConfigs) {
    autograd::Generator generator(1);
    nn::GPT model(config, generator);
    std::vector<std::string> real, computed;
    for (const nn::NamedModule& m : model.named_modules()) {
      if (m.module->type() != "Dropout") real.push_back(m.name + ':' + m.module->type());
    }
    for (const Layer& layer : gpt_layers(config)) computed.push_back(layer.name + ':' + layer.type);
    if (config.tied == nn::Tied::yes) real.push_back("lm_head:Linear");
    EXPECT_EQ(computed, real);
  }
}

/// Bytes that the engine has from the system, when nothing waits in its pool.
std::int64_t live_bytes() {
  autograd::pool::trim();
  return ::test::aligned_bytes();
}

// Sequences so long that what a row keeps shows, and the nodes of the graph do not. A little below
// a power of two, as the pool rounds blocks up.
TEST(Summary, WhatBackwardKeepsIsWhatTheEngineHolds) {
  const int threads = autograd::num_threads();
  autograd::set_num_threads(1);  // others would keep blocks in pools of their own
  for (nn::GPTOptions options : kConfigs) {
    options.block_size = options.qk_norm == nn::QkNorm::yes ? 255 : 2040;
    options.n_head = 8;
    autograd::Generator generator(1);
    nn::GPT model(options, generator);
    const std::int64_t before = live_bytes();
    const nn::Tensor tokens = autograd::full({1, options.block_size}, 3, nn::DType::i64);
    const nn::Tensor targets = autograd::full({1, options.block_size}, 4, nn::DType::i64);
    const nn::Tensor loss = cross_entropy(model(tokens), targets);
    const auto held = static_cast<double>(live_bytes() - before);
    EXPECT_NEAR(total(gpt_layers(options), 0).kept / held, 1, 0.02) << held;
  }
  autograd::set_num_threads(threads);
}

std::int64_t parameters(const std::string& preset) {
  const std::string csv = in_process({"summary", "--preset", preset, "--format", "json"}).out;
  const std::size_t at = csv.find("\"parameters\":");
  return at == csv.npos ? -1 : std::stoll(csv.substr(at + 13));
}

TEST(Summary, GivesGpt2sParametersExactly) {
  EXPECT_EQ(parameters("gpt2"), 124439808);
  EXPECT_EQ(parameters("gpt2-medium"), 354823168);
  EXPECT_EQ(parameters("gpt2-large"), 774030080);
  EXPECT_EQ(parameters("gpt2-xl"), 1557611200);
}

TEST(Summary, OptionsWinOverThePreset) {
  const auto out = in_process({"summary", "--preset", "shakespeare-cpu", "--n-layer", "2"}).out;
  EXPECT_THAT(out, HasSubstr("GPT n_layer 2, n_head 4"));
  EXPECT_THAT(out, HasSubstr("128 -> 65, tied to wte"));
  test::expect_narrow(out);
  test::expect_narrow(in_process({"summary", "--preset", "gpt2-xl", "--n-head", "1600"}).out);
}

TEST(Summary, RefusesHeadsThatDoNotDivide) {
  const auto outcome = in_process({"summary", "--n-head", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "error: --n-head 5 does not divide --n-embd 768\n");
}

}  // namespace
}  // namespace experiments::training
