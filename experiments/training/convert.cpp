#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/cli/errors.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/gpt_names.h"
#include "experiments/training/loaded_model.h"
#include "experiments/training/text_data.h"

namespace experiments::training {
namespace {

using nlohmann::json;

std::string shown(const std::string& path) { return report::quote(path, report::kPathShown); }

/// A JSON list with one string for each token of the model.
std::vector<std::string> read_vocabulary(const std::string& path, Index size) {
  const json list = json::parse(read_text(path), nullptr, /*allow_exceptions=*/false);
  const auto is_text = [](const json& entry) { return entry.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text)) {
    throw cli::DataError(
        fmt::format("{}: expected a JSON list of strings, one per token", shown(path)));
  }
  if (std::ssize(list) != size) {
    throw cli::DataError(
        fmt::format("{}: expected {} strings, one for each row of wte.weight, got {}", shown(path),
                    size, list.size()));
  }
  return list.get<std::vector<std::string>>();
}

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
  Report read_foreign() const;
  Report write_foreign() const;

  std::string input_, output_, vocabulary_;
  std::string to_ = "gradlab";
  std::string gelu_ = "auto";
  std::optional<Index> n_head_;
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
                 "gelu of the model that is read; auto: tanh for GPT-2's layout, else erf");
  options.text("--vocabulary", vocabulary_,
               "JSON list of the text of each token; without it, tokens are named by number",
               "FILE");
  options.toggle("--overwrite", overwrite_, "replace what --output holds");
}

void Convert::validate(const Run&) {
  if (input_.empty()) throw UsageError("--input: expected a safetensors file or a run's folder");
  if (output_.empty()) throw UsageError("--output: expected a path to write to, got none");
  if (to_ours() && !n_head_) {
    throw UsageError(
        "--n-head: expected the number of heads, which the tensors do not show, got none");
  }
  if (!to_ours() && (n_head_ || !vocabulary_.empty() || gelu_ != "auto")) {
    throw UsageError(
        fmt::format("--to {} cannot be combined with --n-head, --gelu or --vocabulary, which its "
                    "files do not hold",
                    to_));
  }
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

Report Convert::read_foreign() const {
  const nn::Safetensors content = nn::read_safetensors(input_);
  ForeignGpt gpt;
  try {
    gpt = from_foreign(content.tensors, *n_head_);
  } catch (const cli::DataError& error) {
    throw cli::DataError(fmt::format("{}: {}", shown(input_), error.what()));
  }
  if (gpt.config.n_embd % *n_head_ != 0) {
    throw UsageError(fmt::format("--n-head {} does not divide the n_embd {} of {}", *n_head_,
                                 gpt.config.n_embd, shown(input_)));
  }
  if (gelu_ != "auto") gpt.config.gelu = gelu_ == "erf" ? nn::Gelu::erf : nn::Gelu::tanh;
  const Index V = gpt.config.vocab_size;
  const std::string config = config_of(gpt.config).json(/*seed=*/0, gpt.config.dtype);
  Checkpoint checkpoint;
  checkpoint.model = gpt.state;
  checkpoint.config_json = config;
  checkpoint.vocabulary = vocabulary_.empty() ? numbers(V) : read_vocabulary(vocabulary_, V);
  const LoadedModel whole(checkpoint, shown(input_));  // it will load again
  const RunFolder folder(output_);
  folder.create();
  const FolderLock lock(folder);
  folder.write("config.json", config + '\n');
  folder.save(checkpoint);
  Report done = report(gpt.config, gpt.state);
  done.notes.push_back(fmt::format("{} layout; gelu {}. Next: gradlab sample --out-dir {}",
                                   gpt.layout == Layout::conv1d ? "GPT-2's" : "nanoGPT's",
                                   gpt.config.gelu == nn::Gelu::erf ? "erf" : "tanh",
                                   report::shell_word(output_)));
  return done;
}

Report Convert::write_foreign() const {
  const bool is_folder = std::filesystem::is_directory(input_);
  const std::string path = is_folder ? RunFolder(input_).checkpoint_path() : input_;
  const LoadedModel model(load_checkpoint(path), shown(path));
  check_representable(model);
  const nn::State state =
      to_foreign(model.state(), to_ == "gpt2" ? Layout::conv1d : Layout::linear);
  // Readers of such files ask which framework the layout is of.
  nn::write_safetensors(output_, {.tensors = state, .metadata = {{"format", "pt"}}});
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
