#include "experiments/training/parameter_watch.h"

#include <stdexcept>
#include <utility>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"

namespace experiments::training {
namespace {

using autograd::Array;

double change_norm(const Array& before, const Array& after) {
  if (before.shares_memory_with(after)) return 0;
  return autograd::euclidean_norm(after - before);
}

double ratio(double change, double norm_before) {
  if (change == 0) return 0;
  return change / (norm_before == 0 ? change : norm_before);  // from zero the change is all
}

}  // namespace

ParameterWatch::ParameterWatch(std::vector<nn::NamedParameter> parameters)
    : parameters_(std::move(parameters)) {}

void ParameterWatch::before() {
  memory_.emplace();
  for (const nn::NamedParameter& p : parameters_) {
    Memory& memory = memory_->emplace_back(Memory{p.tensor.data(), std::nullopt});
    const autograd::Tensor grad = p.tensor.grad();
    if (grad.defined()) memory.grad_norm = autograd::euclidean_norm(grad.data());
  }
}

std::vector<ParameterStats> ParameterWatch::after() {
  if (!memory_) throw std::logic_error("ParameterWatch: after() without before()");
  std::vector<ParameterStats> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [value, grad_norm] = (*memory_)[i];
    const double size = autograd::euclidean_norm(value);
    const double change = change_norm(value, parameters_[i].tensor.data());
    all.push_back({parameters_[i].name, grad_norm, size, ratio(change, size)});
  }
  memory_.reset();
  return all;
}

}  // namespace experiments::training
