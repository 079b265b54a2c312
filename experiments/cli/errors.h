#pragma once

#include <stdexcept>

#include "nn/io/errors.h"

// What ends a run early; program.cpp turns each into its exit code.

namespace experiments::cli {

/// A mistake on the command line or in --config: one line that names option, value and rule. Exit
/// code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using nn::DataError;  // exit code 3: input data that does not fit
using nn::IoError;    // exit code 4: a file or stream that cannot be read or written

/// The reader of a pipe went away, as `head` does. Exit code 4, without a message.
struct ClosedPipe {};

/// The user ended the run. Not a std::exception, so that no handler swallows it. Exit code
/// 130.
struct Interrupted {};

}  // namespace experiments::cli
