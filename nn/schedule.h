#pragma once

#include <array>
#include <string_view>

#include "nn/types.h"

namespace nn {

enum class ScheduleKind { constant, linear, cosine };

inline constexpr std::array kScheduleKinds = {ScheduleKind::constant, ScheduleKind::linear,
                                              ScheduleKind::cosine};

const char* name(ScheduleKind kind);
/// ValueError with the text and the allowed names.
ScheduleKind parse_schedule(std::string_view text);

/// The learning rate of each iteration, counted from 0: a linear warm-up from
/// lr / (warmup_iters + 1) that reaches lr at iteration warmup_iters, then lr itself or a way down
/// to min_lr, where it stays from iteration decay_iters on. If decay_iters is not after the
/// warm-up, lr lasts one iteration.
struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double lr = 1e-3;  // the peak
  double min_lr = 0.0;
  Index warmup_iters = 0;
  Index decay_iters = 0;  // linear and cosine

  double at(Index iter) const;  // iter at least 0
};

/// The same schedule; ValueError, naming the value, unless 0 <= min_lr <= lr, finite, and no count
/// is negative.
const Schedule& checked(const Schedule& schedule);

}  // namespace nn
