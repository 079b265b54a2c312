#include <cmath>
#include <utility>

#include "autograd/gradcheck/gradcheck.h"
#include "nn/attention.h"
#include "nn/linear.h"
#include "tests/nn/check.h"

// What later lessons build from attention, written as their reader would, each in a few lines.

namespace nn {
namespace {

Tensor heads_of(const Tensor& x, Index head_size) {  // (B, T, H D) -> (B, H, T, D)
  return x.reshape({x.size(0), x.size(1), -1, head_size}).transpose(1, 2);
}

Tensor merged(const Tensor& y) {  // and back
  return y.transpose(1, 2).reshape({y.size(0), y.size(2), y.size(1) * y.size(3)});
}

/// Layer and input, held to numerical gradients.
template <class M>
void expect_right_gradients(M& layer, std::vector<Tensor> inputs,
                            const autograd::GradcheckFunction& f) {
  for (Tensor& p : layer.parameters()) inputs.push_back(p);
  const auto report = autograd::gradcheck(f, inputs);
  EXPECT_TRUE(report.ok) << report.message;
}

// --- grouped queries

/// Ainslie et al., "GQA" (2023): n_head heads of queries share n_kv_head of keys and values.
class GroupedQueryAttention : public Module {
 public:
  GroupedQueryAttention(Index n_embd, Index n_head, Index n_kv_head, const LinearOptions& options)
      : Module("GroupedQueryAttention"),
        head_size_(n_embd / n_head),
        q_(register_module<Linear>("q", n_embd, n_embd, options)),
        k_(register_module<Linear>("k", n_embd, n_kv_head * head_size_, options)),
        v_(register_module<Linear>("v", n_embd, n_kv_head * head_size_, options)),
        proj_(register_module<Linear>("proj", n_embd, n_embd, options)) {}

 private:
  Tensor forward(const Tensor& x) override {
    const auto heads = [&](Linear& part) { return heads_of(part(x), head_size_); };
    return proj_(merged(fused_attention(heads(q_), heads(k_), heads(v_), {.causal = Causal::yes})));
  }

  Index head_size_;
  Linear &q_, &k_, &v_, &proj_;
};

TEST(OwnAttention, GroupedQueries) {
  const LinearOptions options{.dtype = DType::f64};
  GroupedQueryAttention grouped(12, 6, 2, options), full(12, 6, 6, options);
  EXPECT_EQ(grouped.parameter_count(), 2 * (12 * 12 + 12) + 2 * (12 * 4 + 4));
  // Six heads, of which three in a row have the same keys and values, do the same.
  State state = grouped.state();
  for (const char* name : {"k.weight", "v.weight", "k.bias", "v.bias"}) {
    const Tensor t = state[name].reshape({2, 1, 2, -1}).expand({2, 3, 2, state[name].numel() / 4});
    state[name] = name[2] == 'w' ? t.reshape({12, 12}) : t.reshape({12});
  }
  full.load_state(state);
  const Tensor x = autograd::randn({2, 5, 12}, DType::f64);
  EXPECT_TRUE(is_close(grouped(x), full(x), 1e-13));
  expect_right_gradients(grouped, {x.clone().requires_grad_()},
                         [&](const auto& in) { return grouped(in[0]); });
}

// --- cross-attention

/// Queries from x (B, T, C), keys and values from a context (B, S, C).
class CrossAttention : public Module {
 public:
  CrossAttention(Index n_embd, Index n_head, const LinearOptions& options)
      : Module("CrossAttention"),
        head_size_(n_embd / n_head),
        q_(register_module<Linear>("q", n_embd, n_embd, options)),
        kv_(register_module<Linear>("kv", n_embd, 2 * n_embd, options)),
        proj_(register_module<Linear>("proj", n_embd, n_embd, options)) {}

  Tensor operator()(const Tensor& x, const Tensor& context) {
    const ModuleScope scope(*this);
    const auto [k, v] = autograd::split<2>(kv_(context), x.size(-1), -1);
    return proj_(merged(fused_attention(heads_of(q_(x), head_size_), heads_of(k, head_size_),
                                        heads_of(v, head_size_))));
  }

