#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/cli/signals.h"
#include "experiments/registry.h"
#include "experiments/report/text.h"
#include "experiments/training/loaded_model.h"
#include "experiments/training/samples.h"
#include "experiments/training/text_data.h"
#include "experiments/training/vocabulary.h"

namespace experiments::training {
namespace {

constexpr std::uint64_t kDraws = 0x73616d706c655f64;  // streams of the tokens and of the prompts
constexpr std::uint64_t kPrompts = 0x73616d706c655f70;
constexpr Index kQuickTokens = 50;

/// The text so far, and on stdout, where that is a table, as it comes.
class Writer {
 public:
  Writer(const Run& run, const Vocabulary& vocabulary) : run_(run), vocabulary_(vocabulary) {}

  void heading(const std::string& line) { show(line + '\n'); }
  /// Between a question and its answer; no part of the text.
  void arrow() {
    show(" -> ");
    begins_ = true;
  }
  void token(std::int64_t token) {
    if (!text_.empty()) text_ += vocabulary_.separator();
    if (!begins_) show(vocabulary_.separator());
    text_ += vocabulary_[token];
    show(readable(vocabulary_[token]));
    begins_ = false;
  }
  /// Ends one text and begins the next.
  std::string text() {
    show("\n");
    begins_ = true;
    return std::exchange(text_, {});
  }
  bool streams() const { return streams_; }
  const std::string& page() const { return page_; }  // what did not go out yet

 private:
  void show(const std::string& piece) {
    streams_ = run_.stream(piece);
    if (!streams_) page_ += piece;
  }

  const Run& run_;
  const Vocabulary& vocabulary_;
  std::string text_, page_;
  bool begins_ = true;  // nothing stands before the next token that it has to be told from
  bool streams_ = false;
};

class Sample : public Experiment {
 public:
  void add_options(Options& options) override;
  std::vector<std::string> underlying_options() override {
    return {"--dtype", loaded().stored().dtype};
  }
  autograd::DType default_dtype() const override { return autograd::DType::f32; }
  double bytes_needed(const Run& run) const override {
    if (!loaded_) return 0;
    return loaded_->forward_bytes(1, run.dtype) + (no_cache_ ? 0 : loaded_->cache_bytes(run.dtype));
  }
  Report run(const Run& run) override;

 private:
  struct Prompt {
    Tokens tokens;
    Index count;  // of the tokens that follow
  };

  const LoadedModel& loaded() {
    if (!loaded_) loaded_.emplace(RunFolder(out_dir_));
    return *loaded_;
  }
  std::vector<Prompt> prompts(const Run& run, const Vocabulary& vocabulary);
  std::vector<Prompt> task_prompts(std::uint64_t seed);
  void write(nn::GPT& model, const Prompt& prompt, Index number, const Run& run, Writer& out) const;

  std::string out_dir_ = "out";
  std::string prompt_;
  Index num_samples_ = 1;
  Index max_new_tokens_ = 500;
  Sampling sampling_{.temperature = 0.8};
  bool no_cache_ = false;

