#include "experiments/softmax/scaling_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/measure/values.h"

namespace experiments::softmax {
namespace {

std::string interval(const measure::LineFit& line) {
  return fmt::format("[{}, {}]", num(line.slope - line.half_width),
                     num(line.slope + line.half_width));
}

}  // namespace

std::string num(double x) { return fmt::format("{:.3g}", x); }

double rounding_floor(autograd::DType dtype) { return 8 * measure::epsilon(dtype); }

GainFit fit_gain(const Series& series) {
  GainFit fit;
  std::vector<double> roots, logs, gains;
  for (const Cell& cell : series) {
    if (!(cell.gain.median > rounding_floor(cell.setting.dtype))) {
      fit.left_out.push_back(cell.setting.d_k);
      continue;
    }
    roots.push_back(std::sqrt(static_cast<double>(cell.setting.d_k)));
    logs.push_back(std::log(static_cast<double>(cell.setting.d_k)));
    gains.push_back(std::log(cell.gain.median));
  }
  fit.line = measure::fit_line(roots, gains);
  fit.power_r2 = measure::fit_line(logs, gains).r2;
  if (!roots.empty()) fit.range = roots.back() - roots.front();
  return fit;
}

std::string verdict(const GainFit& fit) {
  const measure::LineFit& line = fit.line;
  std::string omitted;
  if (!fit.left_out.empty()) {
    omitted = fmt::format("; left out, below rounding: d_k = {}", fmt::join(fit.left_out, ", "));
  }
  if (line.points < 2) return "no slope from fewer than two sizes" + omitted;
  const std::string slope = fmt::format("slope {} per sqrt(d_k)", num(line.slope));
  const double change = line.slope * fit.range;
  if (line.points < 3) return slope + ", no interval from two sizes" + omitted;
  const std::string measured = fmt::format("{}, 95 % {}: ", slope, interval(line));
  if (std::abs(change) < 0.1) return measured + "flat" + omitted;  // under 10 % from end to end
  const std::string fits =
      fmt::format(" (r2 {:.3f}; as a power of d_k {:.3f})", line.r2, fit.power_r2);
  if (line.slope - line.half_width > 0) return measured + "grows" + fits + omitted;
  if (line.slope + line.half_width >= 0) return measured + "undecided, as 0 is inside" + omitted;
  const char* law = line.r2 >= fit.power_r2 ? "dies exponentially" : "falls, but not exponentially";
  return measured + law + fits + omitted;
}

std::vector<std::string> sparklines(std::span<const Series> all, report::Glyphs glyphs) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  std::size_t width = 0;
  for (const Series& series : all) {
    width = std::max(width, series[0].scale.size());
    for (const Cell& cell : series) {
      low = std::min(low, std::max(cell.gain.median, rounding_floor(cell.setting.dtype)));
      high = std::max(high, cell.gain.median);
    }
  }
  std::vector<std::string> lines;
  for (const Series& series : all) {
    std::vector<double> gains;
    for (const Cell& cell : series) gains.push_back(cell.gain.median);
    lines.push_back(fmt::format("{:{}}  {}  {} to {}", series[0].scale, width,
                                report::sparkline(gains, low, high, glyphs), num(gains.front()),
                                num(gains.back())));
  }
  return lines;
}

std::string next_command(std::span<const Series> all) {
  const Cell& last = all[0].back();
  const bool both = all.size() > 1, many = all[0].size() > 1;
  switch (last.setting.init) {
    case nn::Init::lesson:
      return "gradlab scaling --init torch --seq-len 8 --dk 64 (what a real layer starts with)";
    case nn::Init::torch:
    case nn::Init::gpt2: return "gradlab scaling (the same with q and k of unit variance)";
    case nn::Init::unit: break;
  }
  if (!both) return "gradlab scaling --scale none,sqrt_dk (the two side by side)";
  if (last.setting.seq_len >= 256) {
    return "gradlab scaling --init lesson --seq-len 4 --dk 8,64 (the lesson's own code)";
  }
  if (!many) return "gradlab scaling --dk 4:512:x2 (a slope over d_k)";
  return "gradlab scaling --seq-len 1024 --dk 64 (GPT-2's real shape)";
}

}  // namespace experiments::softmax
