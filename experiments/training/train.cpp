#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/run_folder.h"
#include "experiments/training/samples.h"
#include "experiments/training/trainer.h"
#include "experiments/training/watch.h"
#include "experiments/training/zscore.h"

namespace experiments::training {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kValidation = 0x76616c6964617465;  // streams apart from those of training
constexpr std::uint64_t kTrainSample = 0x747261696e736d70;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// "1 h 02 min", "3 min 05 s", "12 s".
std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::llround(seconds));
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return s >= 60 ? fmt::format("{} min {:02} s", s / 60, s % 60) : fmt::format("{} s", s);
}

double value_of(const StatsRow& row, std::string_view key) {
  for (const auto& [name, value] : row.values)
    if (name == key) return value;
  return std::nan("");
}

class Train : public Experiment {
 public:
  void add_options(Options& options) override;
  std::vector<std::string> underlying_options() override;
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  void validate(const Run& run) override;
  double bytes_needed(const Run& run) const override;
  Report run(const Run& run) override;

 private:
  void begin(const Run& run);
  void iterate(const Run& run);
  void finish(const Run& run);
  void first_look(const Run& run);
  void update(const Run& run);
  void tell(const Run& run, const std::vector<LayerStats>& layers);
  void evaluate_now(const Run& run);
  enum class Last : bool { no, yes };  // the evaluation at the end, of all the data there is
  void add_row(const Run& run, const Evaluation& seen, const Evaluation& fresh, Last last);
  void save();
  void show_status(const Run& run) const;
  Evaluation evaluate_some(Batch (Source::*batch)(Index, autograd::RandomKey) const,
                           std::uint64_t stream) const;
  double tokens_per_second() const;  // since this process began
  std::string speed() const;

  TrainConfig config_;
  TrainConfig stored_;  // of the run that --resume continues
  std::string preset_ = "none";
  std::string out_dir_ = "out";
  bool resume_ = false;
  bool overwrite_ = false;

  // while it runs
  std::unique_ptr<Source> source_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<MetricsLog> log_;
  Report report_;
  Iteration now_{
      .loss = std::nan(""), .grad_norm = std::nan(""), .lr = std::nan("")};  // the latest
  ZScore loss_z_, norm_z_;
  std::set<std::string> told_;  // levels and heads that were warned of
  std::uint64_t seed_ = 0;
  Index first_ = 0;  // iterations done before this process
  Index last_ = 0;   // and at the end
  Clock::time_point start_;
};

void Train::add_options(Options& options) {
  std::vector<std::string> presets = kPresets;
  presets.insert(presets.begin(), "none");
  options.choice("--preset", preset_, presets,
                 "a set of options by name; other options override it");
  options.text("--out-dir", out_dir_, "folder of the run", "FOLDER");
  options.toggle("--resume", resume_, "continue the run in --out-dir where it stopped");
  options.toggle("--overwrite", overwrite_, "replace the run that --out-dir holds");
  config_.add_to(options);
}

std::vector<std::string> Train::underlying_options() {
  if (!resume_) return preset_words(preset_);
  const RunFolder folder(out_dir_);
  if (!folder.has_checkpoint()) {
    throw UsageError(fmt::format("--resume: expected a run in --out-dir {}, found no {}",
                                 report::quote(out_dir_), report::quote(folder.checkpoint_path())));
  }
  const StoredConfig stored =
      parse_config(folder.load().config_json, report::quote(folder.checkpoint_path()));
  stored_ = stored.config;
  return stored.words();
}

void Train::validate(const Run&) {
  config_.validate();
  if (!resume_) config_.refuse_idle();
  if (preset_ != "none" && config_.data.empty()) {
    throw UsageError(fmt::format("--preset {} needs a text: expected --data FILE", preset_));
  }
  if (resume_ && preset_ != "none") {
    throw UsageError("--resume cannot be combined with --preset: a run keeps its options");
  }
  if (resume_) config_.require_same_run(stored_);
  if (resume_ && overwrite_) throw UsageError("--resume cannot be combined with --overwrite");
  if (!resume_ && !overwrite_ && RunFolder(out_dir_).has_checkpoint()) {
    throw UsageError(fmt::format(
        "--out-dir: {} already holds a run; --resume continues it, --overwrite replaces it",
        report::quote(out_dir_)));
  }
}

