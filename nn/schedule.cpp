#include "nn/schedule.h"

#include <cmath>
#include <numbers>

namespace nn {

using autograd::fail;
using autograd::ValueError;

const char* name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::constant: return "constant";
    case ScheduleKind::linear: return "linear";
    case ScheduleKind::cosine: break;
  }
  return "cosine";
}

ScheduleKind parse_schedule(std::string_view text) {
  for (const ScheduleKind kind : kScheduleKinds) {
    if (text == name(kind)) return kind;
  }
  fail<ValueError>("schedule: expected constant, linear or cosine, got '{}'", text);
}

double Schedule::at(Index iter) const {
  const auto it = static_cast<double>(iter), warmup = static_cast<double>(warmup_iters);
  if (iter < warmup_iters) return lr * (it + 1) / (warmup + 1);
  if (kind == ScheduleKind::constant || iter == warmup_iters) return lr;
  if (iter >= decay_iters) return min_lr;
  // Here warmup_iters < iter < decay_iters.
  const double done = (it - warmup) / (static_cast<double>(decay_iters) - warmup);
  const double left =
      kind == ScheduleKind::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return min_lr + left * (lr - min_lr);
}

const Schedule& checked(const Schedule& s) {
  if (!(s.lr >= 0) || !std::isfinite(s.lr)) {
    fail<ValueError>("schedule: lr: expected a finite number of at least 0, got {}", s.lr);
  }
  if (!(s.min_lr >= 0 && s.min_lr <= s.lr)) {
    fail<ValueError>("schedule: min_lr: expected a number in [0, lr = {}], got {}", s.lr, s.min_lr);
  }
  if (s.warmup_iters < 0) {
    fail<ValueError>("schedule: warmup_iters: expected at least 0, got {}", s.warmup_iters);
  }
  if (s.decay_iters < 0) {
    fail<ValueError>("schedule: decay_iters: expected at least 0, got {}", s.decay_iters);
  }
  return s;
}

}  // namespace nn
