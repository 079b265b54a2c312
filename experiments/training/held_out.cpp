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

/// The full windows of a text, side by side.
std::vector<Batch> windows_of(std::span<const std::int64_t> text, Index T, Index most) {
  std::vector<Batch> batches;
  const Index windows = (std::ssize(text) - 1) / T;
  for (Index first = 0; first < windows; first += most) {
    const auto begin = static_cast<std::size_t>(first * T);
    const auto size = static_cast<std::size_t>(std::min(most, windows - first) * T);
    batches.push_back({rows(text.subspan(begin, size), T), rows(text.subspan(begin + 1, size), T)});
  }
  return batches;
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
  HeldOut out{.batches = windows_of(validation, T, most), .floors = {}};
  const Floors known =
      floors(std::span(text).first(static_cast<std::size_t>(train)), validation, config.vocab_size);
  out.floors = {{"uniform", known.uniform}, {"unigram", known.unigram}, {"bigram", known.bigram}};
  return out;
}

HeldOut whole_text(const Tokens& text, const nn::GPTOptions& config, Index most,
                   const std::string& shown) {
  if (text.size() < 2)
    throw cli::DataError(
        fmt::format("{}: expected at least 2 tokens to measure on, got {}", shown, text.size()));
  const Index T = config.block_size, rest = (std::ssize(text) - 1) % T;
  HeldOut out{.batches = windows_of(text, T, most),
              .floors = {{"uniform", uniform_floor(config.vocab_size)}}};
  if (rest > 0) {
    const auto last = std::span(text).last(static_cast<std::size_t>(rest + 1));
    const std::vector<Batch> shorter = windows_of(last, rest, 1);
    out.batches.insert(out.batches.end(), shorter.begin(), shorter.end());
  }
  return out;
}

}  // namespace experiments::training
