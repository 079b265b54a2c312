#include "nn/gradcheck/module_cases.h"

#include <memory>
#include <string>
#include <vector>

#include "nn/gpt.h"
#include "nn/sequential.h"
#include "nn/softmax.h"

namespace nn {
namespace {

using autograd::Draw;
using autograd::GradcheckCase;
using autograd::Trial;

// A trial of module(x): x, unless it holds indices, and all parameters are inputs, every call sees
// the same dropout masks.
Trial trial_of(std::shared_ptr<Module> module, const Tensor& x) {
  Trial trial;
  const bool differentiable = x.dtype() != DType::i64;
  if (differentiable) trial.inputs.push_back(x);
  for (Tensor& p : module->parameters()) {
    // Exact in f32, so that the trials of both dtypes start from the same numbers.
    p.set_data(p.data().to(DType::f32).to(p.dtype()));
    trial.inputs.push_back(p);
  }
  const GeneratorStates masks = module->generators();  // dropout draws new ones at each call
  trial.f = [module, masks, x, differentiable](const std::vector<Tensor>& inputs) {
    module->set_generators(masks);
    return (*module)(differentiable ? inputs[0] : x);
  };
  trial.allow_vacuous = !masks.empty();  // everything may be dropped
  return trial;
}

Shape with_last(const Shape& shape, Index size) { return shape.inserted(shape.rank(), size); }

Trial linear_trial(Draw& draw, Bias bias) {
  const Index in = draw.positive_size(9), out = draw.positive_size(9);
  const LinearOptions options{.bias = bias, .init = Init::unit, .dtype = draw.dtype()};
  auto module = std::make_shared<Linear>(in, out, options, draw.generator());
  if (bias == Bias::yes) {  // unit starts it at zero
    Tensor b = module->bias();
    b.set_data(draw.normal(b.shape()).data());
  }
  return trial_of(module, draw.normal(with_last(draw.shape(0, 2), in)));
}

Trial softmax_trial(Draw& draw) {
  const Shape shape = draw.nonempty_shape(1, 4);
  const int dim = draw.dim(shape);
  Trial trial = trial_of(std::make_shared<Softmax>(dim), draw.normal(shape));
  trial.allow_vacuous = shape[shape.axis(dim, "softmax")] == 1;  // always 1
  return trial;
}

Trial dropout_trial(Draw& draw) {
  const double p = draw.chance(0.1) ? 1.0 : draw.number(0.0, 0.9);
  return trial_of(std::make_shared<Dropout>(p, draw.generator()), draw.normal(draw.shape()));
}

Trial sequential_trial(Draw& draw) {
  const Index in = draw.positive_size(7), hidden = draw.positive_size(7);
  const LinearOptions options{.init = Init::unit, .dtype = draw.dtype()};
  auto module = std::make_shared<Sequential>();
  module->append<Linear>(in, hidden, options, draw.generator());
  module->append<Softmax>(-1);
  module->append<Dropout>(0.3, draw.generator());
  module->append<Linear>(hidden, Index{3}, options, draw.generator());
  return trial_of(module, draw.normal({draw.positive_size(4), in}));
}

Trial attention_trial(Draw& draw, const Scale& scale) {
  const Index T = draw.positive_size(6), S = draw.positive_size(6);
  const Index D = draw.positive_size(5), E = draw.positive_size(5);
  const Shape batch = draw.nonempty_shape(0, 1);
  Trial trial;
  trial.inputs = {draw.normal(with_last(with_last(batch, T), D)),
                  draw.normal(with_last(with_last(batch, S), D)), draw.normal({S, E})};
  trial.f = [scale](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], {.scale = scale});
  };
  return trial;
}

enum class Mode { eval, train };

