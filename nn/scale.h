#pragma once

#include <string>
#include <string_view>

#include "nn/types.h"

namespace nn {

/// The factor a that attention multiplies its scores by: softmax(a q k^T). Written
/// none | sqrt_dk | dk | NUMBER, with d_k the size of one head: 1, 1 / sqrt(d_k), 1 / d_k, or the
/// number itself.
class Scale {
 public:
  static Scale none() { return {Kind::none, 1.0}; }
  static Scale sqrt_dk() { return {Kind::sqrt_dk, 0.0}; }
  static Scale dk() { return {Kind::dk, 0.0}; }
  static Scale number(double a);  // ValueError unless finite
  /// From its written form; `sqrt` means sqrt_dk. The decimal point is a point in every locale.
  /// ValueError with the text and the allowed forms.
  static Scale parse(std::string_view text);

  double factor(Index d_k) const;  // d_k at least 1
  std::string name() const;        // the written form; parse(name()) gives the same scale
  friend bool operator==(const Scale&, const Scale&) = default;

 private:
  enum class Kind { none, sqrt_dk, dk, number };
  Scale(Kind kind, double number) : kind_(kind), number_(number) {}

  Kind kind_;
  double number_;
};

}  // namespace nn
