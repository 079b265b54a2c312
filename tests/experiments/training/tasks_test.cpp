#include "experiments/training/tasks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "autograd/ops.h"

namespace experiments::training {
namespace {

using autograd::Tensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Example {
  std::string prompt, answer;
};

/// The examples of a batch as text, put together from x and y alone, whose layout this checks.
std::vector<Example> examples(const Task& task, Index size, autograd::RandomKey key = {7, 0}) {
  const Batch batch = task.batch(size, key);
  const Index T = task.block_size(), P = task.prompt_size();
  EXPECT_EQ(batch.x.shape(), (autograd::Shape{size, T}));
  EXPECT_EQ(batch.y.shape(), (autograd::Shape{size, T}));
  const auto x = batch.x.data().read<std::int64_t>(), y = batch.y.data().read<std::int64_t>();
  std::vector<Example> all;
  for (Index b = 0; b < size; ++b) {
    const auto line = x.subspan(b * T, T), next = y.subspan(b * T, T);
    for (Index t = 0; t < T; ++t) {
      if (t < P - 1) {
        EXPECT_EQ(next[t], kIgnored);
      } else if (t + 1 < T) {
        EXPECT_EQ(next[t], line[t + 1]);
      }
      EXPECT_TRUE(line[t] >= 0 && line[t] < task.vocab_size());
    }
    all.push_back({task.text(line.first(P)), task.text(next)});
  }
  return all;
}

TEST(Tasks, RearrangeWhatTheyAreGiven) {
  const std::map<std::string, std::function<void(std::string&)>> truths = {
      {"copy", [](std::string&) {}},
      {"reverse", [](std::string& s) { s = std::string(s.rbegin(), s.rend()); }},
      {"sort", [](std::string& s) { std::sort(s.begin(), s.end()); }}};
  for (const auto& [name, truth] : truths) {
    const Task task = make_task(name, {.length = 6, .symbols = 5});
    EXPECT_EQ(task.name(), name);
    EXPECT_THAT(task.vocabulary(), ElementsAre("a", "b", "c", "d", "e", "|"));
    EXPECT_EQ(task.block_size(), 12);
    std::set<std::string> prompts;
    for (const Example& e : examples(task, 200)) {
      ASSERT_EQ(e.prompt.size(), 7u);
      ASSERT_EQ(e.prompt.back(), '|');
      std::string want = e.prompt.substr(0, 6);
      prompts.insert(want);
      truth(want);
      ASSERT_EQ(e.answer, want) << name << " of " << e.prompt;
    }
    EXPECT_GT(prompts.size(), 190u);  // of 5^6
  }
}

TEST(Tasks, AddIsAddition) {
  const Task task = make_task("add", {.length = 3});
  EXPECT_EQ(task.vocab_size(), 12);
  EXPECT_EQ(task.block_size(), 11);
  Index carried = 0;
  for (const Example& e : examples(task, 300)) {
    ASSERT_EQ(e.prompt.size(), 8u);
    ASSERT_EQ(e.prompt[3], '+');
    ASSERT_EQ(e.prompt[7], '=');
    const int sum = std::stoi(e.prompt.substr(0, 3)) + std::stoi(e.prompt.substr(4, 3));
    ASSERT_EQ(e.answer, fmt::format("{:04}", sum)) << e.prompt;
    carried += sum >= 1000;
  }
  EXPECT_NEAR(static_cast<double>(carried), 150, 45);  // half of them, +- 5 standard deviations
}

TEST(Tasks, RecallFindsTheValueOfTheKey) {
  const Task task = make_task("recall", {.length = 4, .symbols = 6});
  EXPECT_THAT(task.vocabulary(),
              ElementsAre("a", "b", "c", "d", "e", "f", "0", "1", "2", "3", "4", "5"));
  EXPECT_EQ(task.block_size(), 9);
  std::map<char, int> asked;
  std::map<std::size_t, int> places;
  for (const Example& e : examples(task, 600)) {
    ASSERT_EQ(e.prompt.size(), 9u);
    ASSERT_EQ(e.answer.size(), 1u);
    std::map<char, char> pairs;
    for (std::size_t i = 0; i < 8; i += 2) pairs[e.prompt[i]] = e.prompt[i + 1];
    ASSERT_EQ(pairs.size(), 4u) << "a key comes twice in " << e.prompt;
    ASSERT_EQ(pairs.at(e.prompt[8]), e.answer[0]) << e.prompt;
    ++asked[e.prompt[8]];
    ++places[e.prompt.find(e.prompt[8]) / 2];
  }
  for (char key = 'a'; key <= 'f'; ++key) EXPECT_NEAR(asked[key], 100, 46) << key;
  for (std::size_t place = 0; place < 4; ++place) EXPECT_NEAR(places[place], 150, 54) << place;
}

TEST(Tasks, AnExampleIsAFunctionOfKeyAndPlace) {
  for (const std::string& name : task_names()) {
    const Task task = make_task(name);
    const auto x = [&](Index size, autograd::RandomKey key) { return task.batch(size, key).x; };
    const auto bits = [](const Tensor& a, const Tensor& b) {
      return autograd::bit_equal(a.data(), b.data());
    };
    EXPECT_TRUE(bits(x(4, {1, 2}), x(9, {1, 2}).narrow(0, 0, 4))) << name;
    EXPECT_FALSE(bits(x(4, {1, 2}), x(4, {1, 3}))) << name;
    EXPECT_FALSE(bits(x(4, {1, 2}), x(4, {2, 2}))) << name;
  }
}

TEST(Tasks, NamesAndDefaults) {
  EXPECT_THAT(task_names(), ElementsAre("add", "copy", "recall", "reverse", "sort"));
  for (const std::string& name : task_names()) EXPECT_EQ(make_task(name).name(), name);
  EXPECT_EQ(make_task("add").block_size(), 8);  // 12+05=017
  EXPECT_EQ(make_task("copy", {.symbols = 30}).vocabulary()[29], "s29");
  EXPECT_EQ(make_task("recall", {.symbols = 2}).block_size(), 5);  // no more pairs than keys
  EXPECT_EQ(make_task("recall", {.symbols = 12}).vocabulary()[12], "v0");
}

TEST(Tasks, WhatIsRefused) {
  const auto refused = [](const char* name, TaskOptions options, const char* text) {
    EXPECT_THAT([&] { make_task(name, options); }, ThrowsMessage<cli::UsageError>(HasSubstr(text)));
  };
  refused("sortt", {}, "unknown task 'sortt'; did you mean 'sort'? (tasks: add, copy,");
  refused("copy", {.length = 0}, "--task-length: task copy expects 1 to 1000, got 0");
  refused("sort", {.symbols = 1}, "--task-symbols: task sort expects 2 to 1000, got 1");
  refused("add", {.length = -1}, "--task-length: task add expects 1 to 1000, got -1");
  refused("add", {.symbols = 16},
          "--task-symbols: task add expects none, as it always has ten digits, got 16");
  refused("recall", {.length = 9, .symbols = 8},
          "--task-length: task recall expects 1 to 8, got 9");
}

TEST(Tasks, AccuracyCountsWhatIsNotIgnored) {
  const Tensor y = autograd::tensor({-1, 1, 2, -1, 3, 4, -1, -1, -1}, {3, 3}, autograd::DType::i64);
  EXPECT_EQ(accuracy(y, y).tokens, 1);
  EXPECT_EQ(accuracy(y, y).examples, 1);
  const Tensor predicted =
      autograd::tensor({9, 1, 2, 9, 3, 9, 9, 9, 9}, {3, 3}, autograd::DType::i64);
  EXPECT_EQ(accuracy(predicted, y).tokens, 0.75);
  EXPECT_EQ(accuracy(predicted, y).examples, 0.5);
  EXPECT_THROW(accuracy(y.reshape({1, 9}), y), autograd::ShapeError);
  EXPECT_THROW(accuracy(y, autograd::full({3, 3}, -1, autograd::DType::i64)), autograd::ValueError);
}

}  // namespace
}  // namespace experiments::training
