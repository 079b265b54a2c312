#include "autograd/array/random.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/machine/parallel.h"
#include "autograd/machine/vector_math.h"

namespace autograd {
namespace {

struct Product {
  std::uint32_t high, low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t p = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(p >> 32), static_cast<std::uint32_t>(p)};
}

// Why Philox: it has no state. Block n of a stream is a function of (key, n), the counter encrypted
// by ten rounds that multiply, swap and mix in the key. So threads draw their parts of an array in
// any order and get the same numbers; dropout saves its key instead of a mask, and fused attention
// draws the mask of one tile from the middle of the stream.

/// The four words of a counter, or of a block of random numbers. A loop over blocks runs the rounds
/// on whole vectors, one register per word.
struct Words {
  std::uint32_t a, b, c, d;
};
inline Words rounds(Words w, std::uint32_t k0, std::uint32_t k1) {
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Product p = multiply(0xD2511F53u, w.a), q = multiply(0xCD9E8D57u, w.c);
    w = {q.high ^ w.b ^ k0, q.low, p.high ^ w.d ^ k1, p.low};
    k0 += 0x9E3779B9u;  // the golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return w;
}

constexpr Index kBlocks = 128;  // Philox blocks at a time

/// The words of blocks [first, first + count) of a stream.
struct Batch {
  std::uint32_t words[4][kBlocks];

  Batch(RandomKey key, Index first, Index count) {
    const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
    const std::uint32_t c = low(key.stream), d = low(key.stream >> 32);
    const std::uint32_t k0 = low(key.seed), k1 = low(key.seed >> 32);
    for (Index i = 0; i < count; ++i) {
      const auto n = static_cast<std::uint64_t>(first + i);
      const Words w = rounds({low(n), low(n >> 32), c, d}, k0, k1);
      words[0][i] = w.a;
      words[1][i] = w.b;
      words[2][i] = w.c;
      words[3][i] = w.d;
    }
  }

  /// A uniform double on [0, 1) of 53 bits, from words `at` and at + 1 of block i.
  double unit(int at, Index i) const {
    const std::uint64_t bits = std::uint64_t{words[at][i]} << 32 | words[at + 1][i];
    return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53;
  }

  /// An integer on [0, limit): the 128 bits of block i as a fraction of 2^128, times the limit.
  std::uint64_t below(std::uint64_t limit, Index i) const {
    __extension__ using Wide128 = unsigned __int128;
    const std::uint64_t high = std::uint64_t{words[0][i]} << 32 | words[1][i];
    const std::uint64_t low = std::uint64_t{words[2][i]} << 32 | words[3][i];
    const Wide128 carry = Wide128{low} * limit >> 64;
    return static_cast<std::uint64_t>((Wide128{high} * limit + carry) >> 64);
  }
};

/// Writes of(i, batch, k) to element i, whose random bits are block k of the batch.
template <class F>
Array integers_from_blocks(const Shape& shape, RandomKey key, F of) {
  return Array::build<std::int64_t>(shape, [&](std::span<std::int64_t> x) {
    parallel_for(shape.numel(), elements_per_piece() / 4, [&](Index begin, Index end) {
      for (Index first = begin; first < end; first += kBlocks) {
        const Index count = std::min(kBlocks, end - first);
        const Batch batch(key, first, count);
        for (Index k = 0; k < count; ++k) x[first + k] = of(first + k, batch, k);
      }
    });
  });
}

/// Two doubles of each of `count` blocks, into x[0][i] and x[1][i].
using Pairs = double[2][kBlocks];

void uniform_pairs(RandomKey key, Index first, Index count, Pairs& x) {
  const Batch batch(key, first, count);
  for (Index i = 0; i < count; ++i) {
    x[0][i] = batch.unit(0, i);
    x[1][i] = batch.unit(2, i);
  }
}

// Box and Muller: 1 - u is in (0, 1].
void normal_pairs(RandomKey key, Index first, Index count, Pairs& x) {
  const Batch batch(key, first, count);
  for (Index i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2.0 * vector_math::log(1.0 - batch.unit(0, i)));
    const vector_math::SinCos angle = vector_math::sincos_of_turn(batch.unit(2, i));
    x[0][i] = radius * angle.cos;
    x[1][i] = radius * angle.sin;
  }
}

