#include "experiments/cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "experiments/report/text.h"

namespace experiments::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "010" means 8 to some readers and 10 to others.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}

/// All of `text` as a T, or nothing; no blanks, no sign '+', no octal.
template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || has_leading_zero(text)) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view flag, std::string_view rule, std::string_view text) {
  const char* zero = has_leading_zero(text) ? " without a leading zero" : "";
  throw UsageError(fmt::format("{}: expected {}{}, got {}", flag, rule, zero, report::quote(text)));
}

std::string interval(double min, double max) {
  if (std::isinf(min) && std::isinf(max)) return "a finite number";
  if (std::isinf(max)) return fmt::format("a finite number of at least {}", min);
  if (std::isinf(min)) return fmt::format("a finite number of at most {}", max);
  return fmt::format("a number in [{}, {}]", min, max);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "4", "4:64:+4" or "4:64:x2" appended to `sizes`; false if it is none of them.
bool append_sizes(std::string_view part, Index min, Index max, std::vector<Index>& sizes) {
  const std::vector<std::string_view> fields = split(part, ':');
  const std::optional<Index> first = whole<Index>(fields[0]);
  if (!first || *first < min || *first > max) return false;
  if (fields.size() == 1) {
    sizes.push_back(*first);
    return true;
  }
  if (fields.size() != 3 || fields[2].empty()) return false;
  const char kind = fields[2][0];
  const std::optional<Index> last = whole<Index>(fields[1]);
  const std::optional<Index> step = whole<Index>(fields[2].substr(1));
  if (!last || *last < *first || *last > max) return false;
  if (!step || *step < (kind == 'x' ? 2 : 1) || (kind != 'x' && kind != '+')) return false;
  if (kind == 'x' && *first < 1) return false;
  for (Index size = *first; sizes.size() <= kMaxSizes;) {
    sizes.push_back(size);
    const bool more = kind == 'x' ? size <= *last / *step : size <= *last - *step;
    if (!more) return true;
    size = kind == 'x' ? size * *step : size + *step;
  }
  return true;
}

template <class T>
const T* first_repeated(const std::vector<T>& values) {
  for (auto it = values.begin(); it != values.end(); ++it)
    if (std::find(values.begin(), it, *it) != it) return &*it;
  return nullptr;
}

}  // namespace

Index parse_integer(std::string_view flag, std::string_view text, Index min, Index max) {
  const std::optional<Index> value = whole<Index>(text);
  if (!value || *value < min || *value > max)
    refuse(flag, fmt::format("a whole number in [{}, {}]", min, max), text);
  return *value;
}

std::uint64_t parse_unsigned(std::string_view flag, std::string_view text, std::uint64_t max) {
  const std::optional<std::uint64_t> value = whole<std::uint64_t>(text);
  if (!value || *value > max) refuse(flag, fmt::format("a whole number in [0, {}]", max), text);
  return *value;
}

double parse_number(std::string_view flag, std::string_view text, double min, double max) {
  const std::optional<double> value = whole<double>(text);
  const bool good = value && std::isfinite(*value) && *value >= min && *value <= max;
  if (!good) refuse(flag, interval(min, max), text);
  return *value;
}

std::string parse_text(std::string_view flag, std::string_view text) {
  if (text.empty()) refuse(flag, "a value", text);
  return std::string(text);
}

std::string parse_choice(std::string_view flag, std::string_view text,
                         std::span<const std::string> allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return std::string(text);
  const std::string names = report::join(allowed, ", ");
  if (names.size() <= 80) refuse(flag, "one of " + names, text);
  throw UsageError(fmt::format("{}: unknown name {}{}", flag, report::quote(text),
                               report::did_you_mean(text, allowed)));
}

std::vector<std::string> parse_choices(std::string_view flag, std::string_view text,
                                       std::span<const std::string> allowed) {
  std::vector<std::string> values;
  for (const std::string_view part : split(text, ','))
    values.push_back(parse_choice(flag, part, allowed));
  if (const std::string* name = first_repeated(values))
    refuse(flag, fmt::format("each name once, not '{}' twice", *name), text);
  return values;
}

std::vector<Index> parse_sizes(std::string_view flag, std::string_view text, Index min, Index max) {
  std::vector<Index> sizes;
  for (const std::string_view part : split(text, ',')) {
    if (!append_sizes(part, min, max, sizes))
      refuse(flag, fmt::format("sizes in [{}, {}] such as 4,8 or 4:64:x2 or 4:64:+4", min, max),
             text);
    if (sizes.size() > kMaxSizes) refuse(flag, fmt::format("at most {} sizes", kMaxSizes), text);
  }
  if (const Index* size = first_repeated(sizes))
    refuse(flag, fmt::format("each size once, not {} twice", *size), text);
  return sizes;
}

nn::Scale parse_scale(std::string_view flag, std::string_view text) {
  const std::optional<double> number = whole<double>(text);
  if (number && std::isfinite(*number)) return nn::Scale::number(*number);
  if (text != "none" && text != "sqrt_dk" && text != "sqrt" && text != "dk")
    refuse(flag, "none, sqrt_dk, dk or a finite number", text);
  return nn::Scale::parse(text);
}

std::vector<nn::Scale> parse_scales(std::string_view flag, std::string_view text) {
  std::vector<nn::Scale> scales;
  for (const std::string_view part : split(text, ',')) scales.push_back(parse_scale(flag, part));
  if (const nn::Scale* scale = first_repeated(scales))
    refuse(flag, fmt::format("each scale once, not {} twice", scale->name()), text);
  return scales;
}

void require_divides(Index n_head, Index n_embd) {
  if (n_embd % n_head != 0)
    throw UsageError(fmt::format("--n-head {} does not divide --n-embd {}", n_head, n_embd));
}

}  // namespace experiments::cli
