#pragma once

#include <optional>

#include "autograd/operators.h"
#include "autograd/tensor.h"

// The catalogue: every op with one declaration and one line on its meaning and shapes. The op
// itself is ops/<name>.cpp, value and gradient rule together; those that make tensors or compare
// them share creation.cpp and compare.cpp, and extrema their rule, extreme.h. Elementwise ops
// broadcast as NumPy does. Dims may be negative; a scalar takes dims 0 and -1, as if it had one dim
// of size 1. Ops take floats (f32, f64), never mixed, unless a line says otherwise; DTypeError and
// ShapeError name the op.
//
// Where a number is not safe:
//
// A gradient of 0 does not stop an infinite slope: 0 * inf is NaN. So a value that where, maximum,
// minimum or masked_fill did not choose spoils the gradient all the same when it was computed at
// the edge of sqrt, log, pow or 1 / x. The cure is to choose before the function as well:
// where(m, sqrt(where(m, x, 1)), 0).
//
// NaN is kept, and takes the gradient along: relu lets it pass, where one operand is NaN maximum
// and minimum pass the whole gradient to both, and max and min share it among the NaN.
//
// x + (f(x) - x).detach() is the straight-through estimator: the value of f, the gradient of x. It
// is wrong on purpose, and gradcheck says so; its overload with a claimed gradient is for those.

namespace autograd {

template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class... T>
constexpr DType arange_dtype = (std::is_integral_v<T> && ...) ? DType::i64 : DType::f32;

// --- creation: leaves that require no gradient until requires_grad_()
Tensor zeros(const Shape& shape, DType dtype = DType::f32);
Tensor ones(const Shape& shape, DType dtype = DType::f32);
Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& x);  // shape and dtype of x
Tensor ones_like(const Tensor& x);
Tensor eye(Index n, DType dtype = DType::f32);  // 1 on the diagonal of (n, n) or (n, m)
Tensor eye(Index n, Index m, DType dtype = DType::f32);
Tensor arange(Index n, DType dtype = DType::i64);  // 0, 1, ..., n - 1
/// start, start + step, ... as long as they are before end: i64 of integers, else f32.
template <Number A, Number B, Number S = int>
Tensor arange(A start, B end, S step = 1, DType dtype = arange_dtype<A, B, S>);
Tensor linspace(double start, double end, Index steps, DType dtype = DType::f32);  // both included
Tensor tensor(std::initializer_list<double> values, DType dtype = DType::f32);     // rank 1
Tensor tensor(std::initializer_list<double> values, const Shape& shape, DType dtype = DType::f32);
template <class T>
Tensor from_values(std::span<const T> values, const Shape& shape) {  // dtype from T
  return Tensor(Array::from<T>(values, shape));
}
template <class T>
Tensor from_values(const std::vector<T>& values, const Shape& shape) {
  return from_values(std::span<const T>(values), shape);
}
template <class T>
Tensor from_values(const std::vector<T>& values) {  // rank 1
  return from_values(values, {static_cast<Index>(values.size())});
}
Tensor uniform(const Shape& shape, double lo, double hi, DType dtype = DType::f32,
               Generator& generator = default_generator());
Tensor normal(const Shape& shape, double mean, double stddev, DType dtype = DType::f32,
              Generator& generator = default_generator());
Tensor randn(const Shape& shape, DType dtype = DType::f32,
             Generator& generator = default_generator());  // N(0, 1)
Tensor randint(Index low, Index high, const Shape& shape, DType dtype = DType::i64,
               Generator& generator = default_generator());  // on [low, high), all as likely
Tensor randint(Index high, const Shape& shape, DType dtype = DType::i64,
               Generator& generator = default_generator());  // on [0, high)
/// 0, ..., n - 1 (i64) in random order.
Tensor randperm(Index n, Generator& generator = default_generator());
/// Indices (i64), each drawn with a probability of its share of the weights (n) or (rows, n), which
/// need no sum of 1 -> (num_samples) or (rows, num_samples). Without replacement an index is drawn
/// once, from what is left. A weight of 0 never is. ValueError for a negative, NaN or infinite
/// weight, for a row of zeros, and for more samples without replacement than weights above 0.
Tensor multinomial(const Tensor& weights, Index num_samples,
                   Replacement replacement = Replacement::no,
                   Generator& generator = default_generator());

