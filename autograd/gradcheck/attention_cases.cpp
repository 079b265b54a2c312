#include "autograd/gradcheck/attention_cases.h"

#include "autograd/ops.h"

namespace autograd {

Trial packed_attention_trial(Draw& d) {
  const int kind = d.trial() % 8;
  const bool tiles = kind == 3 || kind == 7;
  const Index T = tiles ? d.integer(385, 400) : kind == 2 ? d.integer(65, 80) : d.positive_size(9);
  const Index heads = d.integer(1, tiles ? 2 : 3);
  const Index C = heads * (kind == 1 ? d.row() : kind == 6 ? d.integer(33, 40) : d.integer(1, 4));
  FusedAttentionOptions options{.scale = d.number(0.2, 1.2)};
  options.causal = kind == 7 || (kind != 3 && d.chance(0.5)) ? Causal::yes : Causal::no;
  options.dropout = d.chance(0.3) ? 0.3 : 0.0;
  const auto seed = static_cast<std::uint64_t>(d.integer(0, 1 << 20));
  const Index B = tiles ? 1 : d.has_long_row() ? d.positive_size(3) : d.size(3);
  return {{d.normal({B, T, 3 * C})},
          [options, heads, seed](const std::vector<Tensor>& in) {
            Generator generator(seed);
            FusedAttentionOptions now = options;
            now.generator = &generator;
            return fused_attention(in[0], heads, now);
          },
          options.dropout > 0};
}

Trial separate_attention_trial(Draw& d) {
  const int kind = d.trial() % 8;
  Index T = d.positive_size(9), S = d.integer(2, 9), D = d.integer(1, 4), E = d.integer(1, 4);
  switch (kind) {
    case 1: D = d.row(), E = d.row(); break;
    case 2: T = d.integer(17, 32), S = d.integer(65, 80); break;
    case 3: T = d.integer(129, 140), S = d.integer(385, 400); break;
    case 5: T = d.size(9), S = 2 * d.size(4); break;
    case 6: D = d.integer(33, 40), T = d.integer(65, 80); break;
    case 7: T = d.integer(257, 270), S = T + d.integer(30, 60); break;
    default: break;
  }
  const bool tiles = kind == 3 || kind == 7;
  const Index group = d.integer(1, tiles ? 2 : 3), G = tiles ? 1 : d.integer(1, 2), H = G * group;
  const Index B = tiles ? 1 : d.integer(1, 2);
  const Shape kv_batch = d.broadcastable_to(Shape{B});
  const auto of_kv = [&](Index columns) {
    return kv_batch.inserted(kv_batch.rank(), G)
        .inserted(kv_batch.rank() + 1, S)
        .inserted(kv_batch.rank() + 2, columns);
  };
  std::vector<Tensor> inputs{d.normal({B, H, T, D}), d.normal(of_kv(D)), d.normal(of_kv(E))};
  if (kind == 3) inputs.push_back(d.normal({H, 1, S}));
  else if (d.chance(0.5)) inputs.push_back(d.normal(d.broadcastable_to({B, H, T, S})));
  FusedAttentionOptions options{.scale = d.number(0.2, 1.2)};
  options.softcap = d.chance(0.4) ? d.number(0.5, 3) : 0.0;
  options.causal = kind == 7 || (kind != 3 && d.chance(0.5)) ? Causal::yes : Causal::no;
  options.query_offset = kind == 7 ? S - T : d.integer(1, S + 1);
  options.dropout = d.chance(0.3) ? 0.3 : 0.0;
  const auto seed = static_cast<std::uint64_t>(d.integer(0, 1 << 20));
  return {inputs,
          [options, seed](const std::vector<Tensor>& in) {
            Generator generator(seed);
            FusedAttentionOptions now = options;
            now.generator = &generator;
            if (in.size() > 3) now.attn_bias = in[3];
            return fused_attention(in[0], in[1], in[2], now);
          },
          options.dropout > 0 || S == 0};
}

}  // namespace autograd
