#include "experiments/attention/layer.h"

#include <fmt/format.h>

#include "experiments/cli/values.h"

namespace experiments::attention {

void LayerOptions::add_to(Options& options, const std::string& heads) {
  options.integer("--n-embd", n_embd, 1, 65536, "channels of the layer, C");
  options.integer(heads, n_head, 1, 65536, "heads, H; must divide C, d_k = C / H");
  options.choice("--init", init, {"unit", "lesson", "torch", "gpt2"},
                 "weights: N(0,1/C), N(0,1), U(-1,1)/sqrt(C) or N(0,.02^2)");
  options.scale("--scale", scale, "factor of the scores");
}

nn::MultiHeadAttentionOptions LayerOptions::config(autograd::DType dtype) const {
  cli::require_divides(n_head, n_embd);
  nn::MultiHeadAttentionOptions config{
      .n_embd = n_embd, .n_head = n_head, .bias = nn::Bias::no, .dtype = dtype};
  config.init = nn::parse_init(init);
  config.scale = scale;
  return config;
}

double LayerOptions::bytes(autograd::DType dtype, Index T) const {
  const auto c = static_cast<double>(n_embd), h = static_cast<double>(n_head);
  const auto t = static_cast<double>(T), item = static_cast<double>(autograd::item_size(dtype));
  return item * (8 * c * c + 30 * t * c + 10 * h * t * t);
}

}  // namespace experiments::attention