  std::optional<LoadedModel> loaded_;
};

void Sample::add_options(Options& options) {
  options.text("--out-dir", out_dir_, "folder of the run", "FOLDER");
  options.text("--prompt", prompt_,
               "beginning of the text; without it, a new line, or for a task one of its questions");
  options.integer("--num-samples", num_samples_, 1, 1'000'000,
                  "number of texts, each drawn independently");
  options.integer("--max-new-tokens", max_new_tokens_, 0, 1'000'000,
                  "maximum number of tokens after the prompt; fewer where a task's answer ends");
  options.number("--temperature", sampling_.temperature, 0, 1e30,
                 "divisor of the logits; 0: always the most likely token");
  options.integer("--top-k", sampling_.top_k, 0, 1'000'000'000,
                  "draw only from the N most likely tokens; 0: from all");
  options.number("--top-p", sampling_.top_p, 0, 1,
                 "draw only from the fewest tokens that hold this share of the probability");
  options.toggle(
      "--no-cache", no_cache_,
      "compute the keys and values of all tokens anew for each one, as beyond block_size: "
      "slower, and the same but for rounding");
}

/// Questions as validation asks them.
std::vector<Sample::Prompt> Sample::task_prompts(std::uint64_t seed) {
  const auto source = make_source(loaded().stored().config, seed);
  const Batch batch = source->validation_batch(num_samples_, {seed ^ kPrompts, 0});
  const autograd::Array x = batch.x.data(), y = batch.y.data();
  const auto given = x.read<std::int64_t>(), wanted = y.read<std::int64_t>();
  const auto width = batch.x.size(1);
  std::vector<Prompt> prompts;
  for (auto row = given.begin(), next = wanted.begin(); row != given.end();
       row += width, next += width) {
    const auto first = std::find_if(next, next + width, [](auto t) { return t != kIgnored; });
    const Index length = first - next + 1;
    prompts.push_back({{row, row + length}, width + 1 - length});
  }
  return prompts;
}

std::vector<Sample::Prompt> Sample::prompts(const Run& run, const Vocabulary& vocabulary) {
  const bool is_task = loaded().has_task();
  if (is_task && prompt_.empty()) return task_prompts(run.seed);
  Prompt prompt{.tokens = vocabulary.encode(clean_text(prompt_, "--prompt"), "--prompt"),
                .count = max_new_tokens_};
  if (prompt.tokens.empty()) prompt.tokens = {start_token(loaded().vocabulary())};
  if (is_task) {
    const Index length = std::ssize(prompt.tokens), block = loaded().options().block_size;
    if (length > block) {
      throw cli::DataError(
          fmt::format("--prompt: expected at most the {} tokens of task {}, got {}", block,
                      loaded().stored().config.task_name(), length));
    }
    prompt.count = block + 1 - length;
  }
  return {static_cast<std::size_t>(num_samples_), prompt};
}

void Sample::write(nn::GPT& model, const Prompt& prompt, Index number, const Run& run,
                   Writer& out) const {
  const Index most = run.quick ? std::min(kQuickTokens, max_new_tokens_) : max_new_tokens_;
  const Index count = std::min(prompt.count, most);
  if (num_samples_ > 1 && !loaded_->has_task()) out.heading(fmt::format("--- {} ---", number + 1));
  for (const std::int64_t token : prompt.tokens) out.token(token);
  if (loaded_->has_task()) out.arrow();
  Index written = 0;
  const auto take = [&](std::int64_t token) {
    out.token(token);
    ++written;
    if (!out.streams()) {
      run.progress((static_cast<double>(number) +
                    static_cast<double>(written) / static_cast<double>(count)) /
                   static_cast<double>(num_samples_));
    } else if (cli::interrupted()) {
      run.stream("\n");
      cli::throw_if_interrupted();
    }
    return true;
  };
  generate(model, prompt.tokens, count, sampling_,
           {run.seed ^ kDraws, static_cast<std::uint64_t>(number)}, take,
           no_cache_ ? Cached::no : Cached::yes);
}

Report Sample::run(const Run& run) {
  const Vocabulary vocabulary(loaded().vocabulary());
  const std::vector<Prompt> all = prompts(run, vocabulary);
  const auto model = loaded().make(run.dtype);
  Report report;
  report.columns = {{"sample", ""}, {"text", ""}};
  Writer out(run, vocabulary);
  for (std::int64_t i = 0; i < num_samples_; ++i) {
    write(*model, all[static_cast<std::size_t>(i)], i, run, out);
    report.rows.push_back({i, out.text()});
  }
  report.figure = out.page();
  return report;
}

}  // namespace

std::unique_ptr<Experiment> make_sample() { return std::make_unique<Sample>(); }

}  // namespace experiments::training
