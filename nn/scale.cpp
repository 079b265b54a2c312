#include "nn/scale.h"

#include <cmath>
#include <locale>
#include <sstream>

namespace nn {

using autograd::fail;
using autograd::ValueError;

namespace {

[[noreturn]] void refuse(std::string_view text) {
  fail<ValueError>("scale: expected none, sqrt_dk, dk or a finite number, got '{}'", text);
}

}  // namespace

Scale Scale::number(double a) {
  if (!std::isfinite(a)) refuse(fmt::format("{}", a));
  return {Kind::number, a};
}

Scale Scale::parse(std::string_view text) {
  if (text == "none") return none();
  if (text == "sqrt_dk" || text == "sqrt") return sqrt_dk();
  if (text == "dk") return dk();
  // Streams skip blanks, and some read hexadecimal numbers and "inf": only decimal digits here.
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) refuse(text);
  std::istringstream in{std::string(text)};
  in.imbue(std::locale::classic());
  std::string_view digits = text.substr(0, text.find_first_of("eE"));
  if (digits.substr(0, 1) == "-") digits.remove_prefix(1);
  const bool has_leading_zero =
      digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  if (text.substr(0, 1) == "+" || has_leading_zero) refuse(text);
  double a = 0;
  if (!(in >> a) || in.peek() != std::istringstream::traits_type::eof() || !std::isfinite(a)) {
    refuse(text);
  }
  // Too small to be told from 0.
  if (a == 0 && digits.find_first_of("123456789") != std::string_view::npos) refuse(text);
  return {Kind::number, a};
}

double Scale::factor(Index d_k) const {
  if (d_k < 1) fail<ValueError>("scale: d_k must be at least 1, got {}", d_k);
  switch (kind_) {
    case Kind::none: return 1.0;
    case Kind::sqrt_dk: return 1.0 / std::sqrt(static_cast<double>(d_k));
    case Kind::dk: return 1.0 / static_cast<double>(d_k);
    case Kind::number: break;
  }
  return number_;
}

std::string Scale::name() const {
  switch (kind_) {
    case Kind::none: return "none";
    case Kind::sqrt_dk: return "sqrt_dk";
    case Kind::dk: return "dk";
    case Kind::number: break;
  }
  return fmt::format("{}", number_);  // the shortest text that reads back as the same number
}

}  // namespace nn
