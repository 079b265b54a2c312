#include <fmt/format.h>

#include <algorithm>

#include "experiments/cli/values.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/gpt_layers.h"
#include "experiments/training/loaded_model.h"

namespace experiments::training {
namespace {

struct Preset {
  std::string name;
  Index n_layer, n_head, n_embd, block_size, vocab_size;
  const char* bias;  // the flag, or none
};

// GPT-2's four sizes as in its paper (2019), table 2, with the heads of its released files.
const std::vector<Preset> kSummaryPresets = {
    {"gpt2", 12, 12, 768, 1024, 50257, "--bias"},
    {"gpt2-medium", 24, 16, 1024, 1024, 50257, "--bias"},
    {"gpt2-large", 36, 20, 1280, 1024, 50257, "--bias"},
    {"gpt2-xl", 48, 25, 1600, 1024, 50257, "--bias"},
    {"shakespeare-cpu", 4, 4, 128, 64, 65, ""},
};

/// "1.23 GiB", "768 B".
std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{} {}", report::significant(bytes, 3), kUnits[unit]);
}

/// "2.92e+11" as "292 G".
std::string count_text(double count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t unit = 0;
  for (; count >= 1000 && unit + 1 < std::size(kUnits); ++unit) count /= 1000;
  return report::significant(count, 3) + kUnits[unit];
}

class Summary : public Experiment {
 public:
  void add_options(Options& options) override;
  std::vector<std::string> underlying_options() override;
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  void validate(const Run& run) override;
  Report run(const Run& run) override;

 private:
  nn::GPTOptions config(const Run& run) const;
  /// Copies of every parameter that the optimizer keeps.
  int averages() const { return optimizer_ == "sgd" ? 1 : 2; }
  std::string tree(const std::vector<Layer>& layers) const;
  std::vector<std::string> notes(const LayerTotal& all, double item) const;

  std::string preset_ = "gpt2";
  std::string out_dir_;
  Index n_layer_ = 12, n_head_ = 12, n_embd_ = 768, block_size_ = 1024, vocab_size_ = 50257;
  double dropout_ = 0;
  bool bias_ = false, untied_ = false, qk_norm_ = false;
  Index batch_size_ = 1;
  std::string optimizer_ = "adamw";

