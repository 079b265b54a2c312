#include "experiments/training/gpt_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

using autograd::Shape;
using autograd::Tensor;
using nn::GPTOptions;
using nn::Index;
using nn::label;
using nn::State;

enum class Kind { table, vector, projection };

struct Parameter {
  std::string ours, theirs;
  Shape shape;  // here
  Kind kind;

  Shape shape_in(Layout layout) const {
    return kind == Kind::projection && layout == Layout::conv1d ? Shape{shape[1], shape[0]} : shape;
  }
};

using Name = std::string Parameter::*;

/// What the others call the projections, which they keep in either layout.
std::string foreign_name(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kProjections[] = {
      {".attn.qkv.", ".attn.c_attn."},
      {".attn.proj.", ".attn.c_proj."},
      {".mlp.fc.", ".mlp.c_fc."},
      {".mlp.proj.", ".mlp.c_proj."}};
  for (const auto& [ours, theirs] : kProjections) {
    const std::size_t at = name.find(ours);
    if (at != name.npos) return name.replace(at, ours.size(), theirs);
  }
  return name;
}

/// All parameters of a GPT of these options, by both names.
std::vector<Parameter> parameters(GPTOptions options) {
  options.n_head = 1;  // without influence on shapes
  std::vector<Parameter> all;
  for (const auto& [ours, shape] : parameter_shapes(options)) {
    const std::string theirs = foreign_name(ours);
    const Kind matrix = theirs == ours ? Kind::table : Kind::projection;
    all.push_back({ours, theirs, shape, shape.rank() == 1 ? Kind::vector : matrix});
  }
  return all;
}

void drop_prefix(std::string& name, std::string_view prefix) {
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
}

/// What is known of a tensor before its data is read.
struct Facts {
  std::string name;  // in full
  Shape shape;
  std::string dtype;  // "f32", or as the file has it where it cannot be read
};

using Description = std::map<std::string, Facts>;  // by names without prefix

Facts facts_of(const std::string& name, const Tensor& tensor) {
  return {name, tensor.shape(), std::string(autograd::name(tensor.dtype()))};
}

Facts facts_of(const nn::TensorEntry& entry) {
  return {entry.name, entry.shape,
          entry.encoding ? std::string(autograd::name(entry.encoding->dtype)) : label(entry.dtype)};
}

/// Where the model sat is no part of the name.
std::string plain(std::string name) {
  drop_prefix(name, "_orig_mod.");
  drop_prefix(name, "transformer.");
  return name;
}

/// A buffer that says what is causal, as attention does by itself.
bool is_mask(const std::string& plain, const Shape& shape) {
  return (plain.ends_with(".attn.bias") && shape.rank() == 4) ||
         plain.ends_with(".attn.masked_bias");
}

void add(Facts facts, Description& all) {
  const std::string name = plain(facts.name);
  const auto [at, is_new] = all.emplace(name, std::move(facts));
  if (!is_new)
    throw cli::DataError(
        fmt::format("tensor {}: comes twice, once as {}", label(name), label(at->second.name)));
}

Description description(const State& state) {
  Description all;
  for (const auto& [name, tensor] : state)
    if (!is_mask(plain(name), tensor.shape())) add(facts_of(name, tensor), all);
  return all;
}

/// What the names alone tell: n_layer, bias, tied.
GPTOptions config_of_names(const Description& state) {
  std::set<std::string> layers;
  GPTOptions config{.bias = nn::Bias::no, .tied = nn::Tied::yes};
  for (const auto& [name, facts] : state) {
    if (name.starts_with("h.")) layers.insert(name.substr(2, name.find('.', 2) - 2));
    if (name.ends_with(".bias")) config.bias = nn::Bias::yes;
    if (name == "lm_head.weight") config.tied = nn::Tied::no;
  }
  config.n_layer = std::max<Index>(1, static_cast<Index>(layers.size()));
  return config;
}

