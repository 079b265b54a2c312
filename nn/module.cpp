#include "nn/module.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>

namespace nn {

using autograd::fail;
using autograd::GraphError;
using autograd::ValueError;

namespace {

thread_local const Module* running = nullptr;  // the innermost module that is in its forward

std::string joined(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  return name.empty() ? prefix : prefix + "." + name;
}

std::string with_commas(Index n) {  // 2359296 -> "2,359,296"; n >= 0
  if (n < 1000) return fmt::format("{}", n);
  return with_commas(n / 1000) + fmt::format(",{:03}", n % 1000);
}

}  // namespace

ModuleScope::ModuleScope(const Module& module) : outer_(running) {
  const std::string path = module.path_below(running);
  if (!path.empty()) scope_.emplace(path);
  running = &module;
}

ModuleScope::~ModuleScope() { running = outer_; }

Tensor Module::forward(const Tensor&) {
  fail<GraphError>("{}: has no forward of one tensor", type_);
}

// --- the tree

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    fail<ValueError>("{}: a name must not be empty or have a dot, got '{}'", type_, name);
  }
  const auto taken = [&name](const NamedParameter& p) { return p.name == name; };
  const auto child_taken = [&name](const auto& child) { return child->name_ == name; };
  if (std::any_of(parameters_.begin(), parameters_.end(), taken) ||
      std::any_of(children_.begin(), children_.end(), child_taken)) {
    fail<ValueError>("{}: the name '{}' is taken", type_, name);
  }
}

void Module::adopt(std::string name, std::unique_ptr<Module> child) {
  child->name_ = std::move(name);
  child->parent_ = this;
  child->set_training(training_);
  children_.push_back(std::move(child));
}

Tensor Module::register_parameter(std::string name, Tensor value) {
  check_name(name);
  if (!value.is_leaf()) {
    fail<GraphError>("{}: parameter '{}' has to be a leaf, got a result of {}", type_, name,
                     value.op());
  }
  value.requires_grad_();
  parameters_.push_back({std::move(name), value});
  return value;
}

Generator& Module::register_generator(const Generator& generator) {
  if (generator_) fail<ValueError>("{}: has a generator already", type_);
  return generator_.emplace(generator);
}

std::string Module::path() const { return path_below(nullptr); }

// Empty for the ancestor itself; from the root where this is not below it.
std::string Module::path_below(const Module* ancestor) const {
  if (this == ancestor) return {};
  if (!parent_) return type_;
  return joined(parent_->path_below(ancestor), name_);
}

std::vector<NamedModule> Module::named_modules() {
  std::vector<NamedModule> all = {{"", this}};
  for (const auto& child : children_) {
    for (const NamedModule& below : child->named_modules()) {
      all.push_back({joined(child->name_, below.name), below.module});
    }
  }
  return all;
}

GeneratorStates Module::generators() const {
  GeneratorStates states;
  if (generator_) states.emplace("", generator_->state());
  for (const auto& child : children_) {
    for (const auto& [name, state] : child->generators()) {
      states.emplace(joined(child->name_, name), state);
    }
  }
  return states;
}

void Module::set_training(bool training) {
  training_ = training;
  for (const auto& child : children_) child->set_training(training);
}

// --- parameters

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> all;
  std::unordered_set<const void*> seen;
  const auto add = [&all, &seen](std::string name, const Tensor& tensor) {
    if (seen.insert(identity(tensor)).second) all.push_back({std::move(name), tensor});
  };
  for (const NamedParameter& p : parameters_) add(p.name, p.tensor);
  for (const auto& child : children_) {
    for (const NamedParameter& p : child->named_parameters()) {
      add(joined(child->name_, p.name), p.tensor);
    }
  }
  return all;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (const NamedParameter& p : named_parameters()) all.push_back(p.tensor);
  return all;
}

Tensor Module::parameter(std::string_view name) const {
  for (const NamedParameter& p : named_parameters()) {
    if (p.name == name) return p.tensor;
  }
  fail<ValueError>("{}: has no parameter '{}'", type_, name);
}

Index Module::parameter_count() const {
  Index count = 0;
  for (const Tensor& p : parameters()) count += p.numel();
  return count;
}

void Module::zero_grad() {
  for (Tensor& p : parameters()) p.zero_grad();
}

// --- printing

void Module::print(std::string& out, int depth) const {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  const Index count = parameter_count();
  if (depth > 0) out += fmt::format("\n{}{}: ", indent, name_);
  out += fmt::format("{}({})", type_, details());
  if (depth == 0) out += fmt::format("  {} parameters", with_commas(count));
  else if (count > 0) out += fmt::format("  {}", with_commas(count));
  if (children_.empty()) return;  // a layer's details already tell of its parameters
  for (const NamedParameter& p : parameters_) {
    out += fmt::format("\n{}  {}: {}  {}", indent, p.name, p.tensor.shape().str(),
                       with_commas(p.tensor.numel()));
  }
  for (const auto& child : children_) child->print(out, depth + 1);
}

std::string to_string(const Module& module) {
  std::string out;
  module.print(out, 0);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  return out << to_string(module);
}

}  // namespace nn
