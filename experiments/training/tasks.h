#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/array/random.h"
#include "experiments/training/batch.h"

// Tasks that need no data: each example is a prompt, which is drawn, and the answer that follows
// from it.

namespace experiments::training {

using autograd::Index;

struct TaskOptions {
  std::optional<Index> length = {};   // of what is rearranged, of a number in digits, or the pairs
  std::optional<Index> symbols = {};  // how many there are to draw from; "add" has ten digits
};

/// A task as a model sees it: tokens of prompt and answer in one line, x without the last one, and
/// y the next token of each position where that belongs to the answer, kIgnored elsewhere.
class Task {
 public:
  /// Writes one example, prompt and answer, from as many uniform numbers on [0, 1).
  using Fill = std::function<void(std::span<const double> uniform, std::span<std::int64_t> line)>;

  Task(std::string name, std::vector<std::string> vocabulary, Index prompt_size, Index answer_size,
       Fill fill);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  Index vocab_size() const { return static_cast<Index>(vocabulary_.size()); }
  Index prompt_size() const { return prompt_size_; }
  Index answer_size() const { return answer_size_; }
  Index block_size() const { return prompt_size_ + answer_size_ - 1; }  // T

  /// `size` examples; example b is a function of (key, b).
  Batch batch(Index size, autograd::RandomKey key) const;
  /// The words of tokens, one after the other: "12+05=017"; nothing for kIgnored.
  std::string text(std::span<const std::int64_t> tokens) const;

 private:
  std::string name_;
  std::vector<std::string> vocabulary_;
  Index prompt_size_, answer_size_;
  Fill fill_;
};

/// "add", "copy", "recall", "reverse" and "sort":
///   add      12+05=017     two numbers of `length` digits; their sum has one digit more
///   copy     dab|dab       reverse  dab|bad     sort  dab|abd
///   recall   a3c1b2c1      `length` pairs of a key, no key twice, and a value; then the value of
///                          one of the keys. `symbols` counts the keys, and the values as well.
std::span<const std::string> task_names();

/// UsageError for an unknown name and for sizes out of range, with the value and the range.
Task make_task(std::string_view name, const TaskOptions& options = {});

/// How much of what there is to predict was predicted right.
struct Accuracy {
  double tokens = 0;    // share of the positions
  double examples = 0;  // share of the examples without an error
};

/// Compares `predicted` (B, T) with the y of a batch, both i64; positions and examples where all is
/// kIgnored do not count. ShapeError for unequal shapes, ValueError if nothing counts.
Accuracy accuracy(const autograd::Tensor& predicted, const autograd::Tensor& y);

}  // namespace experiments::training
