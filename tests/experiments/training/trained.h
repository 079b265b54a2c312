#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "experiments/training/run_folder.h"
#include "tests/experiments/run.h"

namespace experiments::test {

/// A text with more than one kind of character, blanks and line ends.
inline std::string lines_of_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat\nand the dog ran\tn\xc3\xa9\n";
  return text;
}

inline Outcome train(const std::string& folder, const Words& more) {
  Words words = {"train", "--out-dir",       folder, "--n-layer",   "1",   "--n-head",
                 "2",     "--n-embd",        "16",   "--max-iters", "30",  "--warmup-iters",
                 "1",     "--eval-iters",    "1",    "--dtype",     "f64", "--format",
                 "csv",   "--learning-rate", "0.01"};
  words.insert(words.end(), more.begin(), more.end());
  Outcome outcome = in_process(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome;
}

/// A short run on a text of `folder`.
inline Outcome train_text(const Folder& folder) {
  put(folder / "text.txt", lines_of_text());
  return train(folder / "out", {"--data", folder / "text.txt", "--block-size", "8"});
}

/// The same run with something about its checkpoint changed.
inline void change(const std::string& folder,
                   const std::function<void(training::Checkpoint&)>& how) {
  const training::RunFolder run(folder);
  training::Checkpoint checkpoint = run.load();
  how(checkpoint);
  run.save(checkpoint);
}

}  // namespace experiments::test
