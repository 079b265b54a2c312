#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/io/save.h"

namespace experiments::training {

/// A training run at one step: what it takes to go on as if it had never stopped. One safetensors
/// file: what nn::to_safetensors() says of its training state, and in __metadata__
///   gradlab.checkpoint        the version of all this, "1"
///   gradlab.step              "2000"
///   gradlab.config            a JSON object
///   gradlab.vocabulary        a JSON list; a token is a text, or its bytes where it is not UTF-8
///   gradlab.data              what the data hash to, if there are any
///   gradlab.metric.NAME       "1.4697", "nan", "-inf"
/// Keys of other programs are ignored. Everything comes back bit for bit, except the payload of a
/// metric that is NaN.
struct Checkpoint : nn::TrainingState {
  std::int64_t step = 0;
  std::string config_json = "{}";
  std::vector<std::string> vocabulary = {};
  std::string data = {};                       // Source::fingerprint(); "" if unknown
  std::map<std::string, double> metrics = {};  // "val_loss", "best_val_loss"
};

/// See nn::write_safetensors. DataError also for a model tensor called "optimizer.…", a config that
/// is no JSON object and a step below 0: load_checkpoint() would not take them.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// See nn::read_safetensors. DataError also for metadata that is missing, unknown or malformed.
Checkpoint load_checkpoint(const std::string& path);

}  // namespace experiments::training
