#include <algorithm>
#include <cmath>

#include "autograd/array/elementwise.h"
#include "autograd/array/reduce.h"
#include "autograd/array/rows.h"
#include "autograd/machine/lanes.h"
#include "autograd/machine/parallel.h"
#include "autograd/machine/vector_math.h"
#include "autograd/ops.h"

namespace autograd {

// For a row x of logits with target t:
//
//     loss = -log softmax(x)_t = log sum_j exp(x_j) - x_t,   dloss/dx = softmax(x) - one_hot(t).
//
// With m, the largest of the row, loss = (m - x_t) + log sum_j exp(x_j - m). The two parts must not
// meet before x_t is subtracted: far from 0, m + log sum is rounded to m.
//
// As one op rather than -log of softmax: a probability of e^-200 is 0 in f32, its logarithm is not;
// and the gradient needs no second pass through the Jacobian of softmax. For each row only m and
// the log of the sum are kept: softmax(x)_j = exp((x_j - m) - log sum).
namespace {

struct LogitRows {
  Index count, width;
  Index grain() const {
    return rows_per_piece(4 * width);
  }  // an exp costs as much as several additions
};

/// The number of rows that count.
Index check_targets(const Tensor& logits, const Tensor& target, Index ignore_index) {
  if (logits.rank() < 1 || logits.shape().without(logits.rank() - 1) != target.shape() ||
      logits.size(-1) < 1) {
    fail<ShapeError>("cross_entropy: expected logits (..., V) and target (...), got {} and {}",
                     logits.shape().str(), target.shape().str());
  }
  if (target.dtype() != DType::i64) {
    fail<DTypeError>("cross_entropy: expected a target of i64, got {}", name(target.dtype()));
  }
  Index counted = 0, position = 0;
  for (const std::int64_t label : target.data().read<std::int64_t>()) {
    if (label != ignore_index) {
      if (label < 0 || label >= logits.size(-1)) {
        fail<ValueError>("cross_entropy: expected targets in [0, {}) or {}, got {} at position {}",
                         logits.size(-1), ignore_index, label, position);
      }
      ++counted;
    }
    ++position;
  }
  return counted;
}

/// log sum_j exp(x_j - top), in chunks whose exponentials stay in the cache until they are summed.
template <class T>
Wide<T> log_sum_exp(const T* x, T top, Index n) {
  using std::log;
  constexpr Index kChunk = 256;
  Wide<T> total = 0;
  for (Index begin = 0; begin < n; begin += kChunk) {
    const Index count = std::min(kChunk, n - begin);
    T e[kChunk];
    for (Index j = 0; j < count; ++j) e[j] = vector_math::exp(x[begin + j] - top);
    total += sum_of(count, [&e](Index j) { return e[j]; });
  }
  return log(total);
}

/// Losses of all rows, 0 where ignored; keeps (rows, 2) of Wide<T>: the largest logit of each row,
/// and the log of its sum.
template <class T>
Array losses(const Array& x, const Array& target, Index ignored, LogitRows rows, Array& norms) {
  const T* logits = x.read<T>().data();
  const auto labels = target.read<std::int64_t>();
  return Array::build<T>(target.shape(), [&](std::span<T> loss) {
    norms = Array::build<Wide<T>>(Shape{rows.count, 2}, [&](std::span<Wide<T>> norm) {
      parallel_for(rows.count, rows.grain(), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
          const auto i = static_cast<std::size_t>(r);
          const T* row = logits + r * rows.width;
          const T top = max_of(row, rows.width);
          const Wide<T> log_sum = log_sum_exp(row, top, rows.width);
          norm[2 * i] = static_cast<Wide<T>>(top);
          norm[2 * i + 1] = log_sum;
          if (labels[i] == ignored) loss[i] = T(0);
          else loss[i] = T((norm[2 * i] - static_cast<Wide<T>>(row[labels[i]])) + log_sum);
        }
      });
    });
  });
}

/// The gradient of a mean or a sum as that of each loss: g share.
template <class T>
Array shared(const Array& g, double share, const Shape& shape) {
  const T each = static_cast<T>(static_cast<Wide<T>>(g.read<T>()[0]) * share);
  return Array::build<T>(shape,
                         [each](std::span<T> out) { std::fill(out.begin(), out.end(), each); });
}

/// g[r] (softmax(x) - one_hot(target)), 0 in ignored rows.
template <class T>
Array gradient(const Array& x, const Array& target, Index ignored, LogitRows rows,
               const Array& norms, const Array& g) {
  const T* logits = x.read<T>().data();
  const T* weight = g.read<T>().data();
  const auto labels = target.read<std::int64_t>();
  const auto norm = norms.read<Wide<T>>();
  return Array::build<T>(x.shape(), [&](std::span<T> out) {
    parallel_for(rows.count, rows.grain(), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const T* row = logits + r * rows.width;
        T* to = out.data() + r * rows.width;
        if (labels[i] == ignored) {
          std::fill(to, to + rows.width, T(0));
          continue;
        }
        const Wide<T> top = norm[2 * i], log_sum = norm[2 * i + 1];
        for (Index j = 0; j < rows.width; ++j) {
          to[j] = weight[r] * vector_math::exp(T((static_cast<Wide<T>>(row[j]) - top) - log_sum));
        }
        to[labels[i]] -= weight[r];
      }
    });
  });
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  const Index counted = check_targets(logits, target, options.ignore_index);
  if (options.reduction == Reduction::mean && counted == 0) {
    fail<ValueError>("cross_entropy: expected a target to count, all {} of {} are ignored",
                     target.numel(), target.shape().str());
  }
  const Array x = logits.data(), labels = target.data();
  const Index ignored = options.ignore_index;
  const LogitRows rows{target.numel(), logits.size(-1)};
  Array norms;
  const Array each = dispatch_float(x.dtype(), "cross_entropy", [&](auto tag) {
    return losses<decltype(tag)>(x, labels, ignored, rows, norms);
  });
  const double share =
      options.reduction == Reduction::mean ? 1.0 / static_cast<double>(counted) : 1.0;
  Array y = options.reduction == Reduction::none ? each : sum(each) * share;
  return record("cross_entropy", std::move(y),
                {{logits, [=, shape = labels.shape()](const Array& g) {
                    return dispatch_float(x.dtype(), "cross_entropy", [&](auto tag) {
                      using T = decltype(tag);
                      const Array weight = g.shape() == shape ? g : shared<T>(g, share, shape);
                      return gradient<T>(x, labels, ignored, rows, norms, weight);
                    });
                  }}});
}

}  // namespace autograd
