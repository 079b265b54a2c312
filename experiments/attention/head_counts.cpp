#include "experiments/attention/head_counts.h"

#include <algorithm>

namespace experiments::attention {

std::vector<Index> divisors(Index n) {
  std::vector<Index> all;
  for (Index d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return all;
}

Flops flops_of(Index T, Index n_embd, Index n_head) {
  const Index D = n_embd / n_head;
  return {.projections = 4 * 2 * T * n_embd * n_embd,
          .products = n_head * (2 * T * T * D + 2 * T * T * D),
          .softmax = 6 * n_head * T * T};
}

double map_distance(std::span<const double> weights, Index heads, Index T) {
  if (heads < 2) return 0;
  double sum = 0;
  std::vector<double> cell(static_cast<std::size_t>(heads));
  for (Index ij = 0; ij < T * T; ++ij) {
    for (Index h = 0; h < heads; ++h) cell[h] = weights[h * T * T + ij];
    // For sorted values the differences of all pairs add up to sum_h (2 h - H + 1) x_h.
    std::sort(cell.begin(), cell.end());
    for (Index h = 0; h < heads; ++h) sum += static_cast<double>(2 * h - heads + 1) * cell[h];
  }
  const double pairs = static_cast<double>(heads) * static_cast<double>(heads - 1) / 2;
  return sum / (2 * pairs * static_cast<double>(T));
}

}  // namespace experiments::attention
