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
#include "experiments/training/text_data.h"
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
  void go_on(const Run& run);
  void refuse_to_lose() const;
  void iterate(const Run& run);
  void finish(const Run& run);
  void first_look(const Run& run);
  void update(const Run& run);
  void tell(const Run& run, const std::vector<LayerStats>& layers);
  void evaluate_now(const Run& run);
  enum class Last : bool { no, yes };  // the evaluation at the end, of all the data there is
  void add_row(const Run& run, const Evaluation& seen, const Evaluation& fresh, Last last);
  Checkpoint checkpoint() const;
  void take_up(const Checkpoint& checkpoint);
  void note_validation(double loss);
  void open_folder();
  void save();
  void save_after_failure(const Run& run);
  void show_status(const Run& run) const;
  Evaluation evaluate_some(Batch (Source::*batch)(Index, autograd::RandomKey) const,
                           std::uint64_t stream) const;
  double tokens_per_second() const;  // since this process began
  std::string speed() const;

  TrainConfig config_;
  std::optional<LoadedModel> given_;  // that --resume continues or --init-from starts from
  std::string preset_ = "none";
  std::string out_dir_ = "out";
  std::string init_from_;
  bool resume_ = false;
  bool overwrite_ = false;

  // while it runs
  std::unique_ptr<Source> source_;
  std::unique_ptr<Trainer> trainer_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<MetricsLog> log_;  // from the first checkpoint on
  Report report_;
  Iteration now_{
      .loss = std::nan(""), .grad_norm = std::nan(""), .lr = std::nan("")};  // the latest
  ZScore loss_z_, norm_z_;
  double best_loss_ = HUGE_VAL;  // on validation
  double best_iter_ = -1;        // the iteration it was seen at
  std::set<std::string> told_;   // levels and heads that were warned of
  std::uint64_t seed_ = 0;
  autograd::DType dtype_ = autograd::DType::f32;
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
  options.text("--init-from", init_from_,
               "start from the weights of a run or a converted model, with a new optimizer",
               "PATH");
  options.toggle("--overwrite", overwrite_, "replace the run that --out-dir holds");
  config_.add_to(options);
}

std::vector<std::string> Train::underlying_options() {
  const RunFolder folder(out_dir_);
  if (resume_) {
    if (!folder.has_checkpoint()) {
      throw UsageError(fmt::format("--resume: expected a run in --out-dir {}, found no {}",
                                   report::quote(out_dir_),
                                   report::quote(folder.checkpoint_path())));
    }
    lock_.emplace(folder);
    given_.emplace(folder);
    if (given_->checkpoint().optimizer.empty()) {
      throw cli::DataError(
          fmt::format("{} holds weights alone; train --init-from {} --out-dir NEW starts from them",
                      given_->shown(), report::shell_word(out_dir_)));
    }
    return given_->stored().words();
  }
  TrainConfig config = preset_config(preset_);
  if (init_from_.empty()) return preset_ == "none" ? std::vector<std::string>{} : config.words();
  given_.emplace(RunFolder(init_from_));
  const TrainConfig& theirs = given_->stored().config;
  config.take_model(theirs);
  if (config_.task.empty() && config_.data.empty()) {
    if (theirs.data.empty() && !given_->has_task()) {
      throw UsageError(
          fmt::format("--init-from: {} names no text or task of its own; expected "
                      "--data FILE or --task NAME",
                      given_->shown()));
    }
    config.data = theirs.data;
    config.task = theirs.task;
    config.task_length = theirs.task_length;
    config.task_symbols = theirs.task_symbols;
  }
  if (!config_.data.empty() || !config.data.empty()) {
    config.block_size = given_->options().block_size;
  }
  std::vector<std::string> words = config.words();
  words.insert(words.end(), {"--dtype", given_->stored().dtype});
  return words;
}

