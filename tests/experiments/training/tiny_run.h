#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/array/elementwise.h"
#include "experiments/training/checkpoint.h"
#include "tests/experiments/run.h"

namespace experiments::test {

/// The words of a run of a small model on a small task, into `folder`; options in `more` replace
/// those of the same name.
inline Words tiny(const std::string& folder, const Words& more = {}) {
  Words words = {"train", "--out-dir", folder};
  for (const auto& [option, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"--n-layer", "1"},
                                                                  {"--n-head", "2"},
                                                                  {"--n-embd", "8"},
                                                                  {"--batch-size", "4"},
                                                                  {"--task-length", "3"},
                                                                  {"--task-symbols", "3"},
                                                                  {"--eval-interval", "10"},
                                                                  {"--eval-iters", "2"},
                                                                  {"--warmup-iters", "2"}}) {
    if (std::ranges::find(more, option) == more.end()) words.insert(words.end(), {option, value});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(contents(path));
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline void expect_same(const nn::State& a, const nn::State& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    EXPECT_TRUE(bit_equal(value.data(), b.at(name).data())) << name;
  }
}

}  // namespace experiments::test