// --- arithmetic, elementwise: two shapes broadcast together, and so does the result. add, sub, mul
// and neg take i64 too, where a result that does not fit wraps around (modulo 2^64), and div makes
// f32 of two i64. The operators of them are in operators.h.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
/// Of i64 alone: the quotient rounded down, and what it leaves, of the sign of b, as // and % of
/// Python. ValueError for a 0 in b.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, std::int64_t b);
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, std::int64_t b);
Tensor scale(const Tensor& x, double factor);      // x * factor
Tensor shift(const Tensor& x, double term);        // x + term
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN wins; a tie halves the gradient
Tensor minimum(const Tensor& a, const Tensor& b);  // the same
/// a^b, as std::pow: 0^0 = 1, 0^-1 = inf, and NaN for a < 0 unless b is a whole number. The
/// gradient for b is a^b ln a: NaN for a < 0, whole b or not; 0 where a = 0 and b >= 0, as 0^b is
/// flat there. The gradient for a is 0 where b = 0, even at a = 0.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& x, double exponent);
Tensor pow(double base, const Tensor& exponent);
/// a where mask (b8) is true, b elsewhere; all three broadcast.
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);

// --- functions of each element (norm: of all)
Tensor abs(const Tensor& x);   // gradient 0 at 0
Tensor sign(const Tensor& x);  // -1, 0 or 1, but NaN for NaN; gradient 0
/// lo or hi for what is beyond it (hi for all where lo > hi), ValueError for a bound of NaN. The
/// gradient is that of x in [lo, hi], bounds included, and 0 outside.
Tensor clamp(const Tensor& x, double lo, double hi);
Tensor square(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);    // natural
Tensor sqrt(const Tensor& x);   // gradient +inf at 0
Tensor rsqrt(const Tensor& x);  // 1 / sqrt(x), inf at 0
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);   // 1 / (1 + exp(-x))
Tensor softplus(const Tensor& x);  // log(1 + exp(x)), in full precision at any x
Tensor relu(const Tensor& x);      // max(x, 0); keeps NaN, in value and gradient; gradient 0 at 0
enum class Gelu { erf, tanh };
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf);  // x Phi(x), or GPT-2's approximation of it
Tensor norm(const Tensor& x);             // sqrt(sum(x^2)) of all -> (); gradient 0 at the origin
Tensor to(const Tensor& x, DType dtype);  // any dtypes; gradients between f32 and f64 only

// --- comparisons, elementwise with broadcasting: any two equal dtypes -> b8, without a gradient
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& mask);  // this and the next: of b8
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor any(const Tensor& mask, Dims dims = {}, KeepDim keep = KeepDim::no);  // of none: false
Tensor all(const Tensor& mask, Dims dims = {}, KeepDim keep = KeepDim::no);  // of none: true
Tensor argmax(const Tensor& x, int dim, KeepDim keep = KeepDim::no);  // i64, the first of equals
/// Whether |a - b| <= atol + rtol |b| everywhere; equal infinities are close, NaN is not.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8);

// --- reductions over dims, one or {several}, all of them where none is given; KeepDim::yes leaves
// size 1 in their place. Elements that are equally large share the gradient of max evenly, as do
// equally small ones that of min, and NaN wins.
Tensor sum(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no);   // i64 of i64 and b8
Tensor mean(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no);  // b8 too: share, f64
/// sum((x - mean)^2) / max(0, n - correction) of n elements: NaN for one element and correction 1.
Tensor var(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no, double correction = 1);
/// log(sum(exp(x))), without overflow; -inf of nothing. Its gradient is softmax(x), NaN and all.
Tensor logsumexp(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no);
Tensor max(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no);
Tensor min(const Tensor& x, Dims dims = {}, KeepDim keep = KeepDim::no);

// --- products
/// (..., M, K) x (..., K, N) -> (..., M, N), leading dims broadcast. A 1-D operand is a row on the
/// left, a column on the right, and its dim is dropped again: (K) x (K, N) -> (N).
Tensor matmul(const Tensor& a, const Tensor& b);
/// x (..., in), weight (out, in), bias (out) or undefined -> (..., out): x weight^T + bias.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());

