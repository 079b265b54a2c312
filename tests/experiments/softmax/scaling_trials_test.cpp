#include "experiments/softmax/scaling_trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "experiments/softmax/scaling_checks.h"
#include "experiments/softmax/scaling_rows.h"

namespace experiments::softmax {
namespace {

using autograd::DType;
using nn::Scale;

RowStats stats_of(const std::vector<double>& scores, const std::vector<double>& weights) {
  return row_stats(std::span<const double>(scores), std::span<const double>(weights));
}

std::vector<double> softmax(const std::vector<double>& s) {
  const double top = *std::ranges::max_element(s);
  double total = 0;
  for (const double x : s) total += std::exp(x - top);
  std::vector<double> p = s;
  for (double& x : p) x = std::exp(x - top) / total;
  return p;
}

// The definitions, in long double: no shortcut of row_stats is used.
void expect_definition(const std::vector<double>& s) {
  const std::size_t n = s.size();
  long double top = -1e30L, total = 0;
  for (const double x : s) top = std::max<long double>(top, x);
  std::vector<long double> p(n);
  for (std::size_t i = 0; i < n; ++i) total += p[i] = std::exp(s[i] - top);
  for (long double& x : p) x /= total;
  long double squares = 0, trace = 0, entropy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double rest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) rest += p[j];
      const long double J = i == j ? 0 : -p[i] * p[j];
      squares += J * J;
    }
    squares += p[i] * rest * p[i] * rest;
    trace += p[i] * rest;
    if (p[i] > 0) entropy -= p[i] * (rest < 0.5L ? std::log1p(-rest) : std::log(p[i]));
  }
  const RowStats got = stats_of(s, softmax(s));
  const auto near = [](double value, long double want) {
    EXPECT_NEAR(value, static_cast<double>(want), 1e-13 * static_cast<double>(want));
  };
  near(got.jacobian, std::sqrt(squares));
  near(got.trace, trace);
  near(got.entropy, entropy);
  near(got.p_max, *std::ranges::max_element(p));
}

TEST(RowStats, AreTheDefinitionsEvenWhereTheRowIsSaturated) {
  expect_definition({0, 0});
  expect_definition({1, 2, 3, -1});
  expect_definition({5, 5, -3, 5});
  expect_definition({0, 50, 12, -7});      // p_max rounds to 1
  expect_definition({300, 0, -200, 2});    // the others are 1e-130 and below
  expect_definition({40, 40, 3, 1, -60});  // two share the row
}

TEST(RowStats, OfADeadRowAreZeroAndNotNaN) {
  const RowStats dead = stats_of({2000, 0, -2000}, {1, 0, 0});
  EXPECT_EQ(dead.entropy, 0);
  EXPECT_EQ(dead.jacobian, 0);
  EXPECT_EQ(dead.trace, 0);
  EXPECT_EQ(dead.p_max, 1);
}

Setting small(nn::Init init = nn::Init::unit) {
  return {.d_k = 3, .seq_len = 4, .trials = 5, .init = init, .n_embd = 6, .seed = 7};
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}
double norm(const std::vector<double>& a) { return std::sqrt(dot(a, a)); }

using Matrix = std::vector<std::vector<double>>;
Matrix matrix(const autograd::Tensor& stacked, Index trial) {
  const autograd::Tensor t = stacked.select(0, trial);
  Matrix m(static_cast<std::size_t>(t.size(0)));
  for (Index i = 0; i < t.size(0); ++i) {
    for (Index j = 0; j < t.size(1); ++j) m[static_cast<std::size_t>(i)].push_back(t.at({i, j}));
  }
  return m;
}

