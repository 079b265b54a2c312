#include "experiments/training/parameter_watch.h"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace experiments::training {
namespace {

using autograd::Array;

double norm(const Array& a) {
  return autograd::dispatch_float(a.dtype(), "ParameterWatch", [&a](auto tag) {
    double squares = 0;
    for (const auto v : a.read<decltype(tag)>()) {
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    return std::sqrt(squares);
  });
}

double change_norm(const Array& before, const Array& after) {
  if (before.shares_memory_with(after)) return 0;
  return autograd::dispatch_float(before.dtype(), "ParameterWatch", [&](auto tag) {
    const auto x = before.read<decltype(tag)>(), y = after.read<decltype(tag)>();
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double step = static_cast<double>(y[i]) - static_cast<double>(x[i]);
      squares += step * step;
    }
    return std::sqrt(squares);
  });
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
    if (grad.defined()) memory.grad_norm = norm(grad.data());
  }
}

std::vector<ParameterStats> ParameterWatch::after() {
  if (!memory_) throw std::logic_error("ParameterWatch: after() without before()");
  std::vector<ParameterStats> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [value, grad_norm] = (*memory_)[i];
    const double size = norm(value);
    const double change = change_norm(value, parameters_[i].tensor.data());
    all.push_back({parameters_[i].name, grad_norm, size, ratio(change, size)});
  }
  memory_.reset();
  return all;
}

}  // namespace experiments::training
