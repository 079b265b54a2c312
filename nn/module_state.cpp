#include "nn/module.h"

// The state of a module: its parameters' values by name, out and in again.

namespace nn {

using autograd::DTypeError;
using autograd::fail;
using autograd::ShapeError;
using autograd::ValueError;

namespace {

constexpr int kNamesShown = 5;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) {
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", names[i]);
  }
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

void check_names(const std::string& type, const std::vector<NamedParameter>& parameters,
                 const State& state) {
  std::vector<std::string> missing, unexpected;
  State known;
  for (const NamedParameter& p : parameters) {
    known.emplace(p.name, p.tensor);
    if (state.find(p.name) == state.end()) missing.push_back(p.name);
  }
  for (const auto& entry : state) {
    if (known.find(entry.first) == known.end()) unexpected.push_back(entry.first);
  }
  std::string text;
  if (!missing.empty()) text = "missing " + listed(missing);
  if (!unexpected.empty())
    text += (text.empty() ? "" : "; ") + ("unexpected " + listed(unexpected));
  if (!text.empty()) fail<ValueError>("{}: load_state: {}", type, text);
}

void check_value(const std::string& type, const NamedParameter& p, const Tensor& value) {
  if (!value.defined()) fail<ValueError>("{}: load_state: '{}' is undefined", type, p.name);
  if (value.shape() != p.tensor.shape()) {
    fail<ShapeError>("{}: load_state: '{}' expected {}, got {}", type, p.name,
                     p.tensor.shape().str(), value.shape().str());
  }
  if (value.dtype() != p.tensor.dtype()) {
    fail<DTypeError>("{}: load_state: '{}' expected {}, got {}", type, p.name,
                     name(p.tensor.dtype()), name(value.dtype()));
  }
}

}  // namespace

State Module::state() const {
  State state;
  for (const NamedParameter& p : named_parameters()) state.emplace(p.name, p.tensor.detach());
  return state;
}

void Module::load_state(const State& state) {
  std::vector<NamedParameter> parameters = named_parameters();
  check_names(type_, parameters, state);
  for (const NamedParameter& p : parameters) check_value(type_, p, state.at(p.name));
  for (NamedParameter& p : parameters) p.tensor.set_data(state.at(p.name).data());
}

}  // namespace nn