// dS = J dP with the whole matrix J, dQ = a dS K, dK = a dS^T Q, dV = P^T G: the formulas, in
// loops.
TEST(RunTrials, MeasuresTheGradientsOfTheFormulas) {
  const Setting setting = small();
  const double a = 0.7;
  const std::vector<Scale> scales{Scale::number(a)};
  const Samples got = run_trials(setting, scales, 2, [](double) {})[0];
  const Trials trials = draw_trials(setting, 0, 5);
  for (Index n = 0; n < 5; ++n) {
    const Matrix q = matrix(trials.q, n), k = matrix(trials.k, n), v = matrix(trials.v, n),
                 g = matrix(trials.g, n);
    Matrix dk(4, std::vector<double>(3)), dv = dk;
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<double> s, dp, ds(4), dq(3), step;
      for (std::size_t j = 0; j < 4; ++j) s.push_back(a * dot(q[i], k[j]));
      for (std::size_t j = 0; j < 4; ++j) dp.push_back(dot(g[i], v[j]));
      const std::vector<double> p = softmax(s);
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t l = 0; l < 4; ++l)
          ds[j] += (j == l ? p[j] - p[j] * p[j] : -p[j] * p[l]) * dp[l];
        for (std::size_t c = 0; c < 3; ++c) {
          dq[c] += a * ds[j] * k[j][c];
          dk[j][c] += a * ds[j] * q[i][c];
          dv[j][c] += p[j] * g[i][c];
        }
      }
      for (std::size_t j = 0; j < 4; ++j) step.push_back(a * dot(k[j], dq));
      double mean = 0;
      for (const double x : dp) mean += x / 4;
      for (double& x : dp) x -= mean;
      const auto row = static_cast<std::size_t>(n) * 4 + i;
      EXPECT_NEAR(got.ds[row], norm(ds), 1e-14);
      EXPECT_NEAR(got.dq[row], norm(dq), 1e-14);
      EXPECT_NEAR(got.gain[row], norm(ds) / norm(dp), 1e-14);
      EXPECT_NEAR(got.step[row], norm(step), 1e-14);
      EXPECT_NEAR(got.p_max[row], *std::ranges::max_element(p), 1e-14);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(got.dk[static_cast<std::size_t>(n) * 4 + j], norm(dk[j]), 1e-14);
      EXPECT_NEAR(got.dv[static_cast<std::size_t>(n) * 4 + j], norm(dv[j]), 1e-14);
    }
  }
}

void expect_same(const Samples& a, const Samples& b) {
  for (const auto part : {&Samples::entropy, &Samples::p_max, &Samples::jacobian, &Samples::trace,
                          &Samples::gain, &Samples::ds, &Samples::dq, &Samples::dk, &Samples::dv,
                          &Samples::trace_by_parts, &Samples::step, &Samples::score_min,
                          &Samples::score_max, &Samples::score_mean, &Samples::score_square}) {
    EXPECT_EQ(a.*part, b.*part);
  }
}

TEST(RunTrials, GivesTheSameBitsForAnyChunkAndThreadCount) {
  const std::vector<Scale> scales{Scale::none(), Scale::sqrt_dk()};
  for (const nn::Init init : nn::kInits) {
    Setting setting{.d_k = 24, .seq_len = 20, .trials = 11, .init = init, .n_embd = 40, .seed = 3};
    for (const DType dtype : {DType::f32, DType::f64}) {
      setting.dtype = dtype;
      autograd::set_num_threads(1);
      const auto want = run_trials(setting, scales, 11, [](double) {});
      for (int threads = 1; threads <= 4; ++threads) {
        autograd::set_num_threads(threads);
        for (const Index chunk : {1, 3}) {
          const auto got = run_trials(setting, scales, chunk, [](double) {});
          for (std::size_t i = 0; i < scales.size(); ++i) expect_same(got[i], want[i]);
        }
      }
    }
  }
}

TEST(RunTrials, GivesAllScalesTheSameTrials) {
  const std::vector<Scale> scales{Scale::none(), Scale::number(0.25)};
  const auto samples = run_trials(small(), scales, 5, [](double) {});
  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_DOUBLE_EQ(samples[1].score_max[n], 0.25 * samples[0].score_max[n]);
  }
  EXPECT_EQ(samples[0].dv.size(), samples[1].dv.size());
}

