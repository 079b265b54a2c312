#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/array/elementwise.h"
#include "autograd/ops/attention_passes.h"

namespace autograd {
namespace {

using namespace attention_tiles;

// --- how operands lie

/// Of an operand with matrices of `size` elements where the heads are those of shape `lead`: how
/// far each head's matrix is from the first. Along a dim that is smaller in `shape`, neighbours
/// share.
std::vector<Index> starts_of(const Shape& shape, const Shape& lead, Index size) {
  std::vector<Index> starts(static_cast<std::size_t>(lead.numel()));
  for (Index head = 0; head < lead.numel(); ++head) {
    Index rest = head, start = 0, step = size;
    for (int i = lead.rank() - 1, j = shape.rank() - 3; i >= 0 && j >= 0; --i, --j) {
      start += rest % lead[i] * shape[j] / lead[i] * step;
      rest /= lead[i];
      step *= shape[j];
    }
    starts[static_cast<std::size_t>(head)] = start;
  }
  return starts;
}

Matrices matrices(const Shape& shape, const Shape& lead) {
  const Index rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  return {starts_of(shape, lead, rows * columns), columns};
}

Shape with_matrices(const Shape& lead, Index rows, Index columns) {
  return lead.inserted(lead.rank(), rows).inserted(lead.rank() + 1, columns);
}

Shape leading(const Shape& shape) {
  return shape.without(shape.rank() - 1).without(shape.rank() - 2);
}

/// Whether the leading dims of k or v broadcast to those of q, its heads to groups of them.
bool serves(const Shape& shape, const Shape& lead) {
  if (shape.rank() < 2 || shape.rank() > lead.rank() + 2) return false;
  for (int i = lead.rank() - 1, j = shape.rank() - 3; j >= 0; --i, --j) {
    const bool heads = j == shape.rank() - 3 && shape[j] > 0 && lead[i] % shape[j] == 0;
    if (shape[j] != lead[i] && shape[j] != 1 && !heads) return false;
  }
  return true;
}

// --- both directions over all heads

/// One call. q, k and v of a projection are one array, and so is their gradient.
struct Attention {
  Array q, k, v;
  bool packed = false;
  Layout l;
  Shape lead;  // the dims of q before (T, D), which count the heads
  TileOptions s = {};
  Array bias = {};
  bool bias_varies = false;
  Shape each_bias = {};  // that of a gradient for each head
  Array y = {}, norms = {};

  template <class T>
  Pointers<const T> from() const {
    return {q.read<T>().data(), k.read<T>().data(), v.read<T>().data(),
            l.in.bias.starts.empty() ? nullptr : bias.read<T>().data()};
  }
};

template <class T>
void forward(Attention& a, const Shape& shape) {
  const Layout& l = a.l;
  const Pointers<const T> from = a.from<T>();
  a.y = Array::build<T>(shape, [&](std::span<T> out) {
    a.norms = Array::build<T>(Shape{l.heads, l.T, 2}, [&](std::span<T> norms) {
      const Index tiles = (l.T + kQueries - 1) / kQueries;
      parallel_for(l.heads * tiles, l.grain(), [&](Index begin, Index end) {
        const LibraryCall calls;  // one for all
        for (Index i = begin; i < end; ++i) {
          const Index head = i / tiles, row = i % tiles * kQueries;
          ForwardHead<T>(l, a.s, from, head)
              .run(row, std::min(kQueries, l.T - row),
                   out.data() + l.out.starts[head] + row * l.out.row,
                   norms.data() + 2 * (head * l.T + row));
        }
      });
    });
  });
}

template <class T>
void backward(const Attention& a, const Array& g, const Pointers<T>& to) {
  const Pointers<const T> from = a.from<T>();
  const typename BackwardHead<T>::Given given{a.y.read<T>().data(), a.norms.read<T>().data(),
                                              g.read<T>().data()};
  parallel_for(a.l.heads, a.l.grain(), [&](Index begin, Index end) {
    const LibraryCall calls;  // one for all
    for (Index head = begin; head < end; ++head) {
      BackwardHead<T>(a.l, a.s, from, head).run(given, to);
    }
  });
}

template <class T>
T* memory_of(Array& fresh) {
  T* memory = nullptr;
  fresh.write<T>([&memory](std::span<T> elements) { memory = elements.data(); });
  return memory;
}

/// The gradient of all heads, summed over those that share a matrix of `shape`.
Array shared(const Array& g, const Shape& shape) {
  if (g.shape() == shape || shape.rank() < 3) return sum_to(g, shape);
  const int at = g.rank() - 3;
  const Index heads = shape[shape.rank() - 3], group = heads > 0 ? g.shape()[at] / heads : 0;
  const Shape grouped = g.shape().with(at, heads);
  if (group == 1 || heads == 0) return sum_to(g, shape);
  const Index size = grouped[at + 1] * grouped[at + 2];
  const Array parts = g.reshape({size == 0 ? 0 : grouped.numel() / size, group, size});
  return sum_to(sum(parts, 1, KeepDim::no).reshape(grouped), shape);
}

/// The gradients of several inputs by one computation, as they share most of it: the rule that runs
/// first computes all, and each takes its own. What it was computed from is kept, so that the same
/// memory means the same gradient.
class Joint {
 public:
  using Gradients = std::vector<Array>;
  explicit Joint(std::function<Gradients(const Array& g)> compute) : compute_(std::move(compute)) {}