// --- softmax and dropout
/// exp(x) / sum(exp(x)) along dim; NaN where all of a row is -inf, or one element +inf.
Tensor softmax(const Tensor& x, int dim);
Tensor log_softmax(const Tensor& x, int dim);  // its logarithm, exact where softmax is 0
/// Softmax over the positions where mask (b8, broadcasts to x) is true; exactly 0 elsewhere, and a
/// row with no true position is all zeros, in value and gradient.
Tensor masked_softmax(const Tensor& x, const Tensor& mask, int dim);
/// Each element is 0 with probability p, else divided by 1 - p. p in [0, 1].
Tensor dropout(const Tensor& x, double p, Generator& generator = default_generator());

// --- attention
/// Whether a position sees only itself and those before it.
enum class Causal : bool { no, yes };
struct FusedAttentionOptions {
  std::optional<double> scale = {};  // factor of q k^T; 1 / sqrt(D) if not given
  double softcap = 0;                // c above 0: scores s become c tanh(s / c)
  Tensor attn_bias = {};             // then added; broadcasts to (..., H, T, S), -inf hides a key
  Causal causal = Causal::no;
  std::optional<Index> query_offset = {};  // causal: query t sees keys 0 to query_offset + t. 0 for
                                           // T = S; else ShapeError unless given
  double dropout = 0.0;                    // of the weights
  Generator* generator = nullptr;          // of dropout; the default one if null
};
/// softmax(scale q k^T) v: q (..., H, T, D), k (..., G, S, D), v (..., G, S, E) -> (..., H, T, E).
/// G divides H, and each head of k and v serves H / G neighbours (grouped queries); dims before it
/// broadcast to those of q. The same, to rounding, as matmul, softmax, dropout and matmul, with the
/// same mask of dropout, but no (T, S) matrix is ever whole: memory grows with T + S. A v that is
/// not finite makes outputs NaN even under weights of 0, as there; here q's gradient too.
Tensor fused_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                       const FusedAttentionOptions& options = {});
/// The same from a projection qkv (B, T, 3 C) of which q, k and v are a third each, n_head heads
/// side by side -> (B, T, C).
Tensor fused_attention(const Tensor& qkv, Index n_head, const FusedAttentionOptions& options = {});
/// The query_offset of causal attention, 0 if none is needed; ShapeError and ValueError for `op`.
Index causal_offset(std::optional<Index> given, Index T, Index S, const char* op);

// --- normalisation and losses
/// (x - mean) / sqrt(variance + eps) * weight + bias over the last dim; the variance divides by C.
/// x (..., C); weight and bias (C), either may be undefined.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
enum class Reduction { mean, sum, none };
struct CrossEntropyOptions {
  Index ignore_index = -100;  // targets of this value are left out
  Reduction reduction = Reduction::mean;
};
/// -log softmax(logits)[target], in nats: logits (..., V), target i64 (...) -> (), or (...) for
/// Reduction::none. The mean is over targets that are not ignored. ValueError where all are
/// ignored, or for a target outside [0, V), with its position.
Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options = {});
Tensor mse(const Tensor& x, const Tensor& target);  // mean((x - target)^2) -> (); equal shapes

