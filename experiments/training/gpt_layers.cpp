#include "experiments/training/gpt_layers.h"

#include <fmt/format.h>

#include <algorithm>

namespace experiments::training {

using autograd::Index;
namespace {

using autograd::Shape;
using nn::GPTOptions;
using nn::Index;

double of(Index n) { return static_cast<double>(n); }

/// Goes down the tree and writes it out. Comments say which arrays backward needs.
class Survey {
 public:
  explicit Survey(const GPTOptions& config)
      : c_(config), T_(config.block_size), C_(config.n_embd), item_(item_bytes(config.dtype)) {}

  std::vector<Layer> run() {
    add("", "GPT", fmt::format("n_layer {}, n_head {}", c_.n_layer, c_.n_head),
        {T_, c_.vocab_size});
    embedding("wte", c_.vocab_size);
    embedding("wpe", T_);
    add("h", "ModuleList", fmt::format("{} x Block", c_.n_layer), {T_, C_});
    for (Index i = 0; i < c_.n_layer; ++i) block(fmt::format("h.{}", i));
    norm("ln_f", {T_, C_}, c_.bias);
    head();
    return std::move(layers_);
  }

 private:
  static double item_bytes(nn::DType dtype) { return of(autograd::item_size(dtype)); }

  Layer& add(std::string name, std::string type, std::string about, Shape output) {
    layers_.push_back({std::move(name), std::move(type), std::move(about), std::move(output)});
    return layers_.back();
  }

  void embedding(const std::string& name, Index count) {
    Layer& layer = add(name, "Embedding", fmt::format("{} x {}", count, C_), {T_, C_});
    layer.weights = {{"weight", {count, C_}}};
    layer.kept = 8 * of(T_);  // the indices
  }

  void norm(const std::string& name, const Shape& x, nn::Bias bias) {
    const Index size = x[x.rank() - 1];
    Layer& layer = add(name, "LayerNorm", fmt::format("{}", size), x);
    layer.weights = {{"weight", {size}}};
    if (bias == nn::Bias::yes) layer.weights.push_back({"bias", {size}});
    layer.kept = item_ * of(x.numel()) + 2 * 8 * of(x.numel() / size);  // x; mean and scale in f64
  }

  Layer& linear(const std::string& name, Index in, Index out, nn::Bias bias) {
    Layer& layer = add(name, "Linear", fmt::format("{} -> {}", in, out), {T_, out});
    layer.weights = {{"weight", {out, in}}};
    if (bias == nn::Bias::yes) layer.weights.push_back({"bias", {out}});
    layer.flops = 2 * of(T_) * of(in) * of(out);
    layer.kept = item_ * of(T_) * of(in);  // x
    return layer;
  }

  void block(const std::string& name) {
    add(name, "Block", c_.norm == nn::NormPosition::pre ? "pre-LN" : "post-LN", {T_, C_});
    norm(name + ".ln_1", {T_, C_}, c_.bias);
    attention(name + ".attn");
    norm(name + ".ln_2", {T_, C_}, c_.bias);
    Layer& mlp =
        add(name + ".mlp", "MLP", c_.gelu == nn::Gelu::erf ? "gelu erf" : "gelu tanh", {T_, C_});
    mlp.kept = item_ * of(T_) * of(4 * C_);  // the slopes of gelu
    linear(name + ".mlp.fc", C_, 4 * C_, c_.bias);
    linear(name + ".mlp.proj", 4 * C_, C_, c_.bias);
  }

  void attention(const std::string& name) {
    const Index H = c_.n_head, D = C_ / H;
    const double scores = of(H) * of(T_) * of(T_);
    Layer& layer = add(name, "MultiHeadAttention", fmt::format("{} heads of {}", H, D), {T_, C_});
    layer.flops = 2 * 2 * scores * of(D);  // Q K^T and P V
    // q, k and v. The fused op, which takes no qk-norm, adds the log of each row's sum; its result
    // is what proj is given.
    const double vectors = 3 * of(T_) * of(C_);
    if (c_.qk_norm == nn::QkNorm::no) {
      layer.kept = item_ * (vectors + of(H) * of(T_));
    } else {
      layer.kept = item_ * (vectors + scores);                 // and the weights
      if (c_.causal == nn::Causal::yes) layer.kept += scores;  // the mask, a byte each
      if (c_.dropout > 0) layer.kept += item_ * scores;        // the weights left
    }
    linear(name + ".qkv", C_, 3 * C_, c_.bias);
    linear(name + ".proj", C_, C_, c_.bias);
    if (c_.qk_norm == nn::QkNorm::no) return;
    norm(name + ".q_norm", {H, T_, D}, nn::Bias::no);
    norm(name + ".k_norm", {H, T_, D}, nn::Bias::no);
  }

  void head() {
    Layer& layer = linear("lm_head", C_, c_.vocab_size, nn::Bias::no);
    if (c_.tied == nn::Tied::yes) {
      layer.weights.clear();
      layer.about += ", tied to wte";
    }
    layer.kept += item_ * of(T_) * of(c_.vocab_size) + 2 * 8 * of(T_);  // the loss: logits, row
  }                                                                     // sums, targets

  const GPTOptions& c_;
  Index T_, C_;
  double item_;
  std::vector<Layer> layers_;
};

}  // namespace

int Layer::depth() const {
  return name.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(name, '.'));
}

std::int64_t Layer::parameters() const {
  std::int64_t count = 0;
  for (const WeightShape& weight : weights) count += weight.shape.numel();
  return count;
}

std::vector<Layer> gpt_layers(const nn::GPTOptions& config) { return Survey(config).run(); }

std::vector<WeightShape> gpt_parameters(const nn::GPTOptions& config) {
  std::vector<WeightShape> all;
  for (const Layer& layer : gpt_layers(config)) {
    for (const WeightShape& weight : layer.weights) {
      all.push_back({layer.name + '.' + weight.name, weight.shape});
    }
  }
  return all;
}

LayerTotal total(const std::vector<Layer>& layers, std::size_t first) {
  LayerTotal sum;
  std::size_t i = first;
  do {
    sum.parameters += layers[i].parameters();
    sum.flops += layers[i].flops;
    sum.kept += layers[i].kept;
    ++i;
  } while (i < layers.size() && layers[i].depth() > layers[first].depth());
  return sum;
}

}  // namespace experiments::training
