#pragma once

#include "experiments/attention/attention_view.h"

namespace experiments::attention {

/// From Q K^T to the weighted values, with the row's numbers.
std::string step_figure(const View& view);

}  // namespace experiments::attention