// --- layout (any dtype; gradients for floats)
Tensor reshape(const Tensor& x, const Shape& shape);                  // same elements, row-major
Tensor reshape(const Tensor& x, std::initializer_list<Index> sizes);  // one size may be -1
Tensor transpose(const Tensor& x, int dim0, int dim1);                // swaps two dims
Tensor permute(const Tensor& x, std::span<const int> dims);  // dim i of the result: dims[i]
Tensor squeeze(const Tensor& x, int dim);            // drops a dim of size 1; ShapeError otherwise
Tensor unsqueeze(const Tensor& x, int dim);          // a new dim of size 1 at `dim`
Tensor expand(const Tensor& x, const Shape& shape);  // repeats x along what broadcasts to `shape`
/// [start, start + length); a negative start counts from the end.
Tensor narrow(const Tensor& x, int dim, Index start, Index length);
Tensor select(const Tensor& x, int dim, Index index);             // one index; drops the dim
std::vector<Tensor> split(const Tensor& x, Index size, int dim);  // parts of `size`, the last less
template <int N>
std::array<Tensor, N> split(const Tensor& x, Index size, int dim);  // ShapeError unless N parts
Tensor concat(const std::vector<Tensor>& parts, int dim);           // end to end; other sizes equal
Tensor stack(const std::vector<Tensor>& parts, int dim);            // along a new dim; equal shapes
inline Tensor concat(const Tensor& a, const Tensor& b, int dim) { return concat({a, b}, dim); }
inline Tensor stack(const Tensor& a, const Tensor& b, int dim) { return stack({a, b}, dim); }
Tensor tril(const Tensor& x, Index diagonal = 0);  // 0 where column > row + diagonal, last two dims
/// value where mask (b8) is true; x and mask broadcast together. Floats only.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
/// Rows of a table: weight (V, C), index i64 (...) -> (..., C). ValueError for an index outside
/// [0, V), with its position.
Tensor embedding(const Tensor& weight, const Tensor& index);

/// (before, after) of the last dim, then of the one before it, ...: elements of `value` that are
/// added there, or cut off where negative. PyTorch's F.pad, mode "constant".
Tensor pad(const Tensor& x, std::span<const Index> pad, double value = 0);
Tensor pad(const Tensor& x, std::initializer_list<Index> pad, double value = 0);
/// Windows [i step, i step + size) of a dim, as many as fit: (.., L, ..) -> (.., W, .., size).
Tensor unfold(const Tensor& x, int dim, Index size, Index step);

// --- by index (any dtype; gradients for floats). ValueError for an index (i64) outside [0, size),
// with its position. Where indices are equal, gradients and what is added add up in their order.
/// Slices of x: index (m), or () for one of them; dim has size m then.
Tensor index_select(const Tensor& x, int dim, const Tensor& index);
/// y[i][j] = x[i][index[i][j]] for dim 1: the shape of the index, which has the rank of x and no
/// other dim longer than x. y = gather(logits, 1, label.unsqueeze(1)) picks one in each row.
Tensor gather(const Tensor& x, int dim, const Tensor& index);
/// x, and x[i][index[i][j]] += src[i][j] for dim 1, in the order of j; src in the index's shape.
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& src);
/// 1 at the index, else 0, in a new last dim (i64); by default as many classes as the largest
/// needs.
Tensor one_hot(const Tensor& index, Index num_classes = -1);

// --- order and running sums along a dim (any dtype; gradients for floats). NaN counts as the
// largest number, and equal ones keep their order, whichever the direction.
struct Sorted {
  Tensor values, indices;  // the indices, i64, are where the values were
};
Sorted sort(const Tensor& x, int dim = -1, Descending descending = Descending::no);
Tensor argsort(const Tensor& x, int dim = -1, Descending descending = Descending::no);
/// The first k of them, largest first, or with Largest::no smallest first.
Sorted topk(const Tensor& x, Index k, int dim = -1, Largest largest = Largest::yes);
Tensor cumsum(const Tensor& x, int dim);  // of b8 in i64

// --- parts of templates above
namespace detail {
Tensor arange_of(Index start, Index end, Index step, DType dtype);
Tensor arange_of(double start, double end, double step, DType dtype);
}  // namespace detail
template <Number A, Number B, Number S>
Tensor arange(A start, B end, S step, DType dtype) {
  using T = std::conditional_t<std::is_integral_v<std::common_type_t<A, B, S>>, Index, double>;
  return detail::arange_of(static_cast<T>(start), static_cast<T>(end), static_cast<T>(step), dtype);
}
void check_split_parts(std::size_t parts, int wanted, const Shape& shape, Index size);
template <int N>
std::array<Tensor, N> split(const Tensor& x, Index size, int dim) {
  std::vector<Tensor> parts = split(x, size, dim);
  check_split_parts(parts.size(), N, x.shape(), size);
  std::array<Tensor, N> out;
  for (int i = 0; i < N; ++i) out[i] = std::move(parts[i]);
  return out;
}

}  // namespace autograd
