#include "experiments/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/graph/observer.h"
#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/watch.h"
#include "nn/clip.h"
#include "nn/eval_mode.h"

namespace experiments::training {
namespace {

using autograd::NumericError;
using nn::Tensor;

constexpr std::uint64_t kBatches = 0x62617463685f6b65;  // keeps clear of the seed's other streams

std::unique_ptr<nn::Optimizer> make_optimizer(const TrainConfig& c, const nn::GPT& model) {
  const std::array betas = {c.beta1, c.beta2};
  if (c.optimizer == "sgd") {
    return std::make_unique<nn::SGD>(nn::decay_groups(model, c.weight_decay),
                                     nn::SGDOptions{.lr = c.learning_rate, .momentum = c.momentum});
  }
  if (c.optimizer == "adam") {
    return std::make_unique<nn::Adam>(nn::decay_groups(model, c.weight_decay),
                                      nn::AdamOptions{.lr = c.learning_rate, .betas = betas});
  }
  return std::make_unique<nn::AdamW>(nn::decay_groups(model, c.weight_decay),
                                     nn::AdamWOptions{.lr = c.learning_rate, .betas = betas});
}

autograd::Generator& seeded(autograd::Generator&& generator) { return generator; }

Tensor loss_of(nn::GPT& model, const Batch& batch) {
  return cross_entropy(model(batch.x), batch.y, {.ignore_index = kIgnored});
}

void require_sane(const nn::TrainingState& state, const std::string& shown) {
  require_finite(state.model, shown);
  require_finite(state.optimizer, shown);
  for (const auto& [key, tensor] : state.optimizer) {
    if (key.starts_with("exp_avg_sq.") && max(neg(tensor)).item() > 0) {
      throw NumericError(fmt::format("{}: {} is below 0, which no average of squares is", shown,
                                     report::quote(key)));
    }
  }
}

/// While it lives, an interrupt stops this thread between two ops: an iteration may take longer
/// than anybody waits.
class StopBetweenOps final : public autograd::Observer {
 public:
  void recorded(const autograd::Recording&) override { cli::throw_if_interrupted(); }
  void arrived(const autograd::Node&, const autograd::Array&) override {
    cli::throw_if_interrupted();
  }
  bool wants_parts() const override { return false; }
};

}  // namespace

Evaluation evaluate(nn::GPT& model, Index count, const std::function<Batch(Index)>& batch_of) {
  const nn::EvalMode eval(model);
  const StopBetweenOps stop;
  double loss = 0, right = 0, counted = 0;
  for (Index b = 0; b < count; ++b) {
    const Batch batch = batch_of(b);
    const Tensor logits = model(batch.x);
    loss += cross_entropy(logits, batch.y,
                          {.ignore_index = kIgnored, .reduction = autograd::Reduction::sum})
                .item();
    const Tensor counts = batch.y != kIgnored;
    counted += counts.sum().item();
    right += ((argmax(logits, -1) == batch.y) & counts).sum().item();
  }
  if (!std::isfinite(loss)) {
    const std::string why = explain_nonfinite(model, [&] {
      for (Index b = 0; b < count; ++b) loss_of(model, batch_of(b));
    });
    throw NumericError(
        fmt::format("the loss of an evaluation is {}: {}", report::shortest(loss), why));
  }
  return {loss / counted, right / counted};
}

Trainer::Trainer(const TrainConfig& config, const Source& source, std::uint64_t seed,
                 nn::DType dtype)
    : config_(config),
      source_(source),
      seed_(seed),
      dtype_(dtype),
      model_(config.model(std::ssize(source.vocabulary()), source.block_size(), dtype),
             seeded(autograd::Generator(seed))),
      parameters_(model_.parameters()),
      optimizer_(make_optimizer(config, model_)),
      schedule_(config.lr_schedule()) {}

Batch Trainer::batch(Index iteration, Index micro_batch) const {
  const Index number = iteration * config_.gradient_accumulation_steps + micro_batch;
  return source_.train_batch(config_.batch_size,
                             {seed_ ^ kBatches, static_cast<std::uint64_t>(number)});
}

double Trainer::backward_of(Index iteration) {
  const Index steps = config_.gradient_accumulation_steps;
  double total = 0;
  for (Index micro = 0; micro < steps; ++micro) {
    const Tensor loss = loss_of(model_, batch(iteration, micro)) / static_cast<double>(steps);
    loss.backward();
    total += loss.item();
  }
  return total;
}

Iteration Trainer::forward_backward() {
  const nn::GeneratorStates before = model_.generators();
  Iteration now{.loss = 0, .grad_norm = 0, .lr = schedule_.at(iteration_)};
  model_.zero_grad();
  try {
    const StopBetweenOps stop;
    now.loss = backward_of(iteration_);
  } catch (const cli::Interrupted&) {
    model_.set_generators(before);
    throw;
  }
  if (!std::isfinite(now.loss))
    explain(fmt::format("the loss is {}", report::shortest(now.loss)), before);
  const double most = config_.grad_clip > 0 ? config_.grad_clip : HUGE_VAL;
  now.grad_norm = nn::clip_grad_norm(parameters_, most);
  if (!std::isfinite(now.grad_norm)) {
    explain(fmt::format("the gradient's norm is {}", report::shortest(now.grad_norm)), before);
  }
  optimizer_->set_lr(now.lr);
  return now;
}

void Trainer::apply() {
  optimizer_->step();
  ++iteration_;
}

void Trainer::explain(const std::string& what, const nn::GeneratorStates& before) {
  const auto rewind = [&] {  // to the same dropout masks
    model_.zero_grad();
    model_.set_generators(before);
  };
  rewind();
  const std::string why = explain_nonfinite(model_, [this] { backward_of(iteration_); });
  rewind();
  throw NumericError(fmt::format("iteration {}: {}: {}", iteration_, what, why));
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint checkpoint{nn::training_state(model_, *optimizer_)};
  checkpoint.step = iteration_;
  checkpoint.config_json = config_.json(seed_, dtype_);
  checkpoint.vocabulary = source_.vocabulary();
  checkpoint.data = source_.fingerprint();
  require_sane(checkpoint, fmt::format("after {} iterations", iteration_));
  return checkpoint;
}

void Trainer::restore(const Checkpoint& checkpoint, const std::string& shown) {
  const auto refuse = [&shown](const std::string& why) {
    throw cli::DataError(fmt::format("{} does not fit: {}", shown, why));
  };
  require_vocabulary(checkpoint.vocabulary, shown);
  try {
    nn::load_training_state(checkpoint, model_, *optimizer_);
  } catch (const autograd::Error& error) {
    refuse(error.what());
  }
  require_sane(checkpoint, shown);
  iteration_ = checkpoint.step;
}

void Trainer::start_from(const LoadedModel& given) {
  require_vocabulary(given.vocabulary(), given.shown());
  require_sane({given.state(), {}, {}}, given.shown());
  const Index block = given.options().block_size;
  if (block != source_.block_size()) {
    throw cli::DataError(fmt::format("{} does not fit: its block size is {}, that of the {} is {}",
                                     given.shown(), block, source_.is_text() ? "run" : "task",
                                     source_.block_size()));
  }
  model_.load_state(given.make(dtype_)->state());
}

/// A text is read with the vocabulary of the weights; a task has its own.
void Trainer::require_vocabulary(const std::vector<std::string>& theirs,
                                 const std::string& shown) const {
  const std::vector<std::string>& ours = source_.vocabulary();
  const auto [i, j] = std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end());
  if (i == theirs.end() && j == ours.end()) return;
  const auto said = [](const auto& list, auto entry) {
    return entry == list.end() ? "missing" : report::quote(*entry, 20);
  };
  throw cli::DataError(fmt::format("{} does not fit: its token {} is {}, that of the {} is {}",
                                   shown, i - theirs.begin(), said(theirs, i),
                                   source_.is_text() ? "data" : "task", said(ours, j)));
}

}  // namespace experiments::training
