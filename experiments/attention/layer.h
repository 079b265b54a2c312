#pragma once

#include <span>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "experiments/report/heatmap.h"
#include "experiments/report/sparkline.h"
#include "nn/attention.h"

// What the commands that look into one attention layer share.

namespace experiments::attention {

/// The layer's options.
struct LayerOptions {
  Index n_embd = 64, n_head = 4;
  std::string scale = "sqrt_dk", init = "unit";

  void add_to(Options& options);
  /// UsageError for a scale that is none, and where the heads do not divide the channels.
  nn::AttentionConfig config(autograd::DType dtype) const;
  /// Roughly, of the layer and one pass of T positions forward and backward.
  double bytes(autograd::DType dtype, Index T) const;
};

/// Streams of random numbers beside those of the layer's own parameters.
enum class Draw : std::uint64_t { input = 1, position, cotangent, probe };
autograd::RandomKey key_of(std::uint64_t seed, Draw draw, std::uint64_t index = 0);

/// N(0, stddev^2).
autograd::Tensor normals(const autograd::Shape& shape, const Run& run, autograd::RandomKey key,
                         double stddev = 1);

std::vector<double> doubles(const autograd::Tensor& t);

/// NumericError in the name of `what`, and with a way out, unless all are finite.
void require_finite(std::span<const double> values, const char* what);

/// The rounding error of one operation: epsilon of the type.
double epsilon(autograd::DType dtype);

inline report::Canvas canvas_of(const Run& run) {
  return {.color = run.color, .unicode = run.unicode};
}
inline report::Glyphs glyphs_of(const Run& run) {
  return run.unicode ? report::Glyphs::unicode : report::Glyphs::ascii;
}

/// |v| of the largest; 0 of none.
double largest(std::span<const double> values);

}  // namespace experiments::attention
