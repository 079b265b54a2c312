#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/gpt_names.h"
#include "experiments/training/loaded_model.h"
#include "experiments/training/tasks.h"
#include "experiments/training/vocabulary_file.h"

namespace experiments::training {
namespace {

// What no tensor shows, in the metadata of files that are written here.
constexpr const char* kHeads = "gradlab.n_head";
constexpr const char* kGelu = "gradlab.gelu";

bool is_gelu(const std::string& name) { return name == "erf" || name == "tanh"; }

std::string shown(const std::string& path) { return report::quote(path, report::kPathShown); }

std::vector<std::string> numbers(Index size) {
  std::vector<std::string> all;
  for (Index i = 0; i < size; ++i) all.push_back(fmt::format("{}", i));
  return all;
}

/// The config of a training run that would make such a model.
TrainConfig config_of(const nn::GPTOptions& c) {
  return {.n_layer = c.n_layer,
          .n_head = c.n_head,
          .n_embd = c.n_embd,
          .block_size = c.block_size,
          .bias = c.bias == nn::Bias::yes,
          .untied = c.tied == nn::Tied::no,
          .gelu = c.gelu == nn::Gelu::erf ? "erf" : "tanh"};
}

/// DataError if nanoGPT or GPT-2 have no such model.
void check_representable(const LoadedModel& model) {
  const TrainConfig& c = model.stored().config;
  const auto refuse = [&](const char* what, const std::string& value, const char* expected) {
    throw cli::DataError(fmt::format("{}: has {} {}; nanoGPT and GPT-2 support only {}",
                                     model.shown(), what, value, expected));
  };
  const std::string scale = model.options().scale.name();
  if (scale != "sqrt_dk") refuse("scale", scale, "sqrt_dk");
  if (c.norm != "pre") refuse("norm", c.norm, "pre");
  if (c.qk_norm) refuse("qk-norm", "on", "attention without it");
}

class Convert : public Experiment {
 public:
  void add_options(Options& options) override;
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  void validate(const Run& run) override;
  Report run(const Run& run) override;

 private:
  bool to_ours() const { return to_ == "gradlab"; }
  std::string target() const { return to_ours() ? RunFolder(output_).checkpoint_path() : output_; }
  Report report(const nn::GPTOptions& config, const nn::State& state) const;
  void check_heads(const nn::SafetensorsHeader& header, Index n_embd) const;
  std::string choose_gelu(const nn::Safetensors& file, ForeignGpt& gpt) const;
  std::vector<std::string> task_vocabulary(const nn::GPTOptions& c) const;
  Report read_foreign() const;
  Report write_foreign() const;