TEST(RunTrials, InSinglePrecisionFindsTheSame) {
  Setting setting{.d_k = 64, .seq_len = 16, .trials = 20, .seed = 1};
  const std::vector<Scale> scales{Scale::none()};
  const Samples f64 = run_trials(setting, scales, 20, [](double) {})[0];
  setting.dtype = DType::f32;
  const Samples f32 = run_trials(setting, scales, 20, [](double) {})[0];
  for (std::size_t i = 0; i < f64.ds.size(); ++i) {
    EXPECT_NEAR(f32.jacobian[i], f64.jacobian[i], 2e-5);
    EXPECT_NEAR(f32.entropy[i], f64.entropy[i], 5e-5);
    EXPECT_NEAR(f32.ds[i], f64.ds[i], 1e-4);
  }
}

TEST(DrawTrials, HasIndependentStreams) {
  const Setting a = small();
  Setting b = a, c = a;
  b.seed = 8;
  c.d_k = 4;
  const Trials x = draw_trials(a, 0, 2);
  const double first = x.q.at({0, 0, 0});
  for (const double other :
       {x.k.at({0, 0, 0}), x.v.at({0, 0, 0}), x.q.at({1, 0, 0}),
        draw_trials(b, 0, 1).q.at({0, 0, 0}), draw_trials(c, 0, 1).q.at({0, 0, 0})}) {
    EXPECT_NE(first, other);
  }
  EXPECT_EQ(draw_trials(a, 1, 1).q.at({0, 0, 0}), x.q.at({1, 0, 0}));
}

// All initialisations draw scores of the variance that is predicted of them.
TEST(ExpectedScoreSquare, IsWhatIsDrawn) {
  for (const nn::Init init : nn::kInits) {
    const Setting setting{.d_k = 32, .seq_len = 8, .trials = 300, .init = init, .n_embd = 48};
    const std::vector<Scale> scales{Scale::none()};
    const Samples samples = run_trials(setting, scales, 50, [](double) {})[0];
    const measure::Estimate square = measure::grouped_mean(samples.score_square, 1);
    EXPECT_NEAR(square.mean, expected_score_square(setting), 4 * square.error) << nn::name(init);
    EXPECT_LT(square.error, 0.05 * square.mean);
  }
}

// A query's own position is one of T keys, which shows where T and d are small.
TEST(ExpectedScoreSquare, CountsTheQuerysOwnKey) {
  const Setting setting{.d_k = 8, .seq_len = 2, .trials = 8000, .init = nn::Init::lesson};
  const std::vector<Scale> scales{Scale::none()};
  const Samples samples = run_trials(setting, scales, 50, [](double) {})[0];
  const measure::Estimate square = measure::grouped_mean(samples.score_square, 1);
  EXPECT_NEAR(square.mean, expected_score_square(setting), 4 * square.error);
  EXPECT_LT(square.error, 0.025 * square.mean);  // and without it the mean is 11 % less
}

// dP = G V^T is N(0,1) per entry for V ~ N(0,1).
TEST(DrawTrials, MakesTheGradientOfTheWeightsStandardNormal) {
  const Setting setting{.d_k = 64, .seq_len = 16, .trials = 40};
  const Trials t = draw_trials(setting, 0, 40);
  const autograd::Tensor dp = matmul(t.g, t.v.transpose(-2, -1));
  EXPECT_NEAR((dp * dp).mean().item(), 1, 0.05);
  EXPECT_NEAR(dp.mean().item(), 0, 0.05);
}

TEST(BytesOf, GrowsWithWhatIsKept) {
  Setting setting{.d_k = 64, .seq_len = 16, .trials = 250};
  const double base = bytes_of(setting, 2, 1);
  EXPECT_LT(base, 4e6);
  EXPECT_GT(bytes_of(setting, 2, 4), base + 2e6);  // three more chunks of about 1 MB
  setting.trials = 62'500'000;
  EXPECT_GT(bytes_of(setting, 2, 1), 1e9 * 8 * 2 * 9);
  setting = {.d_k = 65536, .seq_len = 65536, .trials = 1};
  EXPECT_GT(bytes_of(setting, 1, 1), 65536.0 * 65536 * 8 * 4);
  setting = {.d_k = 65536, .seq_len = 4, .trials = 1, .init = nn::Init::lesson};
  EXPECT_GT(bytes_of(setting, 1, 1), 65536.0 * 65536 * 8);
}

}  // namespace
}  // namespace experiments::softmax
