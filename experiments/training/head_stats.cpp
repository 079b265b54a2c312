#include "experiments/training/head_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "experiments/measure/values.h"
#include "experiments/softmax/scaling_trials.h"

namespace experiments::training {
namespace {

using autograd::DType;
using autograd::Index;
using autograd::Shape;
using autograd::Tensor;

constexpr autograd::RandomKey kDirections{.seed = 0x6761696e, .stream = 0};  // of u

/// Mean and sum of squares about it, merged from parts (Chan, Golub and LeVeque 1983).
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(const Moments& other) {
    const double all = count + other.count, apart = other.mean - mean;
    if (all == 0) return;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

struct Row {
  Moments logits;
  double max_logit = 0;
  double entropy = 0, p_max = 0, dead = 0, gain = 0;
};

Moments moments_of(std::span<const double> x) {
  Moments m{.count = static_cast<double>(x.size())};
  for (const double v : x) m.mean += v / m.count;
  for (const double v : x) m.squares += (v - m.mean) * (v - m.mean);
  return m;
}

double largest(std::span<const double> logits) {
  double most = 0;
  for (const double s : logits) {
    if (!std::isfinite(s)) return std::numeric_limits<double>::infinity();
    most = std::max(most, std::abs(s));
  }
  return most;
}

std::vector<double> softmax(std::span<const double> logits) {
  const double top = *std::ranges::max_element(logits);
  std::vector<double> p(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp(logits[i] - top);
  for (double& v : p) v /= total;
  return p;
}

// |J u| / |u - mean u|. J ignores a constant in u: with that of the likeliest element subtracted,
// nothing cancels in a saturated row, where p is 1 to the last bit.
double gain_along(std::span<const double> u, std::span<const double> p) {
  const double origin = u[static_cast<std::size_t>(std::ranges::max_element(p) - p.begin())];
  double mean = 0;
  for (std::size_t i = 0; i < p.size(); ++i) mean += p[i] * (u[i] - origin);
  double passed = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double ju = p[i] * (u[i] - origin - mean);
    passed += ju * ju;
  }
  return std::sqrt(passed / moments_of(u).squares);
}

// A row of `logits` over the keys seen.
Row measure(std::span<const double> logits, std::span<const double> u) {
  Row row{.logits = moments_of(logits), .max_logit = largest(logits)};
  if (logits.size() < 2) return row;
  const std::vector<double> p = softmax(logits);
  const softmax::RowStats stats = softmax::row_stats(logits, std::span<const double>(p));
  row.entropy = stats.entropy / std::log(static_cast<double>(p.size()));
  row.p_max = stats.p_max;
  row.dead = stats.jacobian < measure::kDeadJacobian;
  row.gain = gain_along(u, p);
  return row;
}

/// The rows of one head of one sequence: q (T, D), k (S, D), u (T, S).
std::vector<Row> measure_matrix(const Tensor& logits, const Tensor& u, nn::Causal causal) {
  const auto [T, S] = logits.dims<2>("head_stats: logits are (T, S)");
  const Index width = S;
  const auto s = logits.data().read<double>(), directions = u.data().read<double>();
  std::vector<Row> rows(static_cast<std::size_t>(T));
  autograd::parallel_for(
      T, std::max<Index>(1, 4096 / std::max<Index>(1, S)), [&](Index begin, Index end) {
        for (Index t = begin; t < end; ++t) {
          const Index keys = causal == nn::Causal::yes ? std::min(t + 1, width) : width;
          const auto first = static_cast<std::size_t>(t * width),
                     count = static_cast<std::size_t>(keys);
          rows[static_cast<std::size_t>(t)] =
              measure(s.subspan(first, count), directions.subspan(first, count));
        }
      });
  return rows;
}

HeadStats summary(const std::vector<Row>& rows) {
  HeadStats out;
  Moments logits;
  for (const Row& row : rows) {
    logits.add(row.logits);
    out.max_logit = std::max(out.max_logit, row.max_logit);
    if (row.logits.count < 2) continue;
    ++out.rows;
    out.entropy += row.entropy;
    out.p_max += row.p_max;
    out.dead_rows += row.dead;
    out.gain += row.gain;
  }
  const bool finite = std::isfinite(out.max_logit);
  const double n = finite && out.rows > 0 ? static_cast<double>(out.rows)
                                          : std::numeric_limits<double>::quiet_NaN();
  for (double* mean : {&out.entropy, &out.p_max, &out.dead_rows, &out.gain}) *mean /= n;
  out.logit_std = std::sqrt(logits.squares / logits.count);
  out.level = level_of(out.max_logit);
  return out;
}

}  // namespace

LogitLevel level_of(double max_logit) {
  if (!(max_logit <= 1e4)) return LogitLevel::alarm;
  return max_logit > 1e3 ? LogitLevel::warn : LogitLevel::fine;
}

const char* name(LogitLevel level) {
  switch (level) {
    case LogitLevel::fine: return "fine";
    case LogitLevel::warn: return "warn";
    case LogitLevel::alarm: return "alarm";
  }
  return "";
}

std::vector<HeadStats> head_stats(const Tensor& q, const Tensor& k, double scale,
                                  nn::Causal causal) {
  const auto [B, H, T, D] = q.dims<4>("head_stats: q is (B, H, T, D)");
  const Index S = k.dims<4>("head_stats: k is (B, H, S, D)")[2];
  if (k.shape() != Shape{B, H, S, D}) {
    autograd::fail<autograd::ShapeError>(
        "head_stats: expected q (B, H, T, D), k (B, H, S, D), got {}, {}", q.shape().str(),
        k.shape().str());
  }
  const autograd::NoGrad no_grad;
  const Tensor queries = q.to(DType::f64), keys = k.to(DType::f64);
  const Tensor u(autograd::normal(Shape{B, T, S}, 0, 1, DType::f64, kDirections));
  std::vector<HeadStats> heads;
  for (Index h = 0; h < H; ++h) {
    const Tensor qs = queries.select(1, h), ks = keys.select(1, h);  // (B, T, D), (B, S, D)
    std::vector<Row> rows;
    for (Index b = 0; b < B; ++b) {
      const Tensor logits = matmul(qs.select(0, b), ks.select(0, b).transpose(0, 1)) * scale;
      const std::vector<Row> more = measure_matrix(logits, u.select(0, b), causal);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    heads.push_back(summary(rows));
  }
  return heads;
}

}  // namespace experiments::training
