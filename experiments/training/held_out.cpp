#include "experiments/training/held_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/cli/errors.h"
#include "experiments/training/floors.h"

namespace experiments::training {
namespace {

autograd::Tensor rows(std::span<const std::int64_t> tokens, Index width) {
  return autograd::from_values(tokens, {std::ssize(tokens) / width, width});
}

}  // namespace

HeldOut held_out(const Tokens& text, const nn::GPTOptions& config, Index most,
                 const std::string& shown) {
  const Index T = config.block_size, train = std::ssize(text) * 9 / 10;
  const auto validation = std::span(text).subspan(static_cast<std::size_t>(train));
  if (std::ssize(validation) <= T) {
    throw cli::DataError(fmt::format(
        "{}: {} of its {} tokens are for validation, but block size {} needs at least {}", shown,
        validation.size(), text.size(), T, T + 1));
  }
  const Index windows = (std::ssize(validation) - 1) / T;
  HeldOut out;
  for (Index first = 0; first < windows; first += most) {
    const auto begin = static_cast<std::size_t>(first * T);
    const auto size = static_cast<std::size_t>(std::min(most, windows - first) * T);
    out.batches.push_back(
        {rows(validation.subspan(begin, size), T), rows(validation.subspan(begin + 1, size), T)});
  }
  const Floors known =
      floors(std::span(text).first(static_cast<std::size_t>(train)), validation, config.vocab_size);
  out.floors = {{"uniform", known.uniform}, {"unigram", known.unigram}, {"bigram", known.bigram}};
  return out;
}

}  // namespace experiments::training
