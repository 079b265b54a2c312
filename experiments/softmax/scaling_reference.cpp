#include "experiments/softmax/scaling_reference.h"

#include <algorithm>
#include <cmath>

#include "autograd/machine/parallel.h"

namespace experiments::softmax {
namespace {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)

  double normal() {  // Marsaglia's polar method, without keeping the second number
    for (;;) {
      const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
      if (s < 1 && s > 0) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }
  double gamma(double shape) {  // shape >= 1; Marsaglia and Tsang 2000
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), t = 1 + c * x, v = t * t * t;
      if (v > 0 && std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
    }
  }
  double chi(Index d) {  // |q| for q ~ N(0, I_d)
    if (d == 1) return std::abs(normal());
    return std::sqrt(2 * gamma(static_cast<double>(d) / 2));
  }

 private:
  std::uint64_t state_;
};

struct Row {
  double jacobian, entropy, p_max;
};

// The row of softmax(sigma z); z need not be sorted.
Row reference_row(std::span<const double> z, double sigma, std::vector<double>& e) {
  const double edge =
      sigma < 0 ? *std::min_element(z.begin(), z.end()) : *std::max_element(z.begin(), z.end());
  bool top_seen = false;
  double others = 0, moment = 0;  // relative to the largest: sum e_i, sum e_i ln e_i
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double s = sigma * (z[i] - edge);
    e[i] = std::exp(s);
    if (!top_seen && z[i] == edge) {
      top_seen = true;
      e[i] = 0;  // set apart
      continue;
    }
    others += e[i];
    moment += e[i] * s;
  }
  const double total = 1 + others;
  double squares = 0, diagonal = others * others, pairs = 0;  // all times total^4, total^2
  for (const double x : e) {
    const double rest = total - x;
    diagonal += x * x * rest * rest;
    pairs += x * x * squares;
    squares += x * x;
  }
  pairs += squares * 1;  // with the largest
  const double scale = total * total;
  return {std::sqrt(diagonal / (scale * scale) + 2 * pairs / (scale * scale)),
          std::log1p(others) - moment / total, 1 / total};
}

}  // namespace

std::vector<Reference> run_reference(const ReferenceSetting& setting,
                                     std::span<const double> factors) {
  const auto rows = static_cast<std::size_t>(setting.rows);
  const auto T = static_cast<std::size_t>(setting.seq_len);
  std::vector<std::vector<double>> jacobian(factors.size(), std::vector<double>(rows));
  auto entropy = jacobian, p_max = jacobian;
  const std::uint64_t stream = Random(setting.seed).bits() ^
                               Random(static_cast<std::uint64_t>(setting.d_k) << 32 | T).bits();
  autograd::parallel_for(setting.rows, 64, [&](Index begin, Index end) {
    Random random(Random(stream + static_cast<std::uint64_t>(begin)).bits());
    std::vector<double> z(T), e(T);
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
      const double q = random.chi(setting.d_k);
      for (double& x : z) x = random.normal();
      for (std::size_t f = 0; f < factors.size(); ++f) {
        const Row one = reference_row(z, factors[f] * q, e);
        jacobian[f][row] = one.jacobian;
        entropy[f][row] = one.entropy;
        p_max[f][row] = one.p_max;
      }
    }
  });
  std::vector<Reference> results;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    results.push_back({measure::grouped_mean(jacobian[f], 1), measure::grouped_mean(entropy[f], 1),
                       measure::grouped_mean(p_max[f], 1)});
  }
  return results;
}

}  // namespace experiments::softmax
