#include "experiments/attention/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/report/text.h"

namespace experiments::attention {

void LayerOptions::add_to(Options& options) {
  options.integer("--n-embd", n_embd, 1, 65536, "channels of the layer, C");
  options.integer("--n-head", n_head, 1, 65536, "heads, H; divides the channels, d_k = C / H");
  options.choice("--init", init, {"unit", "lesson", "torch", "gpt2"},
                 "weights: N(0,1/C), N(0,1), U(-1,1)/sqrt(C) or N(0,.02^2)");
  options.text("--scale", scale, "factor of the scores: none, sqrt_dk, dk or a number");
}

nn::AttentionConfig LayerOptions::config(autograd::DType dtype) const {
  if (n_embd % n_head != 0)
    throw UsageError(fmt::format("--n-head {} does not divide --n-embd {}", n_head, n_embd));
  nn::AttentionConfig config{.n_embd = n_embd, .n_head = n_head, .dtype = dtype};
  config.init = nn::parse_init(init);
  try {
    config.scale = nn::Scale::parse(scale);
  } catch (const autograd::ValueError&) {
    throw UsageError(fmt::format("--scale: expected none, sqrt_dk, dk or a number, got {}",
                                 report::quote(scale)));
  }
  return config;
}

double LayerOptions::bytes(autograd::DType dtype, Index T) const {
  const auto c = static_cast<double>(n_embd), h = static_cast<double>(n_head);
  const auto t = static_cast<double>(T), item = static_cast<double>(autograd::item_size(dtype));
  return item * (8 * c * c + 30 * t * c + 10 * h * t * t);
}

autograd::RandomKey key_of(std::uint64_t seed, Draw draw, std::uint64_t index) {
  return {seed, (static_cast<std::uint64_t>(draw) << 56) | index};
}

autograd::Tensor normals(const autograd::Shape& shape, const Run& run, autograd::RandomKey key,
                         double stddev) {
  return autograd::Tensor(autograd::normal(shape, 0, stddev, run.dtype, key));
}

std::vector<double> doubles(const autograd::Tensor& t) {
  const autograd::Array wide = t.data().to(autograd::DType::f64);
  const std::span<const double> values = wide.read<double>();
  return {values.begin(), values.end()};
}

void require_finite(std::span<const double> values, const char* what) {
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    throw autograd::NumericError(
        fmt::format("{} are not finite; a smaller --scale or --n-embd may do", what));
}

double epsilon(autograd::DType dtype) {
  return dtype == autograd::DType::f32 ? std::numeric_limits<float>::epsilon()
                                       : std::numeric_limits<double>::epsilon();
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::abs(v));
  return most;
}

}  // namespace experiments::attention