double Train::bytes_needed(const Run& run) const {
  return training_bytes(config_, static_cast<double>(autograd::item_size(run.dtype)));
}

Report Train::run(const Run& run) {
  begin(run);
  try {
    iterate(run);
    finish(run);
  } catch (const cli::Interrupted&) {  // between two iterations, always
    save();
    run.say(fmt::format("stopped after {} iterations; --resume continues", trainer_->iteration()));
    throw;
  }
  return std::move(report_);
}

void Train::begin(const Run& run) {
  last_ = run.quick ? std::min<Index>(config_.max_iters, 50) : config_.max_iters;
  seed_ = run.seed;
  if (!config_.data.empty()) {  // as --resume and eval may come from another folder
    config_.data = std::filesystem::absolute(config_.data).lexically_normal().string();
  }
  source_ = make_source(config_, run.seed);
  trainer_ = std::make_unique<Trainer>(config_, *source_, run.seed, run.dtype);
  const RunFolder folder(out_dir_);
  if (resume_) trainer_->restore(folder.load(), report::quote(folder.checkpoint_path()));
  folder.create();
  folder.write("config.json", config_.json(run.seed, run.dtype) + '\n');
  first_ = trainer_->iteration();
  if (first_ >= last_ && resume_) {
    run.say(fmt::format("the run already has {} iterations; --max-iters is {}", first_, last_));
  }
  log_ = std::make_unique<MetricsLog>(folder, first_);
  report_ = {};
  report_.columns = {{"iter", "iter"},
                     {"train_loss", "train loss", 4},
                     {"val_loss", "val loss", 4},
                     {"val_accuracy", "accuracy"},
                     {"lr", "rate"},
                     {"grad_norm", "|gradient|"}};
  start_ = Clock::now();
}

void Train::iterate(const Run& run) {
  while (trainer_->iteration() < last_) {
    const Index i = trainer_->iteration();
    if (i % config_.eval_interval == 0 && log_->last_evaluation() < i) evaluate_now(run);
    if (i == 0) first_look(run);
    else now_ = trainer_->forward_backward();
    update(run);
    cli::throw_if_interrupted();
  }
}

void Train::first_look(const Run& run) {
  const autograd::GradientFlow flow;
  now_ = trainer_->forward_backward();
  for (const std::string& line : diagnose(trainer_->model(), flow)) run.say("warning: " + line);
}

void Train::update(const Run& run) {
  const Index i = trainer_->iteration();
  const bool watched = config_.watch > 0 && i % config_.watch == 0;
  std::vector<StatsRow> rows;
  std::optional<ParameterWatch> parameters;
  if (watched) {
    const Index sequences = std::min<Index>(config_.batch_size, 2);
    const auto layers =
        watch_layers(trainer_->model(), trainer_->batch(i).x.narrow(0, 0, sequences));
    rows = rows_of(layers);
    tell(run, layers);
    parameters.emplace(trainer_->model().named_parameters());
    parameters->before();
  }
  trainer_->apply();
  log_->add({{"iter", i},
             {"loss", now_.loss},
             {"lr", now_.lr},
             {"grad_norm", now_.grad_norm},
             {"loss_z", loss_z_.add(now_.loss).value_or(std::nan(""))},
             {"grad_norm_z", norm_z_.add(now_.grad_norm).value_or(std::nan(""))}});
  if (watched) {
    for (StatsRow& row : rows_of(parameters->after())) rows.push_back(std::move(row));
    log_->add_watch(i, rows);
  }
  show_status(run);
}

/// Reports heads whose logits run away, once each; everything else only on a terminal.
void Train::tell(const Run& run, const std::vector<LayerStats>& layers) {
  for (const StatsRow& row : rows_of(layers)) {
    if ((row.level == "warn" || row.level == "alarm") &&
        told_.insert(row.level + row.name).second) {
      run.say(fmt::format("{}: iter {}: the logits of {} reach {:.3g}", row.level,
                          trainer_->iteration(), row.name, value_of(row, "max_logit")));
    }
  }
  if (!run.terminal) return;
  for (const std::string& line : watch_lines(layers, run.glyphs())) {
    run.say(line);
  }
}

