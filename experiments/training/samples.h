#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/training/generate.h"
#include "experiments/training/source.h"

namespace experiments::training {

using autograd::Index;

/// What a text starts from if no prompt is given: a new line, or the first token if the
/// vocabulary has none.
std::int64_t start_token(const std::vector<std::string>& vocabulary);

/// `count` characters that the model writes after its start token.
std::string sample_text(nn::GPT& model, const std::vector<std::string>& vocabulary, Index count,
                        autograd::RandomKey key);

/// Examples of a task, one per line: the question, the model's answer, and whether it is right.
std::string sample_task(nn::GPT& model, const std::vector<std::string>& vocabulary,
                        const Batch& batch);

/// `text` harmless on a terminal: control characters but line ends and tabs escaped.
std::string readable(std::string_view text);

}  // namespace experiments::training
