#include <algorithm>
#include <cmath>

#include "autograd/array/reduce.h"
#include "autograd/array/rows.h"
#include "autograd/machine/lanes.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops.h"

namespace autograd {

// Ba, Kiros and Hinton, "Layer normalization" (2016). For each row x of C elements:
//
//     mean = sum(x) / C,   var = sum((x - mean)^2) / C,   rstd = 1 / sqrt(var + eps),
//     xhat = (x - mean) rstd,   y = xhat weight + bias.
//
// Backward, from the gradient g of y and with h = g weight, that of xhat:
//
//     dbias = sum of g over the rows,   dweight = sum of g xhat over the rows,
//     dx = rstd (h - mean(h) - xhat mean(h xhat)).
//
// The two means are what x does to h by way of the mean and of the variance of its row: what moves
// a row as a whole, or stretches it, changes no xhat.
//
// Mean and variance are taken in double and in two passes: rounded to f32, the mean of a constant
// row is off by enough for 1 / sqrt(eps) to show; in f64 it is taken from the first element on, for
// the same reason. An f64 row whose squares or sums overflow is shrunk by a power of two first,
// which changes no digit.
namespace {

struct Rows {
  Index count, width;
  Index grain() const { return rows_per_piece(width); }
};

void check_shapes(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  if (x.rank() < 1 || x.size(-1) < 1) {
    fail<ShapeError>("layer_norm: expected x (..., C) with C at least 1, got {}", x.shape().str());
  }
  for (const Tensor* p : {&weight, &bias}) {
    if (p->defined() && p->shape() != Shape{x.size(-1)}) {
      fail<ShapeError>("layer_norm: expected {} ({},), got {}", p == &weight ? "weight" : "bias",
                       x.size(-1), p->shape().str());
    }
    if (p->defined() && p->dtype() != x.dtype() && !mixes_dual(x.dtype(), p->dtype())) {
      fail<DTypeError>("layer_norm: expected {} of {}, got {}", p == &weight ? "weight" : "bias",
                       name(x.dtype()), name(p->dtype()));
    }
  }
  if (!(eps > 0)) fail<ValueError>("layer_norm: expected eps above 0, got {}", eps);
}

/// What the gradient needs besides g.
struct Saved {
  Array x, weight, moments;  // moments (rows, 3) of Wide<T>, each row a Moments
  Rows rows;
};

/// Of a row that was multiplied by `shrink`, which is 1 unless numbers are huge.
template <class T>
struct Moments {
  using W = Wide<T>;
  W shrink, mean, rstd;  // rstd = 1 / sqrt(variance + eps)

  explicit Moments(const W* saved) : shrink(saved[0]), mean(saved[1]), rstd(saved[2]) {}
  Moments(const T* x, Index n, double eps) : shrink(1) {
    measure(x, n, eps);
    if (std::is_same_v<T, float> || rstd > W(0)) return;
    constexpr double kShrink = 0x1p-525;  // the square of 2^1024 becomes 2^998; 1e-5 stays above 0
    shrink = kShrink;
    measure(x, n, eps * kShrink * kShrink);
  }

  W xhat(T x) const { return (shrunk(x) - mean) * rstd; }
  W slope() const { return rstd * shrink; }  // of xhat in x, but for mean and rstd

 private:
  W shrunk(T x) const {
    if constexpr (std::is_same_v<T, float>) return static_cast<W>(x);
    else return x * shrink;
  }
  void measure(const T* x, Index n, double eps) {
    using std::sqrt;
    const auto count = static_cast<double>(n);
    const W base = std::is_same_v<T, float> ? W(0) : shrunk(x[0]);
    mean = base + sum_of(n, [=, this](Index j) { return shrunk(x[j]) - base; }) / count;
    const auto square = [=, this](Index j) {
      const W d = shrunk(x[j]) - mean;
      return d * d;
    };
    rstd = 1 / sqrt(sum_of(n, square) / count + eps);
  }
};

template <class T>
void normalize(const Saved& s, Wide<T>* moments, const T* weight, const T* bias, double eps, T* y) {
  const Index n = s.rows.width;
  const T* all = s.x.read<T>().data();
  parallel_for(s.rows.count, s.rows.grain(), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* x = all + r * n;
      T* out = y + r * n;
      const Moments<T> m(x, n, eps);
      moments[3 * r] = m.shrink;
      moments[3 * r + 1] = m.mean;
      moments[3 * r + 2] = m.rstd;
      for (Index j = 0; j < n; ++j) out[j] = T(m.xhat(x[j]));
      if (weight)
        for (Index j = 0; j < n; ++j) out[j] *= weight[j];
      if (bias)
        for (Index j = 0; j < n; ++j) out[j] += bias[j];
    }
  });
}

