#include "experiments/training/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/cli/signals.h"
#include "experiments/report/text.h"
#include "experiments/training/vocabulary.h"
#include "nn/eval_mode.h"

namespace experiments::training {

std::int64_t start_token(const std::vector<std::string>& vocabulary) {
  const auto line = std::ranges::find(vocabulary, "\n");
  return line == vocabulary.end() ? 0 : line - vocabulary.begin();
}

std::string sample_text(nn::GPT& model, const std::vector<std::string>& vocabulary, Index count,
                        autograd::RandomKey key) {
  Tokens tokens;
  generate(model, {start_token(vocabulary)}, count, {.temperature = 0.8}, key,
           [&](std::int64_t token) {
             cli::throw_if_interrupted();
             tokens.push_back(token);
             return true;
           });
  return Vocabulary(vocabulary).decode(tokens);
}

std::string sample_task(nn::GPT& model, const std::vector<std::string>& vocabulary,
                        const Batch& batch) {
  const nn::EvalMode eval(model);
  const autograd::Array best = argmax(model(batch.x), -1).data();
  const auto guesses = best.read<std::int64_t>();
  const autograd::Array x = batch.x.data(), y = batch.y.data();
  const auto given = x.read<std::int64_t>(), wanted = y.read<std::int64_t>();
  const auto text = [&](std::int64_t token) {
    return vocabulary.at(static_cast<std::size_t>(token)) + ' ';
  };
  const auto width = static_cast<std::size_t>(batch.x.size(1));
  std::string lines;
  for (std::size_t begin = 0; begin < given.size(); begin += width) {
    std::string question, answer, guess;
    for (std::size_t i = begin; i < begin + width; ++i) {
      question += text(given[i]);
      if (wanted[i] == kIgnored) continue;
      answer += text(wanted[i]);
      guess += text(guesses[i]);
    }
    lines += fmt::format("{}-> {}{}\n", question, guess,
                         guess == answer ? "right" : fmt::format("wrong: {}", answer));
  }
  return lines;
}

std::string readable(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", begin), text.size());
    out += report::printable(text.substr(begin, end - begin));
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

}  // namespace experiments::training
