#include "experiments/training/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/cli/errors.h"
#include "experiments/training/floors.h"
#include "experiments/training/tasks.h"
#include "experiments/training/text_data.h"
#include "experiments/training/vocabulary.h"

namespace experiments::training {
namespace {

constexpr Index kWindowsAtOnce = 64;
constexpr Index kTaskExamples = 2048;  // of the final evaluation

TextData read_data(const TrainConfig& config, const std::vector<std::string>& vocabulary) {
  const std::string text = read_text(config.data);
  const std::string shown = text_name(config.data);
  try {
    if (vocabulary.empty()) return {text, config.block_size};
    return {Vocabulary(vocabulary).encode(text, shown), vocabulary, config.block_size};
  } catch (const cli::DataError& error) {
    throw cli::DataError(fmt::format("--data {}: {}", shown, error.what()));
  }
}

class TextSource : public Source {
 public:
  explicit TextSource(TextData data) : data_(std::move(data)) {}

  const std::vector<std::string>& vocabulary() const override { return data_.vocabulary(); }
  Index block_size() const override { return data_.block_size(); }
  bool is_text() const override { return true; }
  Batch train_batch(Index size, autograd::RandomKey key) const override {
    return data_.batch(Split::train, size, key);
  }
  Batch validation_batch(Index size, autograd::RandomKey key) const override {
    return data_.batch(Split::validation, size, key);
  }
  std::vector<Batch> final_batches() const override {
    std::vector<Batch> batches;
    const Index windows = data_.window_count(Split::validation);
    for (Index first = 0; first < windows; first += kWindowsAtOnce) {
      batches.push_back(
          data_.windows(Split::validation, first, std::min(kWindowsAtOnce, windows - first)));
    }
    return batches;
  }
  std::string fingerprint() const override {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a token at a time
    for (const Split split : {Split::train, Split::validation}) {
      for (const std::int64_t token : data_.tokens(split)) {
        hash = (hash ^ static_cast<std::uint64_t>(token)) * 0x100000001b3;
      }
    }
    return fmt::format("{:016x}", hash);
  }
  std::vector<Floor> floors() const override {
    const Floors floors = training::floors(
        data_.tokens(Split::train), data_.tokens(Split::validation), std::ssize(vocabulary()));
    return {{"uniform", floors.uniform}, {"unigram", floors.unigram}, {"bigram", floors.bigram}};
  }

 private:
  TextData data_;
};

class TaskSource : public Source {
 public:
  TaskSource(Task task, std::uint64_t seed) : task_(std::move(task)), seed_(seed) {}

  const std::vector<std::string>& vocabulary() const override { return task_.vocabulary(); }
  Index block_size() const override { return task_.block_size(); }
  bool is_text() const override { return false; }
  Batch train_batch(Index size, autograd::RandomKey key) const override {
    return task_.batch(size, key);
  }
  Batch validation_batch(Index size, autograd::RandomKey key) const override {
    return task_.batch(size, key);
  }
  std::vector<Batch> final_batches() const override {
    constexpr std::uint64_t kFinal = 0x66696e616c5f6576;
    std::vector<Batch> batches;
    for (Index i = 0; i < kTaskExamples / kWindowsAtOnce; ++i) {
      batches.push_back(
          task_.batch(kWindowsAtOnce, {seed_ ^ kFinal, static_cast<std::uint64_t>(i)}));
    }
    return batches;
  }
  std::vector<Floor> floors() const override {
    return {{"uniform", uniform_floor(task_.vocab_size())}};
  }

 private:
  Task task_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Source> make_source(const TrainConfig& config, std::uint64_t seed,
                                    const std::vector<std::string>& vocabulary) {
  if (!config.data.empty()) return std::make_unique<TextSource>(read_data(config, vocabulary));
  return std::make_unique<TaskSource>(make_task(config.task_name(), config.task_options()), seed);
}

}  // namespace experiments::training