/// dx = rstd (h - mean(h) - xhat mean(h xhat)), h = g weight.
template <class T>
Array gradient_of_x(const Saved& s, const Array& g) {
  const Index n = s.rows.width;
  const T* x = s.x.read<T>().data();
  const T* grad = g.read<T>().data();
  const T* weight = s.weight.numel() > 0 ? s.weight.read<T>().data() : nullptr;
  using W = Wide<T>;
  const W* moments = s.moments.read<W>().data();
  return Array::build<T>(s.x.shape(), [&](std::span<T> out) {
    parallel_for(s.rows.count, s.rows.grain(), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const Moments<T> m(moments + 3 * r);
        const W slope = m.slope();
        const T *xr = x + r * n, *gr = grad + r * n;
        const auto xhat = [=](Index j) { return m.xhat(xr[j]); };
        const auto row = [&](auto h) {
          const auto [h_sum, hx_sum] = sums_of<2>(n, [&](Index j) {
            return std::array{h(j), h(j) * xhat(j)};
          });
          const W h_mean = h_sum / static_cast<double>(n);
          const W hx_mean = hx_sum / static_cast<double>(n);
          T* to = out.data() + r * n;
          for (Index j = 0; j < n; ++j) to[j] = T(slope * (h(j) - h_mean - xhat(j) * hx_mean));
        };
        if (weight) row([=](Index j) { return static_cast<W>(gr[j] * weight[j]); });
        else row([=](Index j) { return static_cast<W>(gr[j]); });
      }
    });
  });
}

/// The sum of g xhat over the rows: of each block of rows, then of the blocks.
template <class T>
Array gradient_of_weight(const Saved& s, const Array& g) {
  constexpr Index kBlock = 64;
  const Index n = s.rows.width, rows = s.rows.count, blocks = (rows + kBlock - 1) / kBlock;
  const T* x = s.x.read<T>().data();
  const T* grad = g.read<T>().data();
  using W = Wide<T>;
  const W* moments = s.moments.read<W>().data();
  const auto add_row = [=](Index r, W* total) {
    const Moments<T> m(moments + 3 * r);
    const T *xr = x + r * n, *gr = grad + r * n;
    for (Index j = 0; j < n; ++j) total[j] += m.xhat(xr[j]) * static_cast<W>(gr[j]);
  };
  const Array sums = Array::build<W>(Shape{blocks, n}, [&](std::span<W> out) {
    const Index grain = std::max<Index>(1, s.rows.grain() / kBlock);
    parallel_for(blocks, grain, [&](Index begin, Index end) {
      for (Index block = begin; block < end; ++block) {
        W* total = out.data() + block * n;
        std::fill_n(total, n, W(0));
        const Index last = std::min(rows, (block + 1) * kBlock);
        for (Index r = block * kBlock; r < last; ++r) add_row(r, total);
      }
    });
  });
  return sum(sums, 0, KeepDim::no).to(g.dtype());
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_shapes(x, weight, bias, eps);
  const Index width = x.size(-1);
  const DType dtype = weight.defined() && weight.dtype() == DType::dual ? DType::dual
                      : bias.defined() && bias.dtype() == DType::dual   ? DType::dual
                                                                        : x.dtype();
  const auto in_it = [dtype](const Tensor& p) {
    return p.defined() ? p.data().to(dtype) : Array();
  };
  Saved s{in_it(x), in_it(weight), Array(), {x.numel() / width, width}};
  const Array shift = in_it(bias);
  Array y = dispatch_float(dtype, "layer_norm", [&](auto tag) {
    using T = decltype(tag);
    return Array::build<T>(x.shape(), [&](std::span<T> out) {
      s.moments = Array::build<Wide<T>>(Shape{s.rows.count, 3}, [&](std::span<Wide<T>> moments) {
        normalize<T>(s, moments.data(), weight.defined() ? s.weight.read<T>().data() : nullptr,
                     bias.defined() ? shift.read<T>().data() : nullptr, eps, out.data());
      });
    });
  });
  const auto on = [](const Array& g, auto f) {
    return dispatch_float(g.dtype(), "layer_norm", [&](auto tag) { return f(tag); });
  };
  return record("layer_norm", std::move(y),
                {{x,
                  [s, on](const Array& g) {
                    return on(g, [&](auto tag) { return gradient_of_x<decltype(tag)>(s, g); });
                  }},
                 {weight,
                  [s, on](const Array& g) {
                    return on(g, [&](auto tag) { return gradient_of_weight<decltype(tag)>(s, g); });
                  }},
                 {bias, [rows = s.rows](const Array& g) {
                    return sum(g.reshape({rows.count, rows.width}), 0, KeepDim::no);
                  }}});
}

}  // namespace autograd
