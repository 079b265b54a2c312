#pragma once

#include <string>
#include <vector>

#include "experiments/attention/attention_pass.h"

// What `gradlab attention` draws. Each figure consists of whole lines.

namespace experiments::attention {

struct View {
  const AttentionPass& pass;
  const std::vector<std::string>& tokens;
  const Run& run;
  std::string scale;  // the written form
  bool causal = false;
  Index head = 0;  // whose rows and steps are shown
  Index row = -1;  // the marked query; none if negative

  std::string title(Index query) const;  // "3 mat"
};

inline constexpr Index kMaxMaps = 16;  // heads drawn

/// The weights of every head, and the gradients of weights and scores where there are any.
std::string map_figure(const View& view);

/// Where the row's token looks, and the products whose sum each score is.
std::string row_figure(const View& view);

}  // namespace experiments::attention
