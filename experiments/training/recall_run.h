#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/training/head_stats.h"
#include "experiments/training/tasks.h"
#include "nn/attention.h"
#include "nn/optim.h"

// One attention head that learns to look things up.

namespace experiments::training {

using autograd::Index;

struct RecallOptions {
  Index d_k = 16;
  nn::Scale scale = nn::Scale::sqrt_dk();
  Index pairs = 8;     // of a key and a value, before the key to look up
  Index symbols = 16;  // different keys, and values
  Index width = 64;    // C: channels of the model, whatever d_k is
  Index batch_size = 64;
  double learning_rate = 3e-3;
  Index max_iters = 1000;
  std::uint64_t seed = 0;
  autograd::DType dtype = autograd::DType::f32;
};

inline constexpr Index kCheckEvery = 5;     // steps
inline constexpr double kLearnt = 0.95;     // of accuracy
inline constexpr Index kCheckBatch = 512;   // examples of a check
inline constexpr Index kFinalBatch = 2048;  // examples of the final accuracy

/// What a check saw, all on examples of its own; the head's rows are the queries that are scored.
struct RecallCheck {
  Index step;
  double accuracy;
  HeadStats head;
};

/// A model in training with AdamW at one fixed rate. Runs of one seed see the same batches and
/// start from the same weights but for those of query and key.
class RecallRun {
 public:
  explicit RecallRun(const RecallOptions& options);
  ~RecallRun();
  RecallRun(RecallRun&&) noexcept;

  bool done() const;  // learnt, or out of iterations
  /// Up to the next check; nothing once done. NumericError if the loss is not finite.
  void advance();

  bool learnt() const { return checks_.back().accuracy >= kLearnt; }
  const std::vector<RecallCheck>& checks() const { return checks_; }  // at step 0 first
  double final_accuracy() const;
  const RecallOptions& options() const { return options_; }

 private:
  class Model;
  void step();
  void check();

  RecallOptions options_;
  Task task_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<nn::AdamW> optimizer_;
  Index step_ = 0;
  std::vector<RecallCheck> checks_;
};

}  // namespace experiments::training
