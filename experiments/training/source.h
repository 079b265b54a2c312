#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/training/batch.h"
#include "experiments/training/train_config.h"

namespace experiments::training {

using autograd::Index;

/// The loss of a baseline without a network, in nats per token.
struct Floor {
  std::string name;  // "uniform", "unigram", "bigram"
  double loss;
};

/// Where a training run takes its batches from: a text, or a task. Targets of -1 do not count.
class Source {
 public:
  virtual ~Source() = default;
  virtual const std::vector<std::string>& vocabulary() const = 0;  // one text per token
  virtual Index block_size() const = 0;
  /// Batches of training and of validation data; each a function of the key.
  virtual Batch train_batch(Index size, autograd::RandomKey key) const = 0;
  virtual Batch validation_batch(Index size, autograd::RandomKey key) const = 0;
  /// What the final evaluation goes over: every window of a text's validation part, or many
  /// examples of a task.
  virtual std::vector<Batch> final_batches() const = 0;
  virtual std::vector<Floor> floors() const = 0;
  virtual bool is_text() const = 0;
  /// Differs where the data do; "" for a task, which its options tell.
  virtual std::string fingerprint() const { return ""; }
};

/// By --data or --task. IoError and DataError as TextData throws them. A text is read with
/// `vocabulary`, or if that is empty with its own characters; DataError for what is not in it.
std::unique_ptr<Source> make_source(const TrainConfig& config, std::uint64_t seed,
                                    const std::vector<std::string>& vocabulary = {});

}  // namespace experiments::training
