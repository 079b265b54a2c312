#include "experiments/report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace experiments::report {

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
#ifdef __cpp_lib_to_chars
  char buffer[32];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
#else  // clang 14's library: the same digits, though other numbers get an exponent
  std::string text = fmt::format("{}", value);
#endif
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return shortest(value);
  if (value == 0) return "0";
  const int precision = std::max(digits, 1);
  const std::string scientific = fmt::format("{:.{}e}", value, precision - 1);
  // The exponent of the rounded number: 9.996 has that of 10.0.
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 7) return scientific;
  return fmt::format("{:.{}f}", value, std::max(precision - 1 - exponent, 0));
}

std::string grouped(std::int64_t value) {
  std::string text = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string percent(double share) { return significant(100 * share, 3) + " %"; }

}  // namespace experiments::report