  std::string input_, output_, vocabulary_;
  std::string to_ = "gradlab";
  std::string gelu_ = "auto";
  std::optional<Index> n_head_;
  TrainConfig trained_on_;  // its task
  bool overwrite_ = false;
};

void Convert::add_options(Options& options) {
  options.text("--input", input_,
               "safetensors file to read; with --to nanogpt or gpt2, a run's file or folder",
               "PATH");
  options.text("--output", output_, "folder of the run to write; with --to nanogpt or gpt2, a file",
               "PATH");
  options.choice("--to", to_, {"gradlab", "nanogpt", "gpt2"},
                 "format to write: a run of gradlab, or nanoGPT's or GPT-2's file");
  options.integer("--n-head", n_head_, 1, 100'000,
                  "heads of the model that is read, which its tensors do not show");
  options.choice("--gelu", gelu_, {"auto", "erf", "tanh"},
                 "gelu of the model that is read; auto: erf if it looks like nanoGPT's, else tanh");
  options.text(
      "--vocabulary", vocabulary_,
      "JSON list of the text of each token, or vocab.json; without it, tokens are named by "
      "number",
      "FILE");
  options.choice("--task", trained_on_.task, {task_names().begin(), task_names().end()},
                 "task that the model was trained on, whose tokens and questions it has");
  options.integer("--task-length", trained_on_.task_length, 0, 1000,
                  "length of the task's sequence (digits for add); 0: the task's default");
  options.integer("--task-symbols", trained_on_.task_symbols, 0, 1000,
                  "number of different symbols of the task; 0: the task's default");
  options.toggle("--overwrite", overwrite_, "replace what --output holds");
}

void Convert::validate(const Run&) {
  if (input_.empty()) throw UsageError("--input: expected a safetensors file or a run's folder");
  if (output_.empty()) throw UsageError("--output: expected a path to write to, got none");
  if (to_ours() && !n_head_) {
    throw UsageError(
        "--n-head: expected the number of heads, which the tensors do not show, got none");
  }
  const bool has_task = !trained_on_.task.empty();
  if (!to_ours() && (n_head_ || !vocabulary_.empty() || gelu_ != "auto" || has_task)) {
    throw UsageError(
        fmt::format("--to {} cannot be combined with --n-head, --gelu, --task or --vocabulary, "
                    "which its files do not hold",
                    to_));
  }
  if (has_task && !vocabulary_.empty())
    throw UsageError("--vocabulary: cannot be combined with --task, which has its own");
  if (!has_task && trained_on_.task_length > 0) throw UsageError("--task-length: needs --task");
  if (!has_task && trained_on_.task_symbols > 0) throw UsageError("--task-symbols: needs --task");
  if (has_task) make_task(trained_on_.task, trained_on_.task_options());
  if (!overwrite_ && access(target().c_str(), F_OK) == 0) {
    throw UsageError(
        fmt::format("--output: {} already exists; --overwrite replaces it", shown(target())));
  }
}

Report Convert::run(const Run&) { return to_ours() ? read_foreign() : write_foreign(); }

Report Convert::report(const nn::GPTOptions& c, const nn::State& state) const {
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : state) parameters += tensor.numel();
  Report report;
  report.columns = {{"output", ""},
                    {"tensors", "tensors"},
                    {"parameters", "parameters"},
                    {"n_layer", "n_layer"},
                    {"n_head", "n_head"},
                    {"n_embd", "n_embd"},
                    {"block_size", "block_size"},
                    {"vocab_size", "vocab_size"}};
  report.rows = {{target(), std::int64_t{std::ssize(state)}, parameters, std::int64_t{c.n_layer},
                  std::int64_t{c.n_head}, std::int64_t{c.n_embd}, std::int64_t{c.block_size},
                  std::int64_t{c.vocab_size}}};
  report.notes = {fmt::format("Written to {}.", shown(target()))};
  return report;
}

/// --n-head against all that the file says of itself. The tensors show that it divides n_embd.
void Convert::check_heads(const nn::SafetensorsHeader& header, Index n_embd) const {
  if (n_embd % *n_head_ != 0) {
    throw UsageError(fmt::format("--n-head {} does not divide the n_embd {} of {}", *n_head_,
                                 n_embd, shown(input_)));
  }
  const auto told = header.metadata.find(kHeads);
  if (told != header.metadata.end() && told->second != fmt::format("{}", *n_head_)) {
    throw UsageError(fmt::format("--n-head: {} says {}, got {}", shown(input_),
                                 report::quote(told->second), *n_head_));
  }
}

/// Its form of gelu, and why; from --gelu, the file's own word, or the looks of it.
std::string Convert::choose_gelu(const nn::Safetensors& file, ForeignGpt& gpt) const {
  const auto told = file.metadata.find(kGelu);
  const bool is_told = told != file.metadata.end() && is_gelu(told->second);
  if (gelu_ == "auto" && !is_told) {
    const bool is_erf = gpt.config.gelu == nn::Gelu::erf;
    return fmt::format("{}: {} (--gelu {} if not)", is_erf ? "erf" : "tanh", gpt.why_gelu,
                       is_erf ? "tanh" : "erf");
  }
  const std::string name = gelu_ == "auto" ? told->second : gelu_;
  gpt.config.gelu = name == "erf" ? nn::Gelu::erf : nn::Gelu::tanh;
  return fmt::format("{}, as {}", name, gelu_ == "auto" ? "the file says" : "--gelu says");
}

/// DataError unless it is a model of the task's size.
std::vector<std::string> Convert::task_vocabulary(const nn::GPTOptions& c) const {
  const Task task = make_task(trained_on_.task, trained_on_.task_options());
  if (task.vocab_size() != c.vocab_size || task.block_size() != c.block_size) {
    throw cli::DataError(
        fmt::format("{}: expected {} tokens and a block size of {}, as task {} has, got {} and {}",
                    shown(input_), task.vocab_size(), task.block_size(), task.name(), c.vocab_size,
                    c.block_size));
  }
  return task.vocabulary();
}

Report Convert::read_foreign() const {
  HeaderOfGpt header;
  nn::Safetensors file = nn::read_safetensors(input_, [&](nn::SafetensorsHeader& all) {
    header = choose_foreign(all);
    check_heads(all, header.n_embd);
  });
  require_finite(file.tensors, shown(input_));
  ForeignGpt gpt = from_foreign(std::move(file.tensors), *n_head_, header.masks);
  const std::string gelu = choose_gelu(file, gpt);
  const Index V = gpt.config.vocab_size;
  TrainConfig trained = config_of(gpt.config);
  trained.task = trained_on_.task;
  trained.task_length = trained_on_.task_length;
  trained.task_symbols = trained_on_.task_symbols;
  const std::string config = trained.json(/*seed=*/0, gpt.config.dtype);
  Checkpoint checkpoint;
  checkpoint.model = gpt.state;
  checkpoint.config_json = config;
  checkpoint.vocabulary = !trained.task.empty() ? task_vocabulary(gpt.config)
                          : vocabulary_.empty() ? numbers(V)
                                                : read_vocabulary(vocabulary_, V);
  const LoadedModel whole(checkpoint, shown(input_));  // it will load again
  const cli::Unhurried writing;
  const RunFolder folder(output_);
  folder.create();
  const FolderLock lock(folder);
  folder.write("config.json", config + '\n');
  folder.save(checkpoint);
  Report done = report(gpt.config, gpt.state);
  done.notes.push_back(fmt::format("{} layout; gelu {}.",
                                   gpt.layout == Layout::conv1d ? "GPT-2's" : "nanoGPT's", gelu));
  if (gpt.head == LmHead::missing)
    done.notes.push_back("It has no lm_head.weight, so it is taken to be tied to wte.weight.");
  if (!file.metadata.contains(kHeads))
    done.notes.push_back(
        fmt::format("n_head is {} because --n-head says so; no tensor can confirm it.", *n_head_));
  const auto texts = std::ranges::count_if(checkpoint.vocabulary, [](auto& t) { return t != ""; });
  if (texts < V)
    done.notes.push_back(
        fmt::format("{} of the {} rows of wte.weight have no text.", V - texts, V));
  done.notes.push_back(
      fmt::format("Next: gradlab sample --out-dir {}", report::shell_word(output_)));
  return done;
}

Report Convert::write_foreign() const {
  std::error_code unknown;  // then reading it says what is wrong
  const bool is_folder = std::filesystem::is_directory(input_, unknown);
  const std::string path = is_folder ? RunFolder(input_).checkpoint_path() : input_;
  const LoadedModel model(load_checkpoint(path), shown(path));
  check_representable(model);
  require_finite(model.state(), model.shown());
  const nn::State state =
      to_foreign(model.state(), to_ == "gpt2" ? Layout::conv1d : Layout::linear);
  const cli::Unhurried writing;
  // Readers of such files ask which framework the layout is of; the rest is for reading it here.
  nn::write_safetensors(output_, {.tensors = state,
                                  .metadata = {{"format", "pt"},
                                               {kHeads, fmt::format("{}", model.options().n_head)},
                                               {kGelu, model.stored().config.gelu}}});
  Report done = report(model.options(), model.state());
  const nn::Gelu theirs = to_ == "gpt2" ? nn::Gelu::tanh : nn::Gelu::erf;
  if (model.options().gelu != theirs) {
    done.notes.push_back(
        fmt::format("Its gelu is {}, but readers of such files assume the other form.",
                    model.stored().config.gelu));
  }
  done.notes.push_back("The file does not hold the vocabulary.");
  return done;
}

}  // namespace

std::unique_ptr<Experiment> make_convert() { return std::make_unique<Convert>(); }

}  // namespace experiments::training
