#pragma once

#include <cstdint>
#include <span>

#include "experiments/cli/options.h"

// Losses of baselines without a network, in nats per token: a trained model has to be below them.
// Counts start at kSmoothing, so that what was never seen is not impossible.

namespace experiments::training {

using autograd::Index;

inline constexpr double kSmoothing = 0.1;

/// All tokens equally likely: ln V.
double uniform_floor(Index vocab_size);

/// Cross-entropy of `measured` under the frequencies of single tokens in `counted`; both in
/// [0, vocab_size), `measured` not empty.
double unigram_floor(std::span<const std::int64_t> counted, std::span<const std::int64_t> measured,
                     Index vocab_size);

/// The same under the frequencies of each token after the one before it; at least two measured.
double bigram_floor(std::span<const std::int64_t> counted, std::span<const std::int64_t> measured,
                    Index vocab_size);

struct Floors {
  double uniform, unigram, bigram;
};
Floors floors(std::span<const std::int64_t> train, std::span<const std::int64_t> validation,
              Index vocab_size);

}  // namespace experiments::training
