#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "autograd/scope.h"

namespace autograd {

/// The base of everything the engine throws but std::bad_alloc. A message reads "op: what was
/// expected, what came", quotes whole shapes, and ends with the scope it happened in: "... [in
/// gpt.block.1.attn]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sizes that do not fit: ranks, broadcasting, a dimension out of range, an overflowing product.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A scalar type where another is needed, or two types mixed.
class DTypeError : public Error {
 public:
  using Error::Error;
};

/// A number outside its range: a probability, an index, a label.
class ValueError : public Error {
 public:
  using Error::Error;
};

/// A graph used against its rules: no history, a second backward, a wrong gradient shape.
class GraphError : public Error {
 public:
  using Error::Error;
};

/// A NaN or an infinity that the anomaly guard saw being made.
class NumericError : public Error {
 public:
  using Error::Error;
};

/// The one way to throw: fail<ShapeError>("softmax: dim {} is not in [{}, {})", ...).
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  std::string message = fmt::format(text, std::forward<Args>(args)...);
  if (!Scope::path().empty()) message += fmt::format(" [in {}]", Scope::path());
  throw E(message);
}

}  // namespace autograd
