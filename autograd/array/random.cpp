#include "autograd/array/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/array/parallel.h"

namespace autograd {
namespace {

struct Product {
  std::uint32_t high, low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t p = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(p >> 32), static_cast<std::uint32_t>(p)};
}

std::array<std::uint32_t, 4> block(RandomKey key, Index i) {
  const auto n = static_cast<std::uint64_t>(i);
  return philox4x32(
      {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32),
       static_cast<std::uint32_t>(key.stream), static_cast<std::uint32_t>(key.stream >> 32)},
      {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
}

// The two uniform doubles on [0, 1) of a block, 53 bits each.
std::array<double, 2> uniform_pair(RandomKey key, Index i) {
  const auto w = block(key, i);
  const auto unit = [](std::uint32_t high, std::uint32_t low) {
    return static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
  };
  return {unit(w[0], w[1]), unit(w[2], w[3])};
}

std::array<double, 2> normal_pair(RandomKey key, Index i) {
  const auto u = uniform_pair(key, i);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u[0]));  // 1 - u is in (0, 1]
  const double angle = 2.0 * std::numbers::pi * u[1];
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Writes convert(pair(i / 2)[i % 2]) to element i.
template <class T, class Pair, class Convert>
Array from_pairs(const Shape& shape, Pair pair, Convert convert) {
  return Array::build<T>(shape, [&](std::span<T> x) {
    parallel_for((shape.numel() + 1) / 2, kGrain / 8, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const std::array<double, 2> v = pair(i);
        x[2 * i] = convert(v[0]);
        if (2 * i + 1 < shape.numel()) x[2 * i + 1] = convert(v[1]);
      }
    });
  });
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const Product p = multiply(0xD2511F53u, counter[0]), q = multiply(0xCD9E8D57u, counter[2]);
    counter = {q.high ^ counter[1] ^ key[0], q.low, p.high ^ counter[3] ^ key[1], p.low};
    key[0] += 0x9E3779B9u;  // the golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
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
  return dispatch_float(dtype, "uniform", [&](auto tag) {
    using T = decltype(tag);
    const T below = std::nextafter(static_cast<T>(hi), static_cast<T>(lo));
    return from_pairs<T>(
        shape, [key](Index i) { return uniform_pair(key, i); },
        [=](double u) { return std::min(static_cast<T>(lo + (hi - lo) * u), below); });
  });
}

Array normal(const Shape& shape, double mean, double stddev, DType dtype, RandomKey key) {
  if (!(stddev >= 0) || !std::isfinite(stddev) || !std::isfinite(mean)) {
    fail<ValueError>("normal: expected a finite mean and a finite stddev >= 0, got {} and {}", mean,
                     stddev);
  }
  return dispatch_float(dtype, "normal", [&](auto tag) {
    using T = decltype(tag);
    return from_pairs<T>(
        shape, [key](Index i) { return normal_pair(key, i); },
        [=](double z) { return static_cast<T>(mean + stddev * z); });
  });
}

Array keep_mask(const Shape& shape, double p, RandomKey key) {
  const Index n = shape.numel();
  return Array::build<bool>(shape, [&](std::span<bool> keep) {
    parallel_for((n + 3) / 4, kGrain / 4, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const auto w = block(key, i);
        for (Index j = 0; j < 4 && 4 * i + j < n; ++j) {
          keep[4 * i + j] = static_cast<double>(w[static_cast<std::size_t>(j)]) * 0x1p-32 >= p;
        }
      }
    });
  });
}

}  // namespace autograd