Trial multi_head_trial(Draw& draw, Mode mode, MultiHeadAttentionOptions options) {
  options.n_head = draw.integer(1, 3);
  options.n_embd = options.n_head * draw.integer(1, 4);
  options.init = Init::unit;
  options.dtype = draw.dtype();
  const Index B = draw.integer(1, 2), T = draw.integer(1, draw.is_large() ? 20 : 5);
  auto module = std::make_shared<MultiHeadAttention>(options, draw.generator());
  if (mode == Mode::eval) module->eval();
  return trial_of(module, draw.normal({B, T, options.n_embd}));
}

Trial masked_attention_trial(Draw& draw) {
  const Index T = draw.positive_size(6), D = draw.positive_size(5);
  const Shape batch = draw.nonempty_shape(0, 1);
  const Shape shape = with_last(with_last(batch, T), D);
  const Tensor mask = draw.mask({T, T}, 0.7);  // some rows see nothing
  const Causal causal = draw.chance(0.5) ? Causal::yes : Causal::no;
  Trial trial;
  trial.inputs = {draw.normal(shape), draw.normal(shape), draw.normal(shape)};
  trial.f = [mask, causal](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], {.causal = causal, .mask = mask});
  };
  trial.allow_vacuous = true;
  return trial;
}

// Everything that bends the scores: a function of them, a bias, and queries that come last.
Trial bent_attention_trial(Draw& draw) {
  const Index T = draw.positive_size(5), S = T + draw.integer(0, 3), D = draw.positive_size(5);
  const Shape batch = draw.nonempty_shape(0, 1);
  const Shape keys = with_last(with_last(batch, S), D);
  Trial trial;
  trial.inputs = {draw.normal(with_last(with_last(batch, T), D)), draw.normal(keys),
                  draw.normal(keys), draw.normal(draw.broadcastable_to({T, S}))};
  trial.f = [T, S](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2],
                     {.score_mod = [](const Tensor& scores) { return tanh(scores / 2.0) * 2.0; },
                      .attn_bias = in[3],
                      .causal = Causal::yes,
                      .query_offset = S - T});
  };
  return trial;
}

// Starts what the layer starts at one or zero somewhere else, so that no error hides there.
void stir(Module& module, Draw& draw) {
  for (Tensor& p : module.parameters()) {
    p.set_data((p.detach() + draw.normal(p.shape()).detach() * 0.3).data());
  }
}

Trial layer_norm_trial(Draw& draw, Bias bias) {
  const Index size = 1 + draw.positive_size(9);
  auto module = std::make_shared<LayerNorm>(
      size, LayerNormOptions{.bias = bias, .eps = 1e-2, .dtype = draw.dtype()});
  stir(*module, draw);
  return trial_of(module, draw.normal(with_last(draw.shape(0, 2), size)));
}

Trial mlp_trial(Draw& draw, Gelu gelu) {
  const Index size = draw.positive_size(5);
  const MLPOptions options{.dropout = 0.2, .gelu = gelu, .init = Init::unit, .dtype = draw.dtype()};
  auto module = std::make_shared<MLP>(size, options, draw.generator());
  stir(*module, draw);
  return trial_of(module, draw.normal({draw.positive_size(3), size}));
}

MultiHeadAttentionOptions small(Draw& draw, MultiHeadAttentionOptions options) {
  options.n_head = draw.integer(1, 2);
  options.n_embd = options.n_head * draw.integer(2, 3);
  options.init = Init::unit;
  options.dtype = draw.dtype();
  return options;
}

Trial block_trial(Draw& draw, NormPosition norm, const MultiHeadAttentionOptions& options) {
  const BlockOptions block{.attention = small(draw, options), .norm = norm};
  auto module = std::make_shared<Block>(block, draw.generator());
  stir(*module, draw);
  return trial_of(module,
                  draw.normal({draw.integer(1, 2), draw.integer(1, 4), block.attention.n_embd}));
}

