#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/tensor.h"
#include "experiments/experiment.h"

// Words as the input of an attention layer.

namespace experiments::attention {

inline constexpr Index kMaxTokens = 64;  // what a heatmap shows within 100 columns

/// The words of `text`, split at ASCII white space. UsageError, naming `flag`, unless it is
/// UTF-8 with 1 to kMaxTokens words.
std::vector<std::string> split_words(std::string_view flag, std::string_view text);

/// "t0", "t1", ...
std::vector<std::string> numbered_tokens(Index count);

/// (T, C): a vector N(0,1) for each word, the same at every position and in every text of a seed,
/// plus a vector N(0, 1/4) for each position.
autograd::Tensor embedded(const std::vector<std::string>& words, Index channels, const Run& run);

/// "3 mat".
std::string numbered(Index i, const std::vector<std::string>& tokens);
/// The same for the terminal: at most 16 columns, cut with an ellipsis or "~".
std::string title(Index i, const std::vector<std::string>& tokens, const Run& run);

}  // namespace experiments::attention
