#pragma once

#include <string>

#include "nn/io/safetensors.h"
#include "nn/optim.h"

// Saving and loading what a module and its training are made of. Files are safetensors files, which
// PyTorch and others read too; they appear whole or not at all, and damaged ones are refused.
// IoError where a file cannot be read or written, DataError for one that is damaged; both name it.

namespace nn {

/// The weights alone: save("gpt.safetensors", gpt.state()) and, later or elsewhere,
/// gpt.load_state(load("gpt.safetensors")).
void save(const std::string& path, const State& state);
State load(const std::string& path);

/// What a training loop needs to go on, bit for bit, as if it had never stopped.
struct TrainingState {
  State model;
  State optimizer;
  GeneratorStates generators;  // of the model's tree
};

TrainingState training_state(const Module& model, const Optimizer& optimizer);
/// The reverse. Throws as load_state() and set_generators() do; then nothing has changed.
void load_training_state(const TrainingState& state, Module& model, Optimizer& optimizer);

/// All of it in one file:
///   nn::load_training("run.safetensors", model, optimizer);
///   for (nn::Index i = optimizer.steps(); i < 1000; ++i) {
///     ...
///     if (i % 100 == 99) nn::save_training("run.safetensors", model, optimizer);
///   }
/// DataError also for a file that holds something else.
void save_training(const std::string& path, const Module& model, const Optimizer& optimizer);
void load_training(const std::string& path, Module& model, Optimizer& optimizer);

/// As a file holds it: the model's tensors under their own names, the optimizer's with "optimizer."
/// before them, and as metadata "gradlab.generator.NAME": seed and next stream, "42 7". DataError
/// for a tensor of the model that begins like one of the optimizer.
Safetensors to_safetensors(const TrainingState& state);
/// Other metadata is ignored. The DataError does not name the path.
TrainingState from_safetensors(const Safetensors& content);

}  // namespace nn