// Writes convert(v) to element 2 i and 2 i + 1, v the pair of block i.
template <class T, class Fill, class Convert>
Array from_pairs(const Shape& shape, Fill fill, Convert convert) {
  const Index n = shape.numel();
  return Array::build<T>(shape, [&](std::span<T> x) {
    parallel_for((n + 1) / 2, elements_per_piece() / 8, [&](Index begin, Index end) {
      Pairs pairs;
      for (Index first = begin; first < end; first += kBlocks) {
        const Index count = std::min(kBlocks, end - first);
        fill(first, count, pairs);
        T* to = x.data() + 2 * first;
        const Index whole = std::min(count, (n - 2 * first) / 2);
        for (Index i = 0; i < whole; ++i) {
          to[2 * i] = convert(pairs[0][i]);
          to[2 * i + 1] = convert(pairs[1][i]);
        }
        if (whole < count) to[2 * whole] = convert(pairs[0][whole]);
      }
    });
  });
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  const Words w = rounds({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
  return {w.a, w.b, w.c, w.d};
}

Generator& default_generator() {
  thread_local Generator generator(0);
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }

Array uniform(const Shape& shape, double lo, double hi, DType dtype, RandomKey key) {
  if (!(lo <= hi) || !std::isfinite(hi - lo)) {
    fail<ValueError>("uniform: expected finite lo <= hi, got {} and {}", lo, hi);
  }
  if (dtype == DType::dual) return uniform(shape, lo, hi, DType::f64, key).to(dtype);
  return dispatch_real(dtype, "uniform", [&](auto tag) {
    using T = decltype(tag);
    const T below = std::nextafter(static_cast<T>(hi), static_cast<T>(lo));
    return from_pairs<T>(
        shape, [key](Index first, Index count, Pairs& x) { uniform_pairs(key, first, count, x); },
        [=](double u) { return std::min(static_cast<T>(lo + (hi - lo) * u), below); });
  });
}

Array normal(const Shape& shape, double mean, double stddev, DType dtype, RandomKey key) {
  if (!(stddev >= 0) || !std::isfinite(stddev) || !std::isfinite(mean)) {
    fail<ValueError>("normal: expected a finite mean and a finite stddev >= 0, got {} and {}", mean,
                     stddev);
  }
  if (dtype == DType::dual) return normal(shape, mean, stddev, DType::f64, key).to(dtype);
  return dispatch_real(dtype, "normal", [&](auto tag) {
    using T = decltype(tag);
    return from_pairs<T>(
        shape, [key](Index first, Index count, Pairs& x) { normal_pairs(key, first, count, x); },
        [=](double z) { return static_cast<T>(mean + stddev * z); });
  });
}

Array randint(const Shape& shape, std::int64_t low, std::int64_t high, RandomKey key) {
  const auto first = static_cast<std::uint64_t>(low);  // whose arithmetic may wrap around
  const std::uint64_t limit = static_cast<std::uint64_t>(high) - first;
  return integers_from_blocks(shape, key, [=](Index, const Batch& batch, Index k) {
    return static_cast<std::int64_t>(first + batch.below(limit, k));
  });
}

Array randperm(Index n, RandomKey key) {
  Array partners = integers_from_blocks(Shape{n}, key, [](Index i, const Batch& batch, Index k) {
    return static_cast<std::int64_t>(batch.below(static_cast<std::uint64_t>(i) + 1, k));
  });
  // Element i goes to place p in [0, i], and what was there to place i.
  partners.write<std::int64_t>([](std::span<std::int64_t> x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto p = static_cast<std::size_t>(x[i]);
      x[i] = std::exchange(x[p], static_cast<std::int64_t>(i));
    }
  });
  return partners;
}

void keep_mask(bool* keep, Index first, Index count, double p, RandomKey key) {
  const Index last = first + count, end = (last + 3) / 4;
  for (Index block = first / 4; block < end; block += kBlocks) {
    const Batch batch(key, block, std::min(kBlocks, end - block));
    for (Index i = std::max(first, 4 * block); i < std::min(last, 4 * (block + kBlocks)); ++i) {
      const std::uint32_t word = batch.words[i % 4][i / 4 - block];
      keep[i - first] = static_cast<double>(word) * 0x1p-32 >= p;
    }
  }
}

Array keep_mask(const Shape& shape, double p, RandomKey key) {
  const Index n = shape.numel();
  return Array::build<bool>(shape, [&](std::span<bool> keep) {
    parallel_for(n, elements_per_piece(), [&](Index begin, Index end) {
      keep_mask(keep.data() + begin, begin, end - begin, p, key);
    });
  });
}

}  // namespace autograd
