#include "experiments/tools/peak.h"

#include <vector>

#include "autograd/machine/parallel.h"

namespace experiments::tools {

using autograd::Index;
namespace {

using autograd::DType;
using autograd::Index;

// Chains of dependent multiply-adds: more than two units with four cycles of latency need, and few
// enough, with a constant, for 16 registers.
constexpr Index kChains = 12;

// The chains all converge to 1, from starts that the compiler does not know: with known ones it
// sees that one chain is another one a round later, and drops it. A macro, because a template that
// is inlined here would already have been compiled for narrower vectors.
#define GRADLAB_BURST(name, target, bytes)                                               \
  template <class T>                                                                     \
  target T name(Index rounds) {                                                          \
    typedef T Vector __attribute__((vector_size(bytes)));                                \
    volatile T start = T(0.25);                                                          \
    const Vector half = Vector{} + T(0.5);                                               \
    Vector chain[kChains];                                                               \
    for (Index i = 0; i < kChains; ++i) chain[i] = Vector{} + start * static_cast<T>(i); \
    for (Index round = 0; round < rounds; ++round) {                                     \
      for (Index i = 0; i < kChains; ++i) chain[i] = chain[i] * half + half;             \
    }                                                                                    \
    Vector sum = chain[0];                                                               \
    for (Index i = 1; i < kChains; ++i) sum += chain[i];                                 \
    return sum[0];                                                                       \
  }

#if defined(__x86_64__)
GRADLAB_BURST(burst_512, [[gnu::target("avx512f")]], 64)
GRADLAB_BURST(burst_256, [[gnu::target("avx2,fma")]], 32)
#endif
GRADLAB_BURST(burst_128, , 16)
#undef GRADLAB_BURST

template <class T>
double burst(Index rounds) {
#if defined(__x86_64__)
  if (fma_bits() == 512) return burst_512<T>(rounds);
  if (fma_bits() == 256) return burst_256<T>(rounds);
#endif
  return burst_128<T>(rounds);
}

}  // namespace

int fma_bits() {
#if defined(__x86_64__)
  static const int bits = __builtin_cpu_supports("avx512f")                                 ? 512
                          : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 256
                                                                                            : 128;
  return bits;
#else
  return 128;
#endif
}

double fma_flops(DType dtype, Index rounds) {
  const auto lanes = static_cast<double>(fma_bits()) / 8 / static_cast<double>(item_size(dtype));
  return 2 * lanes * static_cast<double>(kChains * rounds);
}

double fma_burst(DType dtype, Index rounds, int threads) {
  std::vector<double> results(static_cast<std::size_t>(threads));
  autograd::parallel_for(threads, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      results[static_cast<std::size_t>(i)] =
          dtype == DType::f32 ? static_cast<double>(burst<float>(rounds)) : burst<double>(rounds);
    }
  });
  return results.front();
}

}  // namespace experiments::tools