  Rule rule(std::size_t input) const {
    return [shared = state_, compute = compute_, input](const Array& g) {
      State& s = *shared;
      const bool has = s.of.shares_memory_with(g) && input < s.left.size() && s.left[input];
      if (!has) {
        s.left.clear();
        for (Array& x : compute(g)) s.left.emplace_back(std::move(x));
        s.of = g;
      }
      return *std::exchange(s.left[input], std::nullopt);
    };
  }

 private:
  struct State {
    Array of;
    std::vector<std::optional<Array>> left;
  };
  std::function<Gradients(const Array& g)> compute_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Of q, k, v and the bias, or of the projection and the bias.
Joint::Gradients gradients(const Attention& a, const Array& g) {
  const Layout& l = a.l;
  const auto fresh = [&g](bool wanted, const Shape& shape) {
    return wanted ? Array::empty(shape, g.dtype()) : Array();
  };
  Array q = fresh(true, a.q.shape());
  Array k = fresh(!a.packed, with_matrices(a.lead, l.S, l.D));
  Array v = fresh(!a.packed, with_matrices(a.lead, l.S, l.E));
  Array bias = fresh(a.bias_varies, a.each_bias);
  dispatch_float(g.dtype(), "fused_attention", [&](auto tag) {
    using T = decltype(tag);
    T* const of_q = memory_of<T>(q);
    backward<T>(a, g,
                {of_q, a.packed ? of_q : memory_of<T>(k), a.packed ? of_q : memory_of<T>(v),
                 a.bias_varies ? memory_of<T>(bias) : nullptr});
  });
  if (a.bias_varies) bias = sum_to(bias, a.bias.shape());
  if (a.packed) return {q, bias};
  return {q, shared(k, a.k.shape()), shared(v, a.v.shape()), bias};
}

// --- the op

/// The bias as (..., 1 or T, 1 or S), beside scores of the heads `lead`.
void lay_bias(Attention& a, const Tensor& bias) {
  Layout& l = a.l;
  const Shape scores = with_matrices(a.lead, l.T, l.S);
  if (!broadcasts_to(bias.shape(), scores)) {
    fail<ShapeError>("fused_attention: expected an attn_bias that broadcasts to {}, got {}",
                     scores.str(), bias.shape().str());
  }
  Shape shape = bias.shape();
  while (shape.rank() < 2) shape = shape.inserted(0, 1);
  const Index rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  a.bias = bias.data();
  a.bias_varies = bias.requires_grad();
  a.each_bias = with_matrices(a.lead, rows, columns);
  const Index row = rows == 1 ? 0 : columns, column = columns == 1 ? 0 : 1;
  l.in.bias = {starts_of(shape, a.lead, rows * columns), row, column};
  l.grad.bias = {starts_of(a.each_bias, a.lead, rows * columns), row, column};
}

/// With everything but options and bias in place: computes, and records the rules of `inputs`.
Tensor attend(Attention a, const Shape& shape, const FusedAttentionOptions& options,
              std::vector<Tensor> inputs) {
  const char* const op = "fused_attention";
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    fail<ValueError>("{}: expected dropout in [0, 1], got {}", op, options.dropout);
  }
  if (!(options.softcap >= 0 && std::isfinite(options.softcap))) {
    fail<ValueError>("{}: expected a softcap above 0, or 0 for none, got {}", op, options.softcap);
  }
  a.s = {options.scale.value_or(1 / std::sqrt(static_cast<double>(a.l.D))),
         options.softcap,
         options.causal,
         options.causal == Causal::yes ? causal_offset(options.query_offset, a.l.T, a.l.S, op) : 0,
         options.dropout,
         {}};
  if (options.attn_bias.defined()) lay_bias(a, options.attn_bias);
  inputs.push_back(options.attn_bias);
  if (a.s.p > 0) a.s.key = (options.generator ? *options.generator : default_generator()).next();
  DType dtype = a.q.dtype();
  for (const Tensor& x : inputs) {
    if (!x.defined()) continue;
    check_mixable(a.q, x.data(), op);
    if (x.dtype() == DType::dual) dtype = DType::dual;
  }
  for (Array* x : {&a.q, &a.k, &a.v}) *x = x->to(dtype);
  if (options.attn_bias.defined()) a.bias = a.bias.to(dtype);
  dispatch_float(dtype, op, [&](auto tag) { forward<decltype(tag)>(a, shape); });
  const Array y = a.y;
  const Joint joint([a = std::move(a)](const Array& g) { return gradients(a, g); });
  std::vector<Input> rules;
  for (std::size_t i = 0; i < inputs.size(); ++i) rules.push_back({inputs[i], joint.rule(i)});
  return record(op, y, rules);
}

}  // namespace

Index causal_offset(std::optional<Index> given, Index T, Index S, const char* op) {
  if (!given && T != S) {
    fail<ShapeError>(
        "{}: causal attention of {} queries to {} keys needs query_offset, the position of query 0 "
        "among the keys: S - T where the queries are the last",
        op, T, S);
  }
  if (given && *given < 0)
    fail<ValueError>("{}: query_offset must be at least 0, got {}", op, *given);
  return given.value_or(0);
}

Tensor fused_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const FusedAttentionOptions& options) {
  const bool matrices_fit = q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2 &&
                            q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2) &&
                            q.size(-1) > 0 && v.size(-1) > 0;
  const Shape lead = matrices_fit ? leading(q.shape()) : Shape();
  if (!matrices_fit || !serves(k.shape(), lead) || !serves(v.shape(), lead)) {
    fail<ShapeError>(
        "fused_attention: expected q (..., H, T, D), k (..., G, S, D) and v (..., G, S, E) with G "
        "a "
        "divisor of H, got {}, {}, {}",
        q.shape().str(), k.shape().str(), v.shape().str());
  }
  const Index T = q.size(-2), S = k.size(-2), D = q.size(-1), E = v.size(-1);
  const Shape out = with_matrices(lead, T, E);
  const Operands in{
      matrices(q.shape(), lead), matrices(k.shape(), lead), matrices(v.shape(), lead), {}};
  const Operands grad{in.q,
                      matrices(with_matrices(lead, S, D), lead),
                      matrices(with_matrices(lead, S, E), lead),
                      {}};
  return attend({.q = q.data(),
                 .k = k.data(),
                 .v = v.data(),
                 .l = {lead.numel(), T, S, D, E, in, grad, matrices(out, lead)},
                 .lead = lead},
                out, options, {q, k, v});
}

Tensor fused_attention(const Tensor& qkv, Index n_head, const FusedAttentionOptions& options) {
  const auto [B, T, width] = qkv.dims<3>("fused_attention: qkv is (B, T, 3 C)");
  if (n_head < 1 || width % 3 != 0 || width / 3 % n_head != 0 || width == 0) {
    fail<ShapeError>(
        "fused_attention: expected qkv (B, T, 3 C) and heads that divide C, got {} and {}",
        qkv.shape().str(), n_head);
  }
  const Index C = width / 3, D = C / n_head;
  const auto from = [&, B = B, T = T](Index first, Index stride) {
    Matrices m{{}, stride};
    for (Index head = 0; head < B * n_head; ++head) {
      m.starts.push_back(head / n_head * T * stride + first + head % n_head * D);
    }
    return m;
  };
  const Operands parts{from(0, width), from(C, width), from(2 * C, width), {}};
  return attend({.q = qkv.data(),
                 .k = qkv.data(),
                 .v = qkv.data(),
                 .packed = true,
                 .l = {B * n_head, T, T, D, D, parts, parts, from(0, C)},
                 .lead = {B, n_head}},
                Shape{B, T, C}, options, {qkv});
}

}  // namespace autograd
