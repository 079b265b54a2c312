#include "nn/optim.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace nn {

using autograd::DTypeError;
using autograd::fail;
using autograd::GraphError;
using autograd::ShapeError;
using autograd::ValueError;

namespace {

void check_at_least_zero(const std::string& type, const char* what, double value) {
  if (!(value >= 0) || !std::isfinite(value)) {
    fail<ValueError>("{}: {}: expected a finite number of at least 0, got {}", type, what, value);
  }
}

void check_parameter(const std::string& type, const NamedParameter& p) {
  if (!p.tensor.defined()) fail<ValueError>("{}: '{}' is undefined", type, p.name);
  if (!p.tensor.is_leaf()) {
    fail<GraphError>("{}: '{}' must be a leaf, got a result of {}", type, p.name, p.tensor.op());
  }
  if (!autograd::is_float(p.tensor.dtype())) {
    fail<DTypeError>("{}: '{}': expected f32 or f64, got {}", type, p.name, name(p.tensor.dtype()));
  }
}

// `value` takes the place of `current`.
void check_value(const std::string& type, const std::string& key, const Tensor& current,
                 const Tensor& value) {
  if (!value.defined()) fail<ValueError>("{}: load_state: '{}' is undefined", type, key);
  if (value.shape() != current.shape()) {
    fail<ShapeError>("{}: load_state: '{}' expected {}, got {}", type, key, current.shape().str(),
                     value.shape().str());
  }
  if (value.dtype() != current.dtype()) {
    fail<DTypeError>("{}: load_state: '{}' expected {}, got {}", type, key, name(current.dtype()),
                     name(value.dtype()));
  }
}

// The number of steps as the state holds it.
Tensor as_tensor(Index steps) { return autograd::full({}, static_cast<double>(steps), DType::i64); }

constexpr const char* kStep = "step";

}  // namespace

std::vector<ParameterGroup> decay_groups(const Module& module, double weight_decay) {
  std::vector<ParameterGroup> groups = {{.weight_decay = weight_decay}, {.weight_decay = 0.0}};
  for (NamedParameter& p : module.named_parameters()) {
    groups[p.tensor.rank() >= 2 ? 0 : 1].parameters.push_back(std::move(p));
  }
  return groups;
}

Optimizer::Optimizer(std::string type, std::vector<ParameterGroup> groups, GroupOptions defaults,
                     std::vector<std::string> slots)
    : type_(std::move(type)),
      groups_(std::move(groups)),
      defaults_(defaults),
      slot_names_(std::move(slots)),
      lr_(defaults.lr) {
  check_groups();
  for (const ParameterGroup& group : groups_) {
    for (const NamedParameter& p : group.parameters) {
      std::vector<Tensor>& own = slots_.emplace_back();
      for (std::size_t i = 0; i < slot_names_.size(); ++i) {
        own.push_back(autograd::zeros(p.tensor.shape(), p.tensor.dtype()));
      }
    }
  }
}

void Optimizer::check_groups() const {
  check_at_least_zero(type_, "lr", defaults_.lr);
  check_at_least_zero(type_, "weight_decay", defaults_.weight_decay);
  check_at_least_zero(type_, "eps", defaults_.eps);
  std::map<const void*, std::string> tensors;
  std::set<std::string> names;
  for (const ParameterGroup& group : groups_) {
    check_at_least_zero(type_, "lr_scale of a group", group.lr_scale);
    check_at_least_zero(type_, "weight_decay of a group", group.weight_decay.value_or(0));
    check_at_least_zero(type_, "eps of a group", group.eps.value_or(0));
    for (const NamedParameter& p : group.parameters) {
      check_parameter(type_, p);
      const auto [known, is_new] = tensors.emplace(identity(p.tensor), p.name);
      if (!is_new)
        fail<ValueError>("{}: '{}' and '{}' are the same parameter", type_, p.name, known->second);
      if (!names.insert(p.name).second) {
        fail<ValueError>("{}: two parameters have the name '{}'", type_, p.name);
      }
    }
  }
  if (names.empty()) fail<ValueError>("{}: expected at least one parameter, got none", type_);
}

void Optimizer::step() {
  ++steps_;
  auto slots = slots_.begin();
  for (ParameterGroup& group : groups_) {
    const GroupOptions options{lr_ * group.lr_scale,
                               group.weight_decay.value_or(defaults_.weight_decay),
                               group.eps.value_or(defaults_.eps)};
    for (NamedParameter& p : group.parameters) {
      const Tensor grad = p.tensor.grad();
      if (grad.defined()) update(p.tensor, grad, *slots, options);
      ++slots;
    }
  }
}

void Optimizer::zero_grad() {
  for (ParameterGroup& group : groups_) {
    for (NamedParameter& p : group.parameters) p.tensor.zero_grad();
  }
}

void Optimizer::set_lr(double lr) {
  check_at_least_zero(type_, "lr", lr);
  lr_ = lr;
}

// --- state

State Optimizer::slots_by_name() const {
  State named;
  auto slots = slots_.begin();
  for (const ParameterGroup& group : groups_) {
    for (const NamedParameter& p : group.parameters) {
      for (std::size_t i = 0; i < slot_names_.size(); ++i) {
        named.emplace(slot_names_[i] + "." + p.name, (*slots)[i]);
      }
      ++slots;
    }
  }
  return named;
}

State Optimizer::state() const {
  State state = slots_by_name();
  for (auto& entry : state) entry.second = entry.second.detach();
  state.emplace(kStep, as_tensor(steps_));
  return state;
}

void Optimizer::load_state(const State& state) {
  State expected = slots_by_name();
  expected.emplace(kStep, as_tensor(steps_));
  for (const auto& [key, current] : expected) {
    const auto found = state.find(key);
    if (found == state.end()) fail<ValueError>("{}: load_state: missing '{}'", type_, key);
    check_value(type_, key, current, found->second);
  }
  for (const auto& entry : state) {
    if (expected.count(entry.first) == 0) {
      fail<ValueError>("{}: load_state: unexpected '{}'", type_, entry.first);
    }
  }
  const double steps = state.at(kStep).item();
  if (steps < 0)
    fail<ValueError>("{}: load_state: expected 'step' of at least 0, got {}", type_, steps);

  steps_ = static_cast<Index>(steps);
  expected.erase(kStep);
  for (auto& entry : expected) entry.second.set_data(state.at(entry.first).data());
}

}  // namespace nn
