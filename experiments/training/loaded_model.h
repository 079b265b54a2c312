#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/training/run_folder.h"
#include "experiments/training/train_config.h"

namespace experiments::training {

using autograd::Index;

/// NumericError, naming `shown` and the tensor, where one has a NaN or an infinity.
void require_finite(const nn::State& state, const std::string& shown);

/// A GPT made from its checkpoint alone. Before any of it is made, the config is checked against
/// the tensors: a size that only one of them claims is a DataError, not an allocation.
class LoadedModel {
 public:
  /// IoError and DataError, naming the file.
  explicit LoadedModel(const RunFolder& folder);
  /// DataError, naming `shown`.
  LoadedModel(Checkpoint checkpoint, std::string shown);

  const std::string& shown() const { return shown_; }  // the file, for messages
  const StoredConfig& stored() const { return stored_; }
  const nn::GPTOptions& options() const { return options_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const nn::State& state() const { return checkpoint_.model; }
  const std::vector<std::string>& vocabulary() const { return checkpoint_.vocabulary; }
  /// Whether it was trained on the task of its config; a converted one knows neither task nor text.
  bool has_task() const;

  std::unique_ptr<nn::GPT> make(nn::DType dtype) const;
  /// An estimate of the peak memory of a forward pass over `batch` sequences.
  double forward_bytes(Index batch, nn::DType dtype) const;
  /// What an nn::KVCache takes at most besides: it doubles, and old and new room live side by side.
  double cache_bytes(nn::DType dtype) const;

 private:
  std::string shown_;
  Checkpoint checkpoint_;
  StoredConfig stored_;
  nn::GPTOptions options_;
};

}  // namespace experiments::training
