#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/array/shape.h"
#include "experiments/cli/errors.h"
#include "nn/scale.h"

// Option values, from text to numbers and names. Every function takes the option's name for its
// message and throws UsageError: "--rows: expected a whole number in [1, 1000], got '5x'".

namespace experiments::cli {

using autograd::Index;

Index parse_integer(std::string_view flag, std::string_view text, Index min, Index max);
std::uint64_t parse_unsigned(std::string_view flag, std::string_view text,
                             std::uint64_t max = std::numeric_limits<std::uint64_t>::max());
/// Finite and in [min, max]; an infinite bound is no bound.
double parse_number(std::string_view flag, std::string_view text, double min, double max);
std::string parse_text(std::string_view flag, std::string_view text);
std::string parse_choice(std::string_view flag, std::string_view text,
                         std::span<const std::string> allowed);
std::vector<std::string> parse_choices(std::string_view flag, std::string_view text,
                                       std::span<const std::string> allowed);
/// See Options::sizes; at most kMaxSizes of them, none twice.
std::vector<Index> parse_sizes(std::string_view flag, std::string_view text, Index min, Index max);
inline constexpr std::size_t kMaxSizes = 1000;
nn::Scale parse_scale(std::string_view flag, std::string_view text);
/// None twice.
std::vector<nn::Scale> parse_scales(std::string_view flag, std::string_view text);

/// UsageError unless --n-head divides --n-embd.
void require_divides(Index n_head, Index n_embd);

}  // namespace experiments::cli