void Train::validate(const Run& run) {
  config_.validate();
  if (!resume_) config_.refuse_idle();
  if (preset_ != "none" && config_.data.empty()) {
    throw UsageError(fmt::format("--preset {} needs a text: expected --data FILE", preset_));
  }
  if (resume_ && preset_ != "none") {
    throw UsageError("--resume cannot be combined with --preset: a run keeps its options");
  }
  if (resume_ && overwrite_) throw UsageError("--resume cannot be combined with --overwrite");
  if (resume_ && !init_from_.empty()) {
    throw UsageError("--resume cannot be combined with --init-from; a run keeps its weights");
  }
  if (resume_) {
    const StoredConfig& before = given_->stored();
    config_.require_same_run(before.config);
    const auto require_same = [](const char* flag, const std::string& had, const std::string& has) {
      if (had == has) return;
      throw UsageError(fmt::format("{}: expected {}, as in the run that --resume continues, got {}",
                                   flag, report::quote(had), report::quote(has)));
    };
    require_same("--seed", fmt::format("{}", before.seed), fmt::format("{}", run.seed));
    require_same("--dtype", before.dtype, autograd::name(run.dtype));
  } else if (given_) {
    config_.require_same_weights(given_->stored().config);
  }
  refuse_to_lose();
}

void Train::refuse_to_lose() const {
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
  const cli::Unhurried saving;  // what is done by then, however large it is
  try {
    iterate(run);
    finish(run);
  } catch (const cli::Interrupted&) {  // between two iterations, always
    if (!log_ && RunFolder(out_dir_).has_checkpoint()) {
      run.say("stopped before the first evaluation; the run that was there is kept");
      throw;
    }
    save();
    run.say(fmt::format("stopped after {} iterations; --resume continues", trainer_->iteration()));
    throw;
  } catch (const cli::IoError&) {
    save_after_failure(run);
    throw;
  }
  return std::move(report_);
}

void Train::begin(const Run& run) {
  last_ = run.quick ? std::min<Index>(config_.max_iters, 50) : config_.max_iters;
  seed_ = run.seed;
  dtype_ = run.dtype;
  if (!config_.data.empty() && config_.data != kStandardInput) {  // as --resume and eval may come
                                                                  // from another folder
    config_.data = std::filesystem::absolute(config_.data).lexically_normal().string();
  }
  source_ =
      make_source(config_, run.seed, given_ ? given_->vocabulary() : std::vector<std::string>{});
  trainer_ = std::make_unique<Trainer>(config_, *source_, run.seed, run.dtype);
  if (resume_) {
    go_on(run);
  } else {
    if (given_) trainer_->start_from(*given_);
    const RunFolder folder(out_dir_);
    folder.create();
    lock_.emplace(folder);
    refuse_to_lose();  // another run may have come about
  }
  given_.reset();
  first_ = trainer_->iteration();
  report_ = {};
  report_.columns = {{"iter", "iter"},
                     {"train_loss", "train loss", 4},
                     {"val_loss", "val loss", 4},
                     {"val_accuracy", "accuracy"},
                     {"lr", "rate"},
                     {"grad_norm", "|gradient|"}};
  start_ = Clock::now();
}

void Train::go_on(const Run& run) {
  const Checkpoint& before = given_->checkpoint();
  trainer_->restore(before, given_->shown());
  take_up(before);
  if (!before.data.empty() && before.data != source_->fingerprint()) {
    run.say(fmt::format("warning: {} is not the text that the run was trained on so far",
                        report::quote(config_.data, report::kPathShown)));
  }
  if (trainer_->iteration() >= last_) {
    run.say(fmt::format("the run already has {} iterations; --max-iters is {}",
                        trainer_->iteration(), last_));
  }
  open_folder();
  if (best_iter_ == static_cast<double>(before.step)) RunFolder(out_dir_).save_best(before);
}

