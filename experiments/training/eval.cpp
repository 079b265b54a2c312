#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <optional>
#include <system_error>

#include "experiments/cli/errors.h"
#include "experiments/registry.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "experiments/training/held_out.h"
#include "experiments/training/loaded_model.h"
#include "experiments/training/text_data.h"
#include "experiments/training/trainer.h"
#include "experiments/training/vocabulary.h"

namespace experiments::training {
namespace {

constexpr Index kMostWindows = 64;        // a batch
constexpr double kMostNumbers = 1 << 25;  // of its largest tensor
std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) {
    text.remove_prefix(std::max<std::size_t>(report::utf8_length(text), 1));
  }
  return count;
}

/// Sums over the counted targets.
struct Tally {
  double loss = 0;  // nats
  double right = 0;
  std::int64_t tokens = 0;
  std::int64_t characters = 0;
};

class Eval : public Experiment {
 public:
  void add_options(Options& options) override {
    options.text("--out-dir", out_dir_, "folder of the run", "FOLDER");
    options.text("--data", data_,
                 "text to measure on, all of it, instead of the last tenth of the run's own",
                 "FILE");
  }
  /// The run's own, as its tasks draw their questions by the seed.
  std::vector<std::string> underlying_options() override {
    const StoredConfig& stored = loaded().stored();
    return {"--seed", fmt::format("{}", stored.seed), "--dtype", stored.dtype};
  }
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  double bytes_needed(const Run& run) const override {
    return loaded_ ? loaded_->forward_bytes(windows_at_once(), run.dtype) : 0;
  }
  Report run(const Run& run) override;

 private:
  const LoadedModel& loaded() {
    if (!loaded_) loaded_.emplace(RunFolder(out_dir_));
    return *loaded_;
  }
  Index windows_at_once() const;
  bool is_own_text() const;
  HeldOut text(const std::string& path, std::int64_t& size) const;
  HeldOut task(std::uint64_t seed) const;
  Tally tally(nn::GPT& model, const std::vector<Batch>& batches, const Run& run) const;

  std::string out_dir_ = "out";
  std::string data_;

  std::optional<LoadedModel> loaded_;
};

Index Eval::windows_at_once() const {
  const nn::GPTOptions& c = loaded_->options();
  const auto of = [](Index n) { return static_cast<double>(n); };
  const double largest =
      of(c.block_size) *
      std::max({of(c.vocab_size), of(c.n_head) * of(c.block_size), 4 * of(c.n_embd)});
  return std::clamp<Index>(std::llround(kMostNumbers / largest), 1, kMostWindows);
}

/// Whether what is measured on is the text that the run was trained on, nine tenths of it.
bool Eval::is_own_text() const {
  const std::string& own = loaded_->stored().config.data;
  std::error_code none;
  return data_.empty() || std::filesystem::equivalent(data_, own, none);
}

/// `size` is set to the tokens that it has.
HeldOut Eval::text(const std::string& path, std::int64_t& size) const {
  const std::string shown = text_name(path);
  const Tokens tokens = Vocabulary(loaded_->vocabulary()).encode(read_text(path), shown);
  size = std::ssize(tokens);
  return (is_own_text() ? held_out : whole_text)(tokens, loaded_->options(), windows_at_once(),
                                                 shown);
}

HeldOut Eval::task(std::uint64_t seed) const {
  if (!loaded_->has_task()) {
    throw UsageError(
        fmt::format("--data: {} names no text of its own; expected a FILE", loaded_->shown()));
  }
  const auto source = make_source(loaded_->stored().config, seed);
  return {source->final_batches(), source->floors()};
}

Tally Eval::tally(nn::GPT& model, const std::vector<Batch>& batches, const Run& run) const {
  Tally sum;
  double done = 0;
  for (const Batch& batch : batches) {
    std::int64_t tokens = 0;
    const autograd::Array y = batch.y.data();
    for (const std::int64_t target : y.read<std::int64_t>()) {
      if (target == kIgnored) continue;
      ++tokens;
      sum.characters += static_cast<std::int64_t>(
          characters(loaded_->vocabulary()[static_cast<std::size_t>(target)]));
    }
    const Evaluation seen = evaluate(model, 1, [&batch](Index) { return batch; });
    sum.tokens += tokens;
    sum.loss += seen.loss * static_cast<double>(tokens);
    sum.right += seen.accuracy * static_cast<double>(tokens);
    run.progress(++done / static_cast<double>(batches.size()));
  }
  return sum;
}

Report Eval::run(const Run& run) {
  const std::string path = data_.empty() ? loaded().stored().config.data : data_;
  const bool is_text = !path.empty();
  if (data_.empty() && path == kStandardInput) {
    throw UsageError(
        fmt::format("--data: {} was trained on standard input; expected its text as a FILE, or -",
                    loaded().shown()));
  }
  std::int64_t size = 0;
  const HeldOut held = is_text ? text(path, size) : task(run.seed);
  const auto model = loaded().make(run.dtype);
  Tally sum;
  try {
    sum = tally(*model, held.batches, run);
  } catch (const autograd::NumericError& error) {
    throw autograd::NumericError(fmt::format("{}: {}", loaded().shown(), error.what()));
  }
  const auto tokens = static_cast<double>(sum.tokens);
  const double loss = sum.loss / tokens;
  Report report;
  report.columns = {{"tokens", "tokens"},
                    {"loss", "loss", 4},
                    {"perplexity", "perplexity", 4},
                    {"accuracy", "accuracy", 4}};
  report.rows = {{sum.tokens, loss, std::exp(loss), sum.right / tokens}};
  if (is_text && Vocabulary(loaded().vocabulary()).separator().empty()) {
    report.columns.push_back({"bits_per_character", "bits/character", 4});
    report.rows[0].push_back(sum.loss / std::numbers::ln2 / static_cast<double>(sum.characters));
  }
  for (const Floor& floor : held.floors) {
    report.columns.push_back({floor.name, floor.name, 4});
    report.rows[0].push_back(floor.loss);
  }
  if (is_text) {
    report.columns.push_back({"data_tokens", "tokens of the text"});
    report.rows[0].push_back(size);
  }
  report.notes = {fmt::format(
      "Measured {} {}. Loss in nats per token, beside that of baselines without a network; "
      "perplexity is exp(loss).",
      loaded().shown(),
      is_text ? fmt::format("on {} of {}, in separate windows of {} tokens",
                            is_own_text() ? "the last tenth" : "all", text_name(path),
                            loaded().options().block_size)
              : fmt::format("on the answers of task {}", loaded().stored().config.task_name()))};
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_eval() { return std::make_unique<Eval>(); }

}  // namespace experiments::training