std::string listed(const char* what, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  if (names.empty()) return {};
  std::string text = fmt::format("{} ", what);
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    text += (i ? ", " : "") + label(names[i]);
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

void check_names(const Description& state, const std::vector<Parameter>& expected, Name side) {
  std::vector<std::string> missing, unknown;
  std::set<std::string> known;
  for (const Parameter& parameter : expected) {
    known.insert(parameter.*side);
    if (!state.contains(parameter.*side)) missing.push_back(parameter.*side);
  }
  for (const auto& [name, facts] : state)
    if (!known.contains(name)) unknown.push_back(name);
  if (missing.empty() && unknown.empty()) return;
  throw cli::DataError(fmt::format("not a GPT: {}{}{}", listed("missing", missing),
                                   missing.empty() || unknown.empty() ? "" : "; ",
                                   listed("unknown", unknown)));
}

/// The sizes of a table of vectors.
std::pair<Index, Index> table_sizes(const Description& state, const std::string& name) {
  const Shape& shape = state.at(name).shape;
  if (shape.rank() != 2 || shape.numel() == 0)
    throw cli::DataError(
        fmt::format("tensor {}: expected a table (rows, n_embd), got {}", name, shape.str()));
  return {shape[0], shape[1]};
}

Layout layout_of(const Description& state, Index C, Name side) {
  if (side == &Parameter::ours) return Layout::linear;
  const Shape conv1d = {C, 3 * C};
  return state.at("h.0.attn.c_attn.weight").shape == conv1d ? Layout::conv1d : Layout::linear;
}

void check_tensors(const Description& state, const std::vector<Parameter>& expected, Layout layout,
                   Name side) {
  const std::string& dtype = state.at("wte.weight").dtype;
  if (dtype != "f32" && dtype != "f64")
    throw cli::DataError(fmt::format("tensor wte.weight: expected floats, got {}", dtype));
  for (const Parameter& parameter : expected) {
    const Facts& tensor = state.at(parameter.*side);
    const Shape shape = parameter.shape_in(layout);
    if (tensor.shape != shape)
      throw cli::DataError(fmt::format(
          "tensor {}: expected shape {}, got {}{}", parameter.*side, shape.str(),
          tensor.shape.str(),
          parameter.kind == Kind::projection
              ? fmt::format(" (n_embd is {}; one layout for all layers)", expected[0].shape[1])
              : ""));
    if (tensor.dtype != dtype)
      throw cli::DataError(fmt::format("tensor {}: expected {} as in wte.weight, got {}",
                                       parameter.*side, dtype, tensor.dtype));
  }
}

/// A GPT with the names of one side, checked to be complete.
struct Checked {
  GPTOptions config;
  Layout layout;
  std::vector<Parameter> parameters;
};

Checked checked_gpt(const Description& state, Name side) {
  GPTOptions config = config_of_names(state);
  check_names(state, parameters(config), side);
  std::tie(config.vocab_size, config.n_embd) = table_sizes(state, "wte.weight");
  config.block_size = table_sizes(state, "wpe.weight").first;
  const Layout layout = layout_of(state, config.n_embd, side);
  std::vector<Parameter> all = parameters(config);
  check_tensors(state, all, layout, side);
  config.dtype =
      state.at("wte.weight").dtype == "f32" ? autograd::DType::f32 : autograd::DType::f64;
  return {config, layout, std::move(all)};
}

/// Between the layouts; either way it is a transposition.
Tensor converted(const Tensor& tensor, const Parameter& parameter, Layout layout) {
  const bool transposed = parameter.kind == Kind::projection && layout == Layout::conv1d;
  return transposed ? tensor.detach().transpose(0, 1) : tensor.detach();
}

/// No tensor tells it, but they tell whose model it is.
std::pair<nn::Gelu, const char*> gelu_of(Layout layout, LmHead head, Masks masks) {
  if (layout == Layout::conv1d) return {nn::Gelu::tanh, "the layout is GPT-2's"};
  if (head == LmHead::own) return {nn::Gelu::tanh, "lm_head is not tied to wte, as in minGPT"};
  if (masks == Masks::yes)
    return {nn::Gelu::tanh, "it stores its masks, as minGPT and older nanoGPT do"};
  return {nn::Gelu::erf, "it is stored as nanoGPT does it today"};
}

}  // namespace

HeaderOfGpt choose_foreign(nn::SafetensorsHeader& header) {
  HeaderOfGpt gpt;
  const auto drops = [&gpt](const nn::TensorEntry& entry) {
    const bool drop = is_mask(plain(entry.name), entry.shape);
    if (drop) gpt.masks = Masks::yes;
    return drop;
  };
  std::erase_if(header.tensors, drops);
  Description all;
  for (const nn::TensorEntry& entry : header.tensors) add(facts_of(entry), all);
  gpt.n_embd = checked_gpt(all, &Parameter::theirs).config.n_embd;
  return gpt;
}

ForeignGpt from_foreign(State foreign, Index n_head, Masks masks) {
  const Description names = description(foreign);
  const auto [config, layout, all] = checked_gpt(names, &Parameter::theirs);
  ForeignGpt gpt{.state = {}, .config = config, .layout = layout, .head = LmHead::own};
  gpt.config.n_head = n_head;
  for (const Parameter& parameter : all) {
    const auto taken = foreign.extract(names.at(parameter.theirs).name);  // one at a time twice
    gpt.state.emplace(parameter.ours, converted(taken.mapped(), parameter, layout));
  }
  const auto head = gpt.state.find("lm_head.weight");
  if (head == gpt.state.end()) {
    gpt.head = LmHead::missing;
  } else if (bit_equal(head->second.data(), gpt.state.at("wte.weight").data())) {
    gpt.head = LmHead::tied;
    gpt.state.erase(head);
    gpt.config.tied = nn::Tied::yes;
  }
  if (!foreign.empty()) masks = Masks::yes;  // nothing else is left
  std::tie(gpt.config.gelu, gpt.why_gelu) = gelu_of(layout, gpt.head, masks);
  return gpt;
}

State to_foreign(const State& ours, Layout layout) {
  State foreign;
  for (const Parameter& parameter : checked_gpt(description(ours), &Parameter::ours).parameters) {
    const bool is_head = parameter.theirs == "lm_head.weight";
    foreign.emplace((is_head ? "" : "transformer.") + parameter.theirs,
                    converted(ours.at(parameter.ours), parameter, layout));
  }
  foreign.emplace("lm_head.weight", ours.at("wte.weight").detach());  // unless it has its own
  return foreign;
}

}  // namespace experiments::training
