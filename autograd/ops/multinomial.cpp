#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/array/rows.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

using Numbers = std::span<const double>;
using Draws = std::span<std::int64_t>;

/// Where u falls in the sums up to each weight: never on one of 0, which ends where it begins.
void draw_each(Numbers w, Numbers u, Draws out) {
  std::vector<double> sums(w.size());
  const double most = *std::max_element(w.begin(), w.end());  // so that no sum overflows
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sums[i] = sum += w[i] / most;
  for (std::size_t s = 0; s < out.size(); ++s) {
    out[s] = std::upper_bound(sums.begin(), sums.end() - 1, u[s] * sum) - sums.begin();
  }
}

/// A race of exponential clocks, w the rate of each: whichever rings first is drawn with a
/// probability of its share, and by the lack of memory so is the next of those that are left
/// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). In logarithms,
/// which hold all weights apart from 0.
void draw_different(Numbers w, Numbers u, Draws out) {
  std::vector<double> times(w.size());
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < w.size(); ++i) {
    times[i] = std::log(-std::log1p(-u[i])) - std::log(w[i]);
    if (w[i] > 0) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto end = order.begin() + std::ssize(out);
  std::partial_sort(order.begin(), end, order.end(), [&](std::int64_t i, std::int64_t j) {
    return times[i] < times[j] || (times[i] == times[j] && i < j);
  });
  std::copy(order.begin(), end, out.begin());
}

/// How many weights of each row are above 0 at least; ValueError for one that is no weight.
Index check_weights(Numbers all, Index rows, Index n, const Shape& shape) {
  Index least = n;
  for (Index r = 0; r < rows; ++r) {
    Index positive = 0;
    for (Index i = r * n; i < (r + 1) * n; ++i) {
      const double w = all[static_cast<std::size_t>(i)];
      if (!(w >= 0) || !std::isfinite(w)) {
        fail<ValueError>("multinomial: expected finite weights >= 0, got {} at position {} of {}",
                         w, i, shape.str());
      }
      positive += w > 0;
    }
    if (positive == 0) {
      fail<ValueError>("multinomial: expected a weight above 0 in each row, row {} of {} has none",
                       r, shape.str());
    }
    least = std::min(least, positive);
  }
  return least;
}

}  // namespace

Tensor multinomial(const Tensor& weights, Index num_samples, Replacement replacement,
                   Generator& generator) {
  const Shape shape = weights.shape();
  if (shape.rank() != 1 && shape.rank() != 2) {
    fail<ShapeError>("multinomial: expected weights (n) or (rows, n), got {}", shape.str());
  }
  check_float(weights.data(), "multinomial");
  const bool is_dual = weights.dtype() == DType::dual;
  const Array w = is_dual ? value_of(weights.data()) : weights.data().to(DType::f64);
  const Index n = shape[shape.rank() - 1], rows = shape.rank() == 1 ? 1 : shape[0];
  const Index positive = check_weights(w.read<double>(), rows, n, shape);
  if (num_samples < 1) {
    fail<ValueError>("multinomial: expected at least one sample, got {}", num_samples);
  }
  const bool each = replacement == Replacement::yes;
  if (!each && rows > 0 && num_samples > positive) {
    fail<ValueError>(
        "multinomial: expected at most {} samples without replacement, as many as a row of {} has "
        "weights above 0, got {}",
        positive, shape.str(), num_samples);
  }
  const Index drawn = each ? num_samples : n;  // random numbers of a row
  const Array random = uniform({rows, drawn}, 0, 1, DType::f64, generator.next());
  const auto all = w.read<double>(), u = random.read<double>();
  const Array out = Array::build<std::int64_t>(
      shape.with(shape.rank() - 1, num_samples), [&](std::span<std::int64_t> y) {
        parallel_for(rows, rows_per_piece(n + drawn), [&](Index begin, Index end) {
          for (Index r = begin; r < end; ++r) {
            const auto draw = each ? draw_each : draw_different;
            draw(all.subspan(r * n, n), u.subspan(r * drawn, drawn),
                 y.subspan(r * num_samples, num_samples));
          }
        });
      });
  return record("multinomial", out, {{weights, {}}});
}

}  // namespace autograd