  nn::GPTOptions base_;  // what has no option here
  std::string warning_;  // of the run's weights
};

void Summary::add_options(Options& options) {
  std::vector<std::string> presets = {"none"};
  for (const Preset& preset : kSummaryPresets) presets.push_back(preset.name);
  options.choice("--preset", preset_, presets,
                 "known model to start from; other options override it");
  options.text("--out-dir", out_dir_, "folder of a run whose model to show, instead of a preset",
               "FOLDER");
  options.integer("--n-layer", n_layer_, 1, 1000, "number of blocks");
  options.integer("--n-head", n_head_, 1, 100'000, "heads; must divide n-embd");
  options.integer("--n-embd", n_embd_, 1, 100'000, "channels");
  options.integer("--block-size", block_size_, 1, 1'000'000, "context length in tokens");
  options.integer("--vocab-size", vocab_size_, 1, 1'000'000'000, "number of different tokens");
  options.toggle("--bias", bias_, "use biases in Linear and LayerNorm");
  options.toggle("--untied", untied_,
                 "give the head its own weights instead of the token embedding's");
  options.toggle("--qk-norm", qk_norm_, "apply LayerNorm to queries and keys");
  options.number("--dropout", dropout_, 0, 1, "share of activations dropped in training");
  options.integer("--batch-size", batch_size_, 1, 1'000'000, "sequences per training step");
  options.choice("--optimizer", optimizer_, {"adamw", "adam", "sgd"}, "update rule");
}

std::vector<std::string> Summary::underlying_options() {
  const auto text = [](Index n) { return fmt::format("{}", n); };
  if (out_dir_.empty()) {
    const auto found = std::ranges::find(kSummaryPresets, preset_, &Preset::name);
    if (found == kSummaryPresets.end()) return {};
    std::vector<std::string> words = {
        "--n-layer",    text(found->n_layer),   "--n-head",     text(found->n_head),
        "--n-embd",     text(found->n_embd),    "--block-size", text(found->block_size),
        "--vocab-size", text(found->vocab_size)};
    if (*found->bias) words.emplace_back(found->bias);
    return words;
  }
  const LoadedModel loaded{RunFolder(out_dir_)};
  try {
    require_finite(loaded.state(), loaded.shown());
  } catch (const autograd::NumericError& error) {
    warning_ = error.what();
  }
  const TrainConfig& stored = loaded.stored().config;
  base_ = loaded.options();
  std::vector<std::string> words = {
      "--n-layer",    text(base_.n_layer),     "--n-head",     text(base_.n_head),
      "--n-embd",     text(base_.n_embd),      "--block-size", text(base_.block_size),
      "--vocab-size", text(base_.vocab_size),  "--dropout",    report::shortest(base_.dropout),
      "--batch-size", text(stored.batch_size), "--optimizer",  stored.optimizer,
      "--dtype",      loaded.stored().dtype};
  if (stored.bias) words.emplace_back("--bias");
  if (stored.untied) words.emplace_back("--untied");
  if (stored.qk_norm) words.emplace_back("--qk-norm");
  return words;
}

void Summary::validate(const Run&) { cli::require_divides(n_head_, n_embd_); }

nn::GPTOptions Summary::config(const Run& run) const {
  nn::GPTOptions config = base_;
  config.block_size = block_size_;
  config.vocab_size = vocab_size_;
  config.n_layer = n_layer_;
  config.n_head = n_head_;
  config.n_embd = n_embd_;
  config.dropout = dropout_;
  config.bias = bias_ ? nn::Bias::yes : nn::Bias::no;
  config.tied = untied_ ? nn::Tied::no : nn::Tied::yes;
  config.qk_norm = qk_norm_ ? nn::QkNorm::yes : nn::QkNorm::no;
  config.dtype = run.dtype;
  return config;
}

/// One line per layer; only the first of the blocks, which are alike.
std::string Summary::tree(const std::vector<Layer>& layers) const {
  const auto line = [](const std::string& name, const std::string& what, const std::string& output,
                       const std::string& parameters, const std::string& flops,
                       const std::string& kept) {
    return fmt::format("{}{}{:>16}{:>15}{:>9}{:>12}\n", report::fitted(name, 13),
                       report::fitted(what, 34), output, parameters, flops, kept);
  };
  std::string out = line("", "", "output", "parameters", "FLOPs", "kept");
  const std::string others = n_layer_ > 1 ? fmt::format(", and {} more like it", n_layer_ - 1) : "";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const bool is_block = layer.name.starts_with("h."), is_first = layer.name.starts_with("h.0");
    if (is_block && !is_first) continue;
    const LayerTotal sum = total(layers, i);
    const auto indent = static_cast<std::size_t>(std::max(layer.depth() - 1, 0)) * 2;
    const std::string last = layer.name.substr(layer.name.rfind('.') + 1);
    out +=
        line(std::string(indent, ' ') + last,
             fmt::format("{} {}{}", layer.type, layer.about, layer.name == "h.0" ? others : ""),
             layer.output.str(), sum.parameters > 0 ? report::grouped(sum.parameters) : "",
             sum.flops > 0 ? count_text(sum.flops) : "", sum.kept > 0 ? bytes_text(sum.kept) : "");
  }
  return out;
}

std::vector<std::string> Summary::notes(const LayerTotal& all, double item) const {
  const double weights = item * static_cast<double>(all.parameters);
  const double kept = all.kept * static_cast<double>(batch_size_);
  const double state = averages() * weights;
  return {
      fmt::format("{} parameters; {} FLOPs per forward pass of {} tokens, counting only matrix "
                  "products, 2 m n k for (m, k) times (k, n); backward takes twice that. output: "
                  "the shape for one sequence. kept: what backward needs of it.",
                  report::grouped(all.parameters), count_text(all.flops), block_size_),
      fmt::format("Memory of a step with batch size {}: parameters {}, gradients {}, state of {} "
                  "{}, kept activations {}; {} in total.",
                  batch_size_, bytes_text(weights), bytes_text(weights), optimizer_,
                  bytes_text(state), bytes_text(kept), bytes_text(2 * weights + state + kept))};
}

Report Summary::run(const Run& run) {
  if (!warning_.empty()) run.say("warning: " + warning_);
  const std::vector<Layer> layers = gpt_layers(config(run));
  const auto item = static_cast<double>(autograd::item_size(run.dtype));
  Report report;
  report.columns = {{"layer", ""},          {"type", ""},
                    {"output", ""},         {"parameters", ""},
                    {"flops", ""},          {"parameter_bytes", ""},
                    {"gradient_bytes", ""}, {"optimizer_bytes", ""},
                    {"kept_bytes", ""}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerTotal sum = total(layers, i);
    const double weights = item * static_cast<double>(sum.parameters);
    report.rows.push_back({layers[i].name, layers[i].type, layers[i].output.str(), sum.parameters,
                           sum.flops, weights, weights, averages() * weights,
                           sum.kept * static_cast<double>(batch_size_)});
  }
  report.figure = tree(layers);
  report.notes = notes(total(layers, 0), item);
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_summary() { return std::make_unique<Summary>(); }

}  // namespace experiments::training
