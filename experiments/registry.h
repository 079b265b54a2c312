#pragma once

#include "experiments/experiment.h"

namespace experiments {

/// All commands, alphabetical.
std::span<const Entry> registry();

// Each is defined in the file of its command.
namespace attention {
std::unique_ptr<Experiment> make_attention();
std::unique_ptr<Experiment> make_heads();
std::unique_ptr<Experiment> make_reach();
}  // namespace attention
namespace softmax {
std::unique_ptr<Experiment> make_lesson();
std::unique_ptr<Experiment> make_overflow();
std::unique_ptr<Experiment> make_scaling();
std::unique_ptr<Experiment> make_variance();
}  // namespace softmax
namespace tools {
std::unique_ptr<Experiment> make_bench();
std::unique_ptr<Experiment> make_gradcheck();
std::unique_ptr<Experiment> make_info();
}  // namespace tools
namespace training {
std::unique_ptr<Experiment> make_convert();
std::unique_ptr<Experiment> make_eval();
std::unique_ptr<Experiment> make_identity();
std::unique_ptr<Experiment> make_recall();
std::unique_ptr<Experiment> make_sample();
std::unique_ptr<Experiment> make_sharpness();
std::unique_ptr<Experiment> make_summary();
std::unique_ptr<Experiment> make_train();
}  // namespace training

}  // namespace experiments
