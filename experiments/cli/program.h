#pragma once

#include <span>
#include <string>

#include "experiments/registry.h"

namespace experiments::cli {

const char* version();  // "0.1.0"

/// What a run of the program works with; tests supply their own.
struct World {
  int out = 1;  // descriptors of the streams
  int err = 2;
  std::span<const Entry> entries = registry();
  std::string default_command = "scaling";
};

/// The program: does what `words` (argv without the first) ask for, reports an error as one line on
/// `err` and returns the exit code. Throws nothing.
int run_program(std::span<const std::string> words, const World& world = {});

}  // namespace experiments::cli
