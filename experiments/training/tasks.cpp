#include "experiments/training/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "experiments/report/text.h"

namespace experiments::training {
namespace {

using Uniforms = std::span<const double>;
using Line = std::span<std::int64_t>;

constexpr Index kMaxLength = 1000, kMaxSymbols = 1000;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// A number in [0, n) from one on [0, 1).
std::int64_t below(Index n, double uniform) {
  return static_cast<std::int64_t>(static_cast<double>(n) * uniform);
}

Index in_range(const char* task, const char* what, Index value, Index min, Index max) {
  if (value < min || value > max)
    throw cli::UsageError(
        fmt::format("--task-{}: task {} expects {} to {}, got {}", what, task, min, max, value));
  return value;
}

/// a, b, c, ...; s0, s1, s2, ... if there are too few letters.
std::vector<std::string> symbol_names(Index count) {
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i)
    names.push_back(count <= 26 ? std::string(1, static_cast<char>('a' + i))
                                : fmt::format("s{}", i));
  return names;
}

/// A task that rearranges `length` drawn symbols: prompt and bar, then what `arrange` makes of it.
Task rearranging(const char* name, const TaskOptions& options, void (*arrange)(Line symbols)) {
  const Index length = in_range(name, "length", options.length.value_or(8), 1, kMaxLength);
  const Index symbols = in_range(name, "symbols", options.symbols.value_or(8), 2, kMaxSymbols);
  std::vector<std::string> vocabulary = symbol_names(symbols);
  vocabulary.push_back("|");
  return {name, std::move(vocabulary), length + 1, length, [=](Uniforms uniform, Line line) {
            const Line prompt = line.first(at(length)), answer = line.last(at(length));
            for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = below(symbols, uniform[i]);
            line[at(length)] = symbols;  // the bar
            std::ranges::copy(prompt, answer.begin());
            arrange(answer);
          }};
}

Task make_copy(const TaskOptions& options) {
  return rearranging("copy", options, [](Line) {});
}

Task make_reverse(const TaskOptions& options) {
  return rearranging("reverse", options, [](Line symbols) { std::ranges::reverse(symbols); });
}

Task make_sort(const TaskOptions& options) {
  return rearranging("sort", options, [](Line symbols) { std::ranges::sort(symbols); });
}

Task make_add(const TaskOptions& options) {
  constexpr std::int64_t kPlus = 10, kEquals = 11;
  const Index digits = in_range("add", "length", options.length.value_or(2), 1, kMaxLength);
  if (options.symbols)
    throw cli::UsageError(
        fmt::format("--task-symbols: task add expects none, as it always has ten digits, got {}",
                    *options.symbols));
  std::vector<std::string> vocabulary = {"0", "1", "2", "3", "4", "5",
                                         "6", "7", "8", "9", "+", "="};
  return {"add", std::move(vocabulary), 2 * digits + 2, digits + 1,
          [=](Uniforms uniform, Line line) {
            const Line a = line.first(at(digits)), b = line.subspan(at(digits + 1), at(digits));
            const Line sum = line.last(at(digits + 1));
            line[at(digits)] = kPlus;
            line[at(2 * digits + 1)] = kEquals;
            std::int64_t carry = 0;
            for (std::size_t i = a.size(); i-- > 0;) {  // from the units on
              a[i] = below(10, uniform[i]);
              b[i] = below(10, uniform[a.size() + i]);
              const std::int64_t column = a[i] + b[i] + carry;
              sum[i + 1] = column % 10;
              carry = column / 10;
            }
            sum[0] = carry;
          }};
}

Task make_recall(const TaskOptions& options) {
  const Index symbols = in_range("recall", "symbols", options.symbols.value_or(8), 2, kMaxSymbols);
  const Index pairs = in_range("recall", "length",
                               options.length.value_or(std::min<Index>(4, symbols)), 1, symbols);
  std::vector<std::string> vocabulary = symbol_names(symbols);
  for (Index i = 0; i < symbols; ++i)
    vocabulary.push_back(symbols <= 10 ? fmt::format("{}", i) : fmt::format("v{}", i));
  return {"recall", std::move(vocabulary), 2 * pairs + 1, 1, [=](Uniforms uniform, Line line) {
            std::vector<std::int64_t> keys(at(symbols));
            for (Index i = 0; i < symbols; ++i) keys[at(i)] = i;
            for (std::size_t i = 0; i < at(pairs); ++i) {  // the first draws of a shuffle
              const auto left = symbols - static_cast<Index>(i);
              std::swap(keys[i], keys[i + at(below(left, uniform[2 * i]))]);
              line[2 * i] = keys[i];
              line[2 * i + 1] = symbols + below(symbols, uniform[2 * i + 1]);
            }
            const std::size_t asked = at(below(pairs, uniform[at(2 * pairs)]));
            line[at(2 * pairs)] = line[2 * asked];
            line[at(2 * pairs + 1)] = line[2 * asked + 1];
          }};
}

struct Maker {
  std::string name;
  Task (*make)(const TaskOptions& options);
};

const std::array kMakers{Maker{"add", make_add}, Maker{"copy", make_copy},
                         Maker{"recall", make_recall}, Maker{"reverse", make_reverse},
                         Maker{"sort", make_sort}};

}  // namespace

