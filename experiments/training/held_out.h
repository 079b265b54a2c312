#pragma once

#include <vector>

#include "experiments/training/source.h"
#include "experiments/training/tokenizer.h"

namespace experiments::training {

using autograd::Index;

/// What a trained model is measured on, and the losses of baselines on it.
struct HeldOut {
  std::vector<Batch> batches;
  std::vector<Floor> floors;
};

/// The validation part of a text, its last tenth as in TextData, in windows side by side; at most
/// `most` windows a batch. DataError, naming `shown`, unless that is one window or more.
HeldOut held_out(const Tokens& text, const nn::GPTOptions& config, Index most,
                 const std::string& shown);

/// All of a text that no part of was trained on, every token but the first a target; the last
/// window may be shorter. DataError, naming `shown`, unless there are two tokens.
HeldOut whole_text(const Tokens& text, const nn::GPTOptions& config, Index most,
                   const std::string& shown);

}  // namespace experiments::training
