#include "experiments/softmax/lesson_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/report/text.h"
#include "experiments/softmax/lesson_claims_code.h"
#include "experiments/softmax/lesson_claims_module.h"

namespace experiments::softmax {
namespace {

constexpr std::size_t kSays = 34, kMeasured = 56;  // columns for people

// Wrapped, but not before "%" or "C".
std::vector<std::string> lines_of(std::string text, std::size_t width) {
  constexpr char kGlue = '\x1f';
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == ' ' && (text[i + 1] == '%' || text[i + 1] == 'C')) text[i] = kGlue;
  }
  std::vector<std::string> lines = report::wrapped(text, width);
  for (std::string& line : lines) std::replace(line.begin(), line.end(), kGlue, ' ');
  return lines;
}

std::string line_at(const std::vector<std::string>& lines, std::size_t i) {
  return i < lines.size() ? lines[i] : "";
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::right: return "true";
    case Verdict::partly: return "partly";
    case Verdict::wrong: return "wrong";
    case Verdict::extra: break;
  }
  return "extra";
}

std::vector<Claim> judged(const Findings& findings) {
  std::vector<Claim> claims = code_claims(findings);
  for (Claim& claim : module_claims(findings)) claims.push_back(std::move(claim));
  return claims;
}

std::vector<report::Column> claim_columns() {
  return {{"claim", ""},       {"lesson_says", ""}, {"measured", ""}, {"verdict", ""},
          {"expected", ""},    {"quantity", ""},    {"claimed", ""},  {"value", ""},
          {"value_error", ""}, {"samples", ""}};
}

std::vector<report::Value> claim_row(const Claim& claim) {
  return {claim.id,
          claim.says,
          claim.measured,
          std::string(name(claim.verdict)),
          std::string(name(claim.expected)),
          claim.quantity,
          claim.claimed,
          claim.value,
          claim.error,
          std::int64_t{claim.samples}};
}

std::vector<std::string> claim_lines(const std::vector<Claim>& claims) {
  const auto line = [](std::string_view verdict, std::string_view says, std::string_view measured) {
    return fmt::format("{:6}  {:{}}  {}", verdict, says, kSays, measured);
  };
  std::vector<std::string> out{line("true?", "the lesson says", "measured in this run")};
  for (const Claim& claim : claims) {
    const std::vector<std::string> says = lines_of(claim.says, kSays),
                                   measured = lines_of(claim.measured, kMeasured);
    for (std::size_t i = 0; i < std::max(says.size(), measured.size()); ++i) {
      out.push_back(
          line(i == 0 ? name(claim.verdict) : "", line_at(says, i), line_at(measured, i)));
    }
  }
  return out;
}

}  // namespace experiments::softmax