std::span<const std::string> task_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Maker& maker : kMakers) all.push_back(maker.name);
    return all;
  }();
  return names;
}

Task make_task(std::string_view name, const TaskOptions& options) {
  for (const Maker& maker : kMakers)
    if (maker.name == name) return maker.make(options);
  throw cli::UsageError(fmt::format("unknown task {}{} (tasks: {})", report::quote(name),
                                    report::did_you_mean(name, task_names()),
                                    report::join(task_names(), ", ")));
}

Task::Task(std::string name, std::vector<std::string> vocabulary, Index prompt_size,
           Index answer_size, Fill fill)
    : name_(std::move(name)),
      vocabulary_(std::move(vocabulary)),
      prompt_size_(prompt_size),
      answer_size_(answer_size),
      fill_(std::move(fill)) {}

Batch Task::batch(Index size, autograd::RandomKey key) const {
  using autograd::Array;
  const Index T = block_size();
  const Array drawn = autograd::uniform({size, T + 1}, 0, 1, autograd::DType::f64, key);
  const Uniforms uniform = drawn.read<double>();
  std::vector<std::int64_t> x, y, line(at(T + 1));
  for (Index b = 0; b < size; ++b) {
    fill_(uniform.subspan(at(b * (T + 1)), at(T + 1)), line);
    x.insert(x.end(), line.begin(), line.end() - 1);
    y.insert(y.end(), at(prompt_size_ - 1), kIgnored);
    y.insert(y.end(), line.begin() + prompt_size_, line.end());
  }
  return {autograd::Tensor(Array::from<std::int64_t>(x, {size, T})),
          autograd::Tensor(Array::from<std::int64_t>(y, {size, T}))};
}

std::string Task::text(std::span<const std::int64_t> tokens) const {
  std::string words;
  for (const std::int64_t token : tokens)
    if (token != kIgnored) words += vocabulary_.at(at(token));
  return words;
}

Accuracy accuracy(const autograd::Tensor& predicted, const autograd::Tensor& y) {
  (void)y.dims<2>("accuracy: y is (B, T)");
  if (predicted.shape() != y.shape())
    autograd::fail<autograd::ShapeError>("accuracy: expected predictions of shape {}, got {}",
                                         y.shape().str(), predicted.shape().str());
  const autograd::Tensor counts = y != kIgnored, right = (predicted == y) & counts;
  const autograd::Tensor examples = counts.any(-1), flawless = (right == counts).all(-1) & examples;
  if (counts.any().item() == 0)
    autograd::fail<autograd::ValueError>("accuracy: all {} positions are ignored", y.numel());
  return {right.sum().item() / counts.sum().item(), flawless.sum().item() / examples.sum().item()};
}

}  // namespace experiments::training
