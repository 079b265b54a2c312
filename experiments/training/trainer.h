#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/training/checkpoint.h"
#include "experiments/training/loaded_model.h"
#include "experiments/training/source.h"
#include "nn/gpt.h"
#include "nn/optim.h"

namespace experiments::training {

using autograd::Index;

/// What one iteration saw, before its update.
struct Iteration {
  double loss;
  double grad_norm;  // before clipping
  double lr;
};

struct Evaluation {
  double loss;      // mean nats per counted token
  double accuracy;  // share of counted tokens that were the most likely one
};

/// Loss and accuracy over batch(0) to batch(count - 1), weighted by their counted tokens; in
/// evaluation mode. Interrupted between any two ops. NumericError, with the parameter or the first
/// op that is to blame, if the loss is not finite.
Evaluation evaluate(nn::GPT& model, Index count, const std::function<Batch(Index)>& batch);

/// A model, its optimizer and the place in its training. Equal configs and seeds give equal bits,
/// on any number of threads, in one go or with a checkpoint between any two iterations.
class Trainer {
 public:
  Trainer(const TrainConfig& config, const Source& source, std::uint64_t seed, nn::DType dtype);

  /// Forward and backward of the next iteration's batches. NumericError, with the first op that
  /// failed, if loss or gradient is not finite; Interrupted between any two ops. Then nothing has
  /// changed.
  Iteration forward_backward();
  /// The update that forward_backward() has prepared.
  void apply();

  Index iteration() const { return iteration_; }  // applied so far
  nn::GPT& model() { return model_; }
  nn::Optimizer& optimizer() { return *optimizer_; }
  /// The batch of an iteration: that of its first micro-batch.
  Batch batch(Index iteration, Index micro_batch = 0) const;
  double backward_of(Index iteration);  // the loss; gradients are added up

  /// NumericError, naming it, for a weight or an average that no training gives: not finite, or
  /// below 0 where it is one of squares. Nobody can save such a state or go on from it.
  Checkpoint checkpoint() const;
  /// DataError, naming `shown`, for what does not fit this trainer; NumericError as above.
  void restore(const Checkpoint& checkpoint, const std::string& shown);
  /// The same weights, and nothing else of where they come from.
  void start_from(const LoadedModel& given);

 private:
  void require_vocabulary(const std::vector<std::string>& theirs, const std::string& shown) const;
  [[noreturn]] void explain(const std::string& what, const nn::GeneratorStates& before);

  TrainConfig config_;
  const Source& source_;
  std::uint64_t seed_;
  nn::DType dtype_;
  nn::GPT model_;
  std::vector<nn::Tensor> parameters_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  nn::Schedule schedule_;
  Index iteration_ = 0;
};

}  // namespace experiments::training