// Tokens have no gradient: the inputs are the parameters alone.
Trial embedding_trial(Draw& draw) {
  const Index count = draw.positive_size(9);
  auto module = std::make_shared<Embedding>(
      count, draw.positive_size(7), EmbeddingOptions{.init = Init::unit, .dtype = draw.dtype()},
      draw.generator());
  return trial_of(module, draw.indices(draw.nonempty_shape(0, 2), count));
}

Trial gpt_trial(Draw& draw, GPTOptions options) {
  options.block_size = 4;
  options.vocab_size = draw.integer(2, 5);
  options.n_layer = draw.integer(1, 2);
  options.n_head = draw.integer(1, 2);
  options.n_embd = options.n_head * 3;
  options.dtype = draw.dtype();
  auto module = std::make_shared<GPT>(options, draw.generator());
  stir(*module, draw);
  return trial_of(module,
                  draw.indices({draw.integer(1, 2), draw.integer(1, 4)}, options.vocab_size));
}

std::vector<GradcheckCase> make_cases() {
  const auto scaled = [](const char* text) {
    return [scale = Scale::parse(text)](Draw& draw) { return attention_trial(draw, scale); };
  };
  const auto heads = [](Mode mode, const MultiHeadAttentionOptions& options) {
    return [mode, options](Draw& draw) { return multi_head_trial(draw, mode, options); };
  };
  const auto blocks = [](NormPosition norm, const MultiHeadAttentionOptions& options) {
    return [norm, options](Draw& draw) { return block_trial(draw, norm, options); };
  };
  const auto gpts = [](const GPTOptions& options) {
    return [options](Draw& draw) { return gpt_trial(draw, options); };
  };
  return {
      {"linear", [](Draw& draw) { return linear_trial(draw, Bias::no); }},
      {"linear_bias", [](Draw& draw) { return linear_trial(draw, Bias::yes); }},
      {"softmax", softmax_trial},
      {"dropout", dropout_trial},
      {"sequential", sequential_trial},
      {"attention", scaled("sqrt_dk")},
      {"attention_none", scaled("none")},
      {"attention_dk", scaled("dk")},
      {"attention_number", scaled("0.37")},
      {"multi_head_attention", heads(Mode::eval, {.dropout = 0.5, .bias = Bias::no})},
      {"multi_head_attention_bias", heads(Mode::eval, {.bias = Bias::yes})},
      {"multi_head_attention_none", heads(Mode::eval, {.bias = Bias::no, .scale = Scale::none()})},
      {"multi_head_attention_train", heads(Mode::train, {.dropout = 0.3, .bias = Bias::yes})},
      {"attention_masked", masked_attention_trial},
      {"attention_bent", bent_attention_trial},
      {"multi_head_attention_causal", heads(Mode::eval, {.bias = Bias::no, .causal = Causal::yes})},
      {"multi_head_attention_qk_norm",
       heads(Mode::eval, {.bias = Bias::no, .qk_norm = QkNorm::yes})},
      {"layer_norm", [](Draw& draw) { return layer_norm_trial(draw, Bias::no); }},
      {"layer_norm_bias", [](Draw& draw) { return layer_norm_trial(draw, Bias::yes); }},
      {"embedding", embedding_trial},
      {"mlp", [](Draw& draw) { return mlp_trial(draw, Gelu::erf); }},
      {"mlp_tanh", [](Draw& draw) { return mlp_trial(draw, Gelu::tanh); }},
      {"block", blocks(NormPosition::pre, {.bias = Bias::no, .causal = Causal::yes})},
      {"block_post", blocks(NormPosition::post, {.dropout = 0.2, .bias = Bias::yes})},
      {"gpt", gpts({})},
      {"gpt_untied", gpts({.bias = Bias::no, .tied = Tied::no, .norm = NormPosition::post})},
  };
}

}  // namespace

std::span<const GradcheckCase> module_cases() {
  static const std::vector<GradcheckCase> cases = make_cases();
  return cases;
}

}  // namespace nn