Evaluation Train::evaluate_some(Batch (Source::*batch)(Index, autograd::RandomKey) const,
                                std::uint64_t stream) const {
  return evaluate(trainer_->model(), config_.eval_iters, [&](Index i) {
    return ((*source_).*batch)(config_.batch_size, {seed_ ^ stream, static_cast<std::uint64_t>(i)});
  });
}

void Train::evaluate_now(const Run& run) {
  const Evaluation seen = evaluate_some(&Source::train_batch, kTrainSample);
  const Evaluation fresh = evaluate_some(&Source::validation_batch, kValidation);
  add_row(run, seen, fresh, Last::no);
  save();
}

void Train::add_row(const Run& run, const Evaluation& seen, const Evaluation& fresh, Last last) {
  const Index i = trainer_->iteration();
  report_.rows.push_back(
      {std::int64_t{i}, seen.loss, fresh.loss, fresh.accuracy, now_.lr, now_.grad_norm});
  log_->add({{"iter", i},
             {"train_loss", seen.loss},
             {"val_loss", fresh.loss},
             {"val_accuracy", fresh.accuracy},
             {"final", std::int64_t{last == Last::yes}}});
  run.say(fmt::format(
      "iter {}: train loss {:.4f}, val loss {:.4f}{}, {}", report::grouped(i), seen.loss,
      fresh.loss, source_->is_text() ? "" : fmt::format(" ({:.1f} % right)", 100 * fresh.accuracy),
      speed()));
}

/// The last evaluation covers the whole validation part of a text.
void Train::finish(const Run& run) {
  nn::GPT& model = trainer_->model();
  const std::vector<Batch> all = source_->final_batches();
  const Evaluation fresh = evaluate(model, std::ssize(all),
                                    [&all](Index i) { return all[static_cast<std::size_t>(i)]; });
  add_row(run, evaluate_some(&Source::train_batch, kTrainSample), fresh, Last::yes);
  save();
  const autograd::RandomKey key{seed_ ^ kValidation, 0};
  const std::string samples =
      source_->is_text()
          ? sample_text(model, source_->vocabulary(), 500, key)
          : sample_task(model, source_->vocabulary(), source_->validation_batch(10, key));
  RunFolder(out_dir_).write("samples.txt", samples + (source_->is_text() ? "\n" : ""));
  std::string floors;
  for (const Floor& floor : source_->floors()) {
    floors += fmt::format("{}{} {:.3f}", floors.empty() ? "" : ", ", floor.name, floor.loss);
  }
  report_.notes.push_back("Loss in nats per token; baselines without a network: " + floors + ".");
  report_.notes.push_back(
      fmt::format("{} parameters, {}.", report::grouped(model.parameter_count()), speed()));
  report_.notes.push_back(fmt::format("The run is in {}; gradlab sample --out-dir {} writes more.",
                                      report::quote(out_dir_), report::shell_word(out_dir_)));
  report_.figure = samples;
}

void Train::save() { RunFolder(out_dir_).save(trainer_->checkpoint()); }

double Train::tokens_per_second() const {
  const Index tokens = config_.batch_size * source_->block_size() *
                       config_.gradient_accumulation_steps * (trainer_->iteration() - first_);
  return static_cast<double>(tokens) / std::max(seconds_since(start_), 1e-9);
}

std::string Train::speed() const {
  return fmt::format("{} tokens/s, {}", report::grouped(std::llround(tokens_per_second())),
                     duration(seconds_since(start_)));
}

void Train::show_status(const Run& run) const {
  const Index done = trainer_->iteration() - first_;
  const double left = seconds_since(start_) / static_cast<double>(done) *
                      static_cast<double>(last_ - trainer_->iteration());
  run.status(fmt::format("iter {} of {}: loss {:.4f}, |gradient| {:.3g}, {} tokens/s, {} left",
                         report::grouped(trainer_->iteration()), report::grouped(last_), now_.loss,
                         now_.grad_norm, report::grouped(std::llround(tokens_per_second())),
                         duration(left)));
}

}  // namespace

std::unique_ptr<Experiment> make_train() { return std::make_unique<Train>(); }

}  // namespace experiments::training
