#include "experiments/training/floors.h"

#include <cmath>
#include <unordered_map>
#include <vector>

namespace experiments::training {
namespace {

/// -ln of the smoothed frequency of what was seen `count` times among `total`.
double nats(double count, double total, Index vocab_size) {
  return -std::log((count + kSmoothing) / (total + kSmoothing * static_cast<double>(vocab_size)));
}

std::vector<double> counts_of(std::span<const std::int64_t> tokens, Index vocab_size) {
  std::vector<double> counts(static_cast<std::size_t>(vocab_size));
  for (const std::int64_t token : tokens) ++counts[static_cast<std::size_t>(token)];
  return counts;
}

}  // namespace

double uniform_floor(Index vocab_size) { return std::log(static_cast<double>(vocab_size)); }

double unigram_floor(std::span<const std::int64_t> counted, std::span<const std::int64_t> measured,
                     Index vocab_size) {
  const std::vector<double> counts = counts_of(counted, vocab_size);
  const auto total = static_cast<double>(counted.size());
  double sum = 0;
  for (const std::int64_t token : measured)
    sum += nats(counts[static_cast<std::size_t>(token)], total, vocab_size);
  return sum / static_cast<double>(measured.size());
}

double bigram_floor(std::span<const std::int64_t> counted, std::span<const std::int64_t> measured,
                    Index vocab_size) {
  const auto pair = [vocab_size](std::span<const std::int64_t> tokens, std::size_t i) {
    return tokens[i - 1] * vocab_size + tokens[i];
  };
  std::unordered_map<std::int64_t, double> pairs;
  for (std::size_t i = 1; i < counted.size(); ++i) ++pairs[pair(counted, i)];
  // The last token begins no pair.
  const std::vector<double> firsts =
      counts_of(counted.first(counted.empty() ? 0 : counted.size() - 1), vocab_size);
  double sum = 0;
  for (std::size_t i = 1; i < measured.size(); ++i) {
    const auto seen = pairs.find(pair(measured, i));
    sum += nats(seen == pairs.end() ? 0 : seen->second,
                firsts[static_cast<std::size_t>(measured[i - 1])], vocab_size);
  }
  return sum / static_cast<double>(measured.size() - 1);
}

Floors floors(std::span<const std::int64_t> train, std::span<const std::int64_t> validation,
              Index vocab_size) {
  return {uniform_floor(vocab_size), unigram_floor(train, validation, vocab_size),
          bigram_floor(train, validation, vocab_size)};
}

}  // namespace experiments::training
