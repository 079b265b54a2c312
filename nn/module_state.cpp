#include <set>

#include "nn/module.h"

// The state of a module: its values by name, out and in again.

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

template <class Map>
void check_names(const std::string& type, const char* what, const std::set<std::string>& expected,
                 const Map& given) {
  std::vector<std::string> missing, unexpected;
  for (const std::string& name : expected) {
    if (given.find(name) == given.end()) missing.push_back(name);
  }
  for (const auto& entry : given) {
    if (expected.count(entry.first) == 0) unexpected.push_back(entry.first);
  }
  std::string text;
  if (!missing.empty()) text = "missing " + listed(missing);
  if (!unexpected.empty())
    text += (text.empty() ? "" : "; ") + ("unexpected " + listed(unexpected));
  if (!text.empty()) fail<ValueError>("{}: {}: {}", type, what, text);
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

std::vector<NamedParameter> Module::named_values() const {
  std::vector<NamedParameter> all = named_parameters();
  for (NamedParameter& buffer : named_buffers()) all.push_back(std::move(buffer));
  return all;
}

State Module::state() const {
  State state;
  for (const NamedParameter& v : named_values()) state.emplace(v.name, v.tensor.detach());
  return state;
}

void Module::load_state(const State& state) {
  std::vector<NamedParameter> values = named_values();
  std::set<std::string> names;
  for (const NamedParameter& v : values) names.insert(v.name);
  check_names(type_, "load_state", names, state);
  for (const NamedParameter& v : values) check_value(type_, v, state.at(v.name));
  for (NamedParameter& v : values) v.tensor.set_data(state.at(v.name).data());
}

void Module::set_generators(const GeneratorStates& states) {
  std::set<std::string> names;
  for (const auto& entry : generators()) names.insert(entry.first);
  check_names(type_, "set_generators", names, states);
  for (const NamedModule& m : named_modules()) {
    if (m.module->generator_) m.module->generator_->set_state(states.at(m.name));
  }
}

}  // namespace nn
