#include "nn/io/save.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "nn/io/errors.h"
#include "nn/io/text.h"

namespace nn {
namespace {

constexpr std::string_view kOptimizer = "optimizer.";
constexpr std::string_view kGenerator = "gradlab.generator.";

bool starts_with(const std::string& text, std::string_view prefix) {
  return std::string_view(text).substr(0, prefix.size()) == prefix;
}

Generator::State generator_of(const std::string& key, const std::string& text) {
  Generator::State state;
  const char* const end = text.data() + text.size();
  const auto seed = std::from_chars(text.data(), end, state.seed);
  const bool blank = seed.ec == std::errc() && seed.ptr != end && *seed.ptr == ' ';
  const auto next = std::from_chars(blank ? seed.ptr + 1 : end, end, state.next_stream);
  if (next.ec != std::errc() || next.ptr != end) {
    throw DataError(fmt::format("metadata {}: expected two whole numbers, got {}", quote(key),
                                quote(text, 40)));
  }
  return state;
}

/// f(), with the path in front of the message of its DataError.
template <class F>
auto naming(const std::string& path, F f) {
  try {
    return f();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", quote(path), error.what()));
  }
}

}  // namespace

void save(const std::string& path, const State& state) { write_safetensors(path, {state, {}}); }

State load(const std::string& path) { return read_safetensors(path).tensors; }

TrainingState training_state(const Module& model, const Optimizer& optimizer) {
  return {model.state(), optimizer.state(), model.generators()};
}

void load_training_state(const TrainingState& state, Module& model, Optimizer& optimizer) {
  const TrainingState before = training_state(model, optimizer);
  try {
    model.load_state(state.model);
    model.set_generators(state.generators);
    optimizer.load_state(state.optimizer);
  } catch (...) {
    model.load_state(before.model);
    model.set_generators(before.generators);
    throw;
  }
}

void save_training(const std::string& path, const Module& model, const Optimizer& optimizer) {
  write_safetensors(path,
                    naming(path, [&] { return to_safetensors(training_state(model, optimizer)); }));
}

void load_training(const std::string& path, Module& model, Optimizer& optimizer) {
  const Safetensors content = read_safetensors(path);
  naming(path, [&] {
    try {
      load_training_state(from_safetensors(content), model, optimizer);
    } catch (const autograd::Error& error) {
      throw DataError(fmt::format("does not fit: {}", error.what()));
    }
  });
}

Safetensors to_safetensors(const TrainingState& state) {
  Safetensors content{state.model, {}};
  for (const auto& [name, tensor] : state.model) {
    if (starts_with(name, kOptimizer)) {
      throw DataError(fmt::format("model tensor {}: names that begin with '{}' are the optimizer's",
                                  quote(name), kOptimizer));
    }
  }
  for (const auto& [name, tensor] : state.optimizer) {
    content.tensors.emplace(fmt::format("{}{}", kOptimizer, name), tensor);
  }
  for (const auto& [name, generator] : state.generators) {
    content.metadata[fmt::format("{}{}", kGenerator, name)] =
        fmt::format("{} {}", generator.seed, generator.next_stream);
  }
  return content;
}

TrainingState from_safetensors(const Safetensors& content) {
  TrainingState state;
  for (const auto& [name, tensor] : content.tensors) {
    if (starts_with(name, kOptimizer)) {
      state.optimizer.emplace(name.substr(kOptimizer.size()), tensor);
    } else {
      state.model.emplace(name, tensor);
    }
  }
  for (const auto& [key, text] : content.metadata) {
    if (!starts_with(key, kGenerator)) continue;
    state.generators.emplace(key.substr(kGenerator.size()), generator_of(key, text));
  }
  return state;
}

}  // namespace nn