 private:
  Index head_size_;
  Linear &q_, &kv_, &proj_;
};

TEST(OwnAttention, CrossAttention) {
  CrossAttention cross(8, 2, {.dtype = DType::f64});
  MultiHeadAttention self({.n_embd = 8, .n_head = 2, .dtype = DType::f64});
  State state = cross.state();
  self.load_state({{"qkv.weight", autograd::concat({state["q.weight"], state["kv.weight"]}, 0)},
                   {"qkv.bias", autograd::concat({state["q.bias"], state["kv.bias"]}, 0)},
                   {"proj.weight", state["proj.weight"]},
                   {"proj.bias", state["proj.bias"]}});
  const Tensor x = autograd::randn({2, 3, 8}, DType::f64);
  EXPECT_TRUE(is_close(cross(x, x), self(x), 1e-13));  // of itself
  const Tensor context = autograd::randn({2, 7, 8}, DType::f64);
  EXPECT_EQ(cross(x, context).shape(), x.shape());
  expect_right_gradients(cross, {x.clone().requires_grad_(), context.clone().requires_grad_()},
                         [&](const auto& in) { return cross(in[0], in[1]); });
}

// --- ALiBi

/// Press, Smith and Lewis, "Train short, test long" (2022): -m (t - s) for a query at t and a key
/// at s, m = 2^(-8 h / H) in head h = 1 to H. Softmax takes away what a row has in common, so m s
/// is enough: (H, 1, S), in memory that grows with S.
Tensor alibi(Index n_head, Index S) {
  const Tensor h = autograd::arange(n_head).to(DType::f64) + 1.0;
  const Tensor m = exp(h * (-8 * std::log(2.0) / static_cast<double>(n_head)));
  return m.reshape({n_head, 1, 1}) * autograd::arange(S).to(DType::f64);
}

TEST(OwnAttention, Alibi) {
  constexpr Index H = 4, T = 300;
  const Tensor x = autograd::randn({2, H, T, 8}, DType::f64);
  Tensor distance = autograd::zeros({H, T, T}, DType::f64);
  distance.write<double>([](auto b) {
    for (Index i = 0; i < H * T * T; ++i) {
      const auto from_query = static_cast<double>(i % T - i / T % T);
      b[i] = std::exp2(-8.0 / H * static_cast<double>(i / T / T + 1)) * from_query;
    }
  });
  EXPECT_TRUE(is_close(fused_attention(x, x, x, {.attn_bias = alibi(H, T), .causal = Causal::yes}),
                       attention(x, x, x, {.attn_bias = distance, .causal = Causal::yes}), 1e-11));
}

// --- functions of the scores

/// Gemma 2 (2024): no score beyond c.
Tensor softcap(const Tensor& scores, double c) { return tanh(scores / c) * c; }

TEST(OwnAttention, SoftcapAndTemperature) {
  const Tensor x = autograd::randn({2, 6, 4}, DType::f64) * 10.0;
  const auto capped = [](const Tensor& scores) { return softcap(scores, 3); };
  const AttentionTrace trace;
  const Tensor y = attention(x, x, x, {.score_mod = capped});
  EXPECT_LE(trace[0].scores.abs().max().item(), 3);
  EXPECT_TRUE(is_close(y, fused_attention(x, x, x, {.softcap = 3}), 1e-13));
  // A temperature is a factor of the scores, and so a scale.
  const auto cooled = [](const Tensor& scores) { return scores / 0.25; };
  EXPECT_TRUE(is_close(attention(x, x, x, {.score_mod = cooled}),
                       fused_attention(x, x, x, {.scale = 0.5 / 0.25}), 1e-13));
}

// --- a cache

/// The attention of one layer, token by token: keys and values of all so far.
class OwnCache {
 public:
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v) {  // (B, H, T, D)
    keys_ = keys_.defined() ? autograd::concat({keys_, k}, 2) : k;
    values_ = values_.defined() ? autograd::concat({values_, v}, 2) : v;
    return fused_attention(q, keys_, values_,
                           {.causal = Causal::yes, .query_offset = keys_.size(2) - q.size(2)});
  }

 private:
  Tensor keys_, values_;
};

TEST(OwnAttention, CacheOfKeysAndValues) {
  const Tensor q = autograd::randn({2, 4, 9, 8}, DType::f64);
  const Tensor k = autograd::randn({2, 2, 9, 8}, DType::f64);
  const Tensor whole = fused_attention(q, k, k, {.causal = Causal::yes});
  OwnCache cached;
  for (const auto& [start, count] : {std::pair<Index, Index>{0, 4}, {4, 1}, {5, 3}, {8, 1}}) {
    const auto part = [s = start, n = count](const Tensor& x) { return x.narrow(2, s, n); };
    EXPECT_TRUE(is_close(cached(part(q), part(k), part(k)), part(whole), 1e-14)) << start;
  }
}

}  // namespace
}  // namespace nn
