#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "nn/module.h"

// What the tests of nn share.

namespace nn {

/// No element is further than tolerance * max(1, |want|) from `want`; names the worst.
testing::AssertionResult is_close(const Tensor& got, const Tensor& want, double tolerance);
/// Same shape, dtype and bits.
testing::AssertionResult same_bits(const Tensor& a, const Tensor& b);

/// A file of tensors beside the tests: lines of case, name, shape as "2x5x12", values.
class Reference {
 public:
  explicit Reference(const std::string& file);                              // in tests/nn
  Tensor get(const std::string& case_name, const std::string& name) const;  // f64

 private:
  std::map<std::pair<std::string, std::string>, Tensor> tensors_;
};

}  // namespace nn