void Train::iterate(const Run& run) {
  while (trainer_->iteration() < last_) {
    const Index i = trainer_->iteration();
    if (i % config_.eval_interval == 0 && (!log_ || log_->last_evaluation() < i)) evaluate_now(run);
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
  note_validation(fresh.loss);
  save();
  add_row(run, seen, fresh, Last::no);
}

void Train::note_validation(double loss) {
  if (loss >= best_loss_) return;
  best_loss_ = loss;
  best_iter_ = static_cast<double>(trainer_->iteration());
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
  const Evaluation seen = evaluate_some(&Source::train_batch, kTrainSample);
  note_validation(evaluate_some(&Source::validation_batch, kValidation).loss);  // as the others saw
  save();
  add_row(run, seen, fresh, Last::yes);
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
  report_.notes.push_back(best_iter_ == static_cast<double>(trainer_->iteration())
                              ? "The last model is the best on validation."
                              : fmt::format("Best on validation was iteration {}: {} keeps it.",
                                            report::grouped(std::llround(best_iter_)),
                                            report::quote(RunFolder(out_dir_).best_path())));
  report_.figure = readable(samples);
}

/// With what the log and the table show, so that those of a resumed run go on as this one's.
Checkpoint Train::checkpoint() const {
  Checkpoint checkpoint = trainer_->checkpoint();
  checkpoint.metrics = {{"loss", now_.loss},
                        {"lr", now_.lr},
                        {"grad_norm", now_.grad_norm},
                        {"best_val_loss", best_loss_},
                        {"best_iter", best_iter_}};
  for (const auto& [name, z] :
       {std::pair("loss_z", &loss_z_), std::pair("grad_norm_z", &norm_z_)}) {
    const ZScore::State state = z->state();
    for (std::size_t i = 0; i < state.size(); ++i) {
      checkpoint.metrics[fmt::format("{}.{}", name, i)] = state[i];
    }
  }
  return checkpoint;
}

void Train::take_up(const Checkpoint& checkpoint) {
  const auto metric = [&checkpoint](const std::string& name, double otherwise) {
    const auto found = checkpoint.metrics.find(name);
    return found == checkpoint.metrics.end() ? otherwise : found->second;
  };
  now_ = {metric("loss", now_.loss), metric("grad_norm", now_.grad_norm), metric("lr", now_.lr)};
  const double iter = metric("best_iter", -1);
  if (iter >= 0 && iter <= static_cast<double>(checkpoint.step)) {
    best_iter_ = iter;
    best_loss_ = metric("best_val_loss", best_loss_);
  }
  for (const auto& [name, z] :
       {std::pair("loss_z", &loss_z_), std::pair("grad_norm_z", &norm_z_)}) {
    ZScore::State state;
    for (std::size_t i = 0; i < state.size(); ++i) {
      state[i] = metric(fmt::format("{}.{}", name, i), std::nan(""));
    }
    z->set_state(state);
  }
}

/// What else is in the folder, once there is a checkpoint: what is left of an older run goes.
void Train::open_folder() {
  const RunFolder folder(out_dir_);
  log_ = std::make_unique<MetricsLog>(folder, trainer_->iteration());
  folder.write("config.json", config_.json(seed_, dtype_) + '\n');
  if (trainer_->iteration() > 0) return;
  folder.remove("model_best.safetensors");
  folder.remove("samples.txt");
}

/// The first one of a new run takes the place of an older run.
void Train::save() {
  const RunFolder folder(out_dir_);
  const Checkpoint now = checkpoint();
  folder.save(now);
  if (!log_) open_folder();
  if (best_iter_ == static_cast<double>(now.step)) folder.save_best(now);
}

/// What could be written no more may have been the log, and the model still can.
void Train::save_after_failure(const Run& run) {
  if (!log_) return;
  try {
    save();
  } catch (const cli::IoError&) {
    return;
  }
  run.say(
      fmt::format("the first {} iterations are saved; --resume continues", trainer_->iteration()));
}

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
