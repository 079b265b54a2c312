#include "nn/module.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>
#include <utility>

namespace nn {

using autograd::fail;
using autograd::GraphError;
using autograd::ValueError;

namespace {

thread_local const Module* running = nullptr;  // the innermost module that is in its forward
thread_local bool shapes_only = false;

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

ShapesOnly::ShapesOnly() : before_(std::exchange(shapes_only, true)) {}

ShapesOnly::~ShapesOnly() { shapes_only = before_; }

bool ShapesOnly::on() { return shapes_only; }

Tensor Module::forward(const Tensor&) {
  fail<GraphError>("{}: has no forward() that takes one tensor", type_);
}

// --- the tree

void Module::check_name(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    fail<ValueError>("{}: a name must not be empty or contain a dot, got '{}'", type_, name);
  }
  const auto taken = [&name](const Own& own) { return own.name == name; };
  const auto child_taken = [&name](const auto& child) { return child->name_ == name; };
  if (std::any_of(parameters_.begin(), parameters_.end(), taken) ||
      std::any_of(buffers_.begin(), buffers_.end(), taken) ||
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
    fail<GraphError>("{}: parameter '{}' must be a leaf, got a result of {}", type_, name,
                     value.op());
  }
  value.requires_grad_();
  if (ShapesOnly::on()) {
    parameters_.push_back({std::move(name), Tensor(), value.shape()});
    return {};
  }
  parameters_.push_back({std::move(name), value, value.shape()});
  return value;
}

Tensor Module::register_buffer(std::string name, Tensor value) {
  check_name(name);
  if (value.requires_grad()) {
    fail<GraphError>("{}: buffer '{}' requires a gradient; detach() it", type_, name);
  }
  buffers_.push_back({std::move(name), value, value.shape()});
  return value;
}

Generator& Module::register_generator(const Generator& generator) {
  if (generator_) fail<ValueError>("{}: already has a generator", type_);
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

// This module and all below, each tensor once, under its first name.
template <class Visit>
void Module::visit(std::vector<Own> Module::*kind, const Visit& f) const {
  std::unordered_set<const void*> seen;
  const auto below = [&](const auto& self, const Module& module, const std::string& path) -> void {
    for (const Own& own : module.*kind) {
      const bool is_known = own.tensor.defined() && !seen.insert(identity(own.tensor)).second;
      if (!is_known) f(path, own);
    }
    for (const auto& child : module.children_) self(self, *child, joined(path, child->name_));
  };
  below(below, *this, "");
}

std::vector<NamedParameter> Module::named_parameters() const {
  std::vector<NamedParameter> all;
  visit(&Module::parameters_, [&all](const std::string& path, const Own& own) {
    all.push_back({joined(path, own.name), own.tensor});
  });
  return all;
}

std::vector<NamedParameter> Module::named_buffers() const {
  std::vector<NamedParameter> all;
  visit(&Module::buffers_, [&all](const std::string& path, const Own& own) {
    all.push_back({joined(path, own.name), own.tensor});
  });
  return all;
}

std::vector<NamedShape> Module::named_shapes() const {
  std::vector<NamedShape> all;
  visit(&Module::parameters_, [&all](const std::string& path, const Own& own) {
    all.push_back({joined(path, own.name), own.shape});
  });
  return all;
}

const Shape& Module::shape_of(std::string_view name) const {
  for (const Own& own : parameters_) {
    if (own.name == name) return own.shape;
  }
  fail<ValueError>("{}: has no parameter '{}' of its own", type_, name);
}

void Module::to(DType dtype) {
  for (NamedParameter& p : named_parameters()) p.tensor.convert_(dtype);
  for (NamedParameter& b : named_buffers()) {
    if (autograd::is_float(b.tensor.dtype())) b.tensor.convert_(dtype);
  }
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  visit(&Module::parameters_,
        [&all](const std::string&, const Own& own) { all.push_back(own.tensor); });
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
  for (const NamedShape& s : named_shapes()) count += s.shape.numel();
  return count;
}

void Module::zero_grad() {
  for (Own& own : parameters_) {
    if (own.tensor.defined()) own.tensor.zero_grad();
  }
  for (const auto& child : children_) child->zero_grad();
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
  for (const Own& own : parameters_) {
    out += fmt::format("\n{}  {}: {}  {}", indent, own.name, own.shape.str(),
                       with_commas(own.shape.numel()));
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
