#pragma once

#include <stdexcept>

// What reading and writing files throws. None of it is a fault of the calling program.

namespace nn {

/// Input data that does not fit: a file that is damaged or not of its format.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file or stream that cannot be read or written.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nn
