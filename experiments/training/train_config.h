#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/options.h"
#include "experiments/training/tasks.h"
#include "nn/gpt.h"
#include "nn/schedule.h"

namespace experiments::training {

using autograd::Index;

/// Everything that defines a training run, except its seed and dtype. The names are nanoGPT's.
struct TrainConfig {
  // data
  std::string task = {};   // "copy" if there is no text either
  std::string data = {};   // a text file, instead of a task
  Index task_length = 0;   // 0: the task's own
  Index task_symbols = 0;  // 0: the task's own
  // model
  Index n_layer = 2;
  Index n_head = 4;
  Index n_embd = 64;
  Index block_size = 64;  // of text; a task has its own
  double dropout = 0;
  bool bias = false;
  bool untied = false;
  std::string scale = "sqrt_dk";
  bool qk_norm = false;
  std::string norm = "pre";
  std::string gelu = "erf";
  // optimizer
  std::string optimizer = "adamw";
  Index batch_size = 32;
  Index gradient_accumulation_steps = 1;
  Index max_iters = 500;
  double learning_rate = 1e-3;
  std::optional<double> min_lr = {};  // a tenth of learning_rate
  std::string schedule = "cosine";
  Index warmup_iters = 20;
  Index lr_decay_iters = 0;  // 0: max_iters
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double momentum = 0.9;
  double grad_clip = 1.0;  // 0: none
  // reports
  Index eval_interval = 100;
  Index eval_iters = 20;
  Index watch = 0;  // 0: never

  void add_to(cli::Options& options);
  /// The same as options: flags, each followed by its value.
  std::vector<std::string> words() const;
  /// The same as a JSON object, with seed and dtype.
  std::string json(std::uint64_t seed, nn::DType dtype) const;

  /// UsageError for options that cannot be combined.
  void validate() const;
  double final_lr() const { return min_lr.value_or(learning_rate / 10); }
  Index decay_iters() const { return lr_decay_iters > 0 ? lr_decay_iters : max_iters; }
  /// UsageError for an option that another one makes useless, unless it is at its default.
  void refuse_idle() const;
  /// UsageError if a run of `other` cannot go on as this one: another task or another model.
  void require_same_run(const TrainConfig& other) const;
  /// UsageError if the weights of a model of `other` do not fit this one.
  void require_same_weights(const TrainConfig& other) const;
  /// Takes over what makes the model of `other`.
  void take_model(const TrainConfig& other);
  std::string task_name() const { return task.empty() ? "copy" : task; }
  TaskOptions task_options() const;
  nn::Schedule lr_schedule() const;
  nn::GPTOptions model(Index vocab_size, Index block, nn::DType dtype) const;
};

/// What TrainConfig::json() wrote.
struct StoredConfig {
  TrainConfig config;
  std::uint64_t seed = 0;
  std::string dtype;

  std::vector<std::string> words() const;  // of the config, and --seed and --dtype
};
/// DataError, naming `shown`, if that is not what `json` holds, each value in its range.
StoredConfig parse_config(const std::string& json, const std::string& shown);

/// Bytes at the peak of a training run: parameters, their gradients and averages, and what backward
/// keeps of a batch. An estimate, and a large one where the vocabulary is not known yet.
double training_bytes(const TrainConfig& config, double item_size);

/// What a preset stands for; the defaults for "none".
TrainConfig preset_config(const std::string& preset);
inline const std::vector<std::string> kPresets = {"shakespeare-cpu"};

}  // namespace experiments::training
