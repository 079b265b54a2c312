#include "experiments/training/gpt_layers.h"

#include <fmt/format.h>

#include <algorithm>

namespace experiments::training {

using autograd::Index;

namespace {

using autograd::Shape;
using nn::GPTOptions;

double of(Index n) { return static_cast<double>(n); }

/// What a module does to one sequence. Comments say which arrays backward needs.
class Costs {
 public:
  explicit Costs(const GPTOptions& options)
      : o_(options),
        T_(options.block_size),
        C_(options.n_embd),
        item_(of(static_cast<Index>(autograd::item_size(options.dtype)))) {}

  Layer layer(const std::string& name, const nn::Module& module) const {
    Layer layer{.name = name, .type = module.type(), .output = {T_, C_}};
    std::vector<nn::NamedShape> own = module.named_shapes();
    std::erase_if(own, [](const nn::NamedShape& s) { return s.name.find('.') != s.name.npos; });
    for (const nn::NamedShape& s : own) layer.parameters += s.shape.numel();
    if (layer.type == "GPT") {
      layer.about = fmt::format("n_layer {}, n_head {}", o_.n_layer, o_.n_head);
      layer.output = {T_, o_.vocab_size};
    } else if (layer.type == "ModuleList") {
      layer.about = fmt::format("{} x Block", o_.n_layer);
    } else if (layer.type == "Block") {
      layer.about = o_.norm == nn::NormPosition::pre ? "pre-LN" : "post-LN";
    } else if (layer.type == "Embedding") {
      layer.about = fmt::format("{} x {}", own[0].shape[0], C_);
      layer.kept = 8 * of(T_);  // the indices
    } else if (layer.type == "LayerNorm") {
      norm(layer, own[0].shape[0]);
    } else if (layer.type == "Linear") {
      linear(layer, own[0].shape[1], own[0].shape[0]);
    } else if (layer.type == "MLP") {
      layer.about = o_.gelu == nn::Gelu::erf ? "gelu erf" : "gelu tanh";
      layer.kept = item_ * of(T_) * of(4 * C_);  // the slopes of gelu
    } else if (layer.type == "MultiHeadAttention") {
      attention(layer);
    }
    return layer;
  }

  Layer tied_head() const {
    Layer head{.name = "lm_head", .type = "Linear"};
    linear(head, C_, o_.vocab_size);
    head.about += ", tied to wte";
    return head;
  }

  /// Logits, row sums and targets.
  double kept_by_loss() const { return item_ * of(T_) * of(o_.vocab_size) + 2 * 8 * of(T_); }

 private:
  void linear(Layer& layer, Index in, Index out) const {
    layer.about = fmt::format("{} -> {}", in, out);
    layer.output = {T_, out};
    layer.flops = 2 * of(T_) * of(in) * of(out);
    layer.kept = item_ * of(T_) * of(in);  // x
  }

  void norm(Layer& layer, Index size) const {
    const bool of_heads = layer.name.find(".attn.") != layer.name.npos;
    layer.about = fmt::format("{}", size);
    if (of_heads) layer.output = {o_.n_head, T_, size};
    const double numel = of(layer.output.numel());
    layer.kept = item_ * numel + 3 * 8 * numel / of(size);  // x; three moments in f64
  }

  void attention(Layer& layer) const {
    const Index H = o_.n_head, D = C_ / H;
    const double scores = of(H) * of(T_) * of(T_);
    layer.about = fmt::format("{} heads of {}", H, D);
    layer.flops = 2 * 2 * scores * of(D);  // Q K^T and P V
    // q, k and v. The fused op, which takes no qk-norm, adds the largest score and the sum of each
    // row; its result is what proj is given.
    const double vectors = 3 * of(T_) * of(C_);
    if (o_.qk_norm == nn::QkNorm::no) {
      layer.kept = item_ * (vectors + 2 * of(H) * of(T_));
    } else {
      layer.kept = item_ * (vectors + scores);                 // and the weights
      if (o_.causal == nn::Causal::yes) layer.kept += scores;  // the mask, a byte each
      if (o_.dropout > 0) layer.kept += item_ * scores;        // the weights left
    }
  }

  const GPTOptions& o_;
  Index T_, C_;
  double item_;
};

}  // namespace

int Layer::depth() const {
  return name.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(name, '.'));
}

std::vector<Layer> gpt_layers(const GPTOptions& options) {
  const Costs costs(options);
  const nn::ShapesOnly shapes_only;
  autograd::Generator unused(0);
  nn::GPT model(options, unused);
  std::vector<Layer> layers;
  for (const nn::NamedModule& m : model.named_modules())
    if (m.module->type() != "Dropout") layers.push_back(costs.layer(m.name, *m.module));
  if (options.tied == nn::Tied::yes) layers.push_back(costs.tied_head());
  layers.back().kept += costs.kept_by_loss();
  return layers;
}

LayerTotal total(const std::vector<Layer>& layers, std::size_t first) {
  LayerTotal sum;
  std::size_t i = first;
  do {
    sum.parameters += layers[i].parameters;
    sum.flops += layers[i].flops;
    sum.kept += layers[i].kept;
    ++i;
  } while (i < layers.size() && layers[i].depth() > layers[first].depth());
  return sum;
}

}  // namespace experiments::training
