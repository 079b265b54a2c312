#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "autograd/machine/sanitizer.h"

// exp, tanh, log, sine and cosine, and the normal distribution without branches or calls. Why our
// own: a call of std::exp keeps the compiler from running a loop on whole vectors, and its bits
// differ between C libraries. They do as the library's for -inf, +inf, NaN, and for results that
// are denormal or 0, unless a comment says which arguments a function takes. Largest errors against
// it, in units in the last place: exp 1.1 (f32) and 1 (f64), tanh 2, normal cdf 8 and density 5
// (f32); log 2 (f64), sine and cosine 2^-52 absolute (f64); what is not written here for f64 calls
// the library.

// A function with this before it is compiled for several instruction sets, and the widest that the
// processor has is called: what a build that has to run on any machine would otherwise lack. Not
// under the address and thread sanitizers, which are not ready when the choice is made.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__AVX2__) && !GRADLAB_ASAN && !GRADLAB_TSAN
#define GRADLAB_WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GRADLAB_WIDEST
#endif

namespace autograd::vector_math {

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Cody and Waite's reduction: x = k ln 2 + r with |r| <= ln 2 / 2, exp(r) by its Taylor series,
/// and 2^k in two factors, as neither overflows nor loses a denormal result.
inline float exp(float x) {
  constexpr float kLog2E = 1.442695041F, kMagic = 0x1.8p23F;  // adding kMagic rounds to an integer
  constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;
  x = x < -104.0F ? -104.0F : x;  // written so that NaN stays
  x = x > 89.0F ? 89.0F : x;
  const float shifted = x * kLog2E + kMagic, k = shifted - kMagic;
  const float r = (x - k * kLn2High) - k * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = (p * r) * r + r;
  const auto n = bits_as<std::int32_t>(shifted) - bits_as<std::int32_t>(kMagic);
  const std::int32_t half = n >> 1;
  const float low = bits_as<float>((half + 127) << 23),
              high = bits_as<float>((n - half + 127) << 23);
  return (p * low + low) * high;
}

inline double exp(double x) {
  constexpr double kLog2E = 1.4426950408889634, kMagic = 0x1.8p52;
  constexpr double kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  const double shifted = x * kLog2E + kMagic, k = shifted - kMagic;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = (p * r) * r + r;
  const auto n = bits_as<std::int64_t>(shifted) - bits_as<std::int64_t>(kMagic);
  // No vector unit before AVX-512 shifts signed 64-bit numbers: halve in 32 bits.
  const std::int64_t half = static_cast<std::int32_t>(n) >> 1;
  const double low = bits_as<double>((half + 1023) << 52);
  const double high = bits_as<double>((n - half + 1023) << 52);
  return (p * low + low) * high;
}

/// 1 - 2 / (exp(2 |x|) + 1) with the sign of x; near 0, where that cancels, x (1 + x^2 P(x^2)).
inline float tanh(float x) {
  const float a = std::fabs(x), y = x * x;
  float p = -0.006097022425081138F;
  p = p * y + 0.02099742886897088F;
  p = p * y - 0.053850974468611555F;
  p = p * y + 0.13332770312750866F;
  p = p * y - 0.33333328955206804F;
  const float small = x * (1.0F + y * p);
  const float large = std::copysign(1.0F - 2.0F / (exp(2.0F * a) + 1.0F), x);
  return a < 0.625F ? small : large;  // NaN is large, and stays
}
inline double tanh(double x) { return std::tanh(x); }

/// For a normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log(m) = 2 artanh((m - 1) /
/// (m + 1)) by its series.
inline double log(double x) {
  constexpr double kLn2High = 0x1.62e42fefa0000p-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kMantissa = 0xfffffffffffff;
  const std::uint64_t shifted = bits_as<std::uint64_t>(x) - kSqrtHalf;
  // e as a number: added to the last bits of 2^52 + 2048, which is then taken away.
  const double e =
      bits_as<double>(((shifted >> 52) ^ 0x800) | 0x4330000000000000) - 0x1.00000000008p52;
  const double f = bits_as<double>((shifted & kMantissa) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s, twice = s + s;
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  return e * kLn2High + (twice + (twice * z * p + e * kLn2Low));
}

struct SinCos {
  double sin, cos;
};

/// Sine and cosine of 2 pi u, 0 <= u < 1: Taylor series on the nearest quarter turn.
inline SinCos sincos_of_turn(double u) {
  constexpr double kMagic = 0x1.8p52, kTwoPi = 6.283185307179586;
  const double shifted = 4.0 * u + kMagic, quarters = shifted - kMagic;
  const double t = (u - 0.25 * quarters) * kTwoPi, z = t * t;
  double s = 1.0 / 355687428096000.0;
  s = s * z - 1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = t + t * z * s;
  double c = 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = c * z - 0.5;
  c = 1.0 + z * c;
  const auto n = bits_as<std::uint64_t>(shifted);  // its last bits count the quarters
  const bool odd = (n & 1) != 0;
  const double sin = odd ? c : s, cos = odd ? s : c;
  const std::uint64_t sin_sign = (n & 2) << 62, cos_sign = ((n + 1) & 2) << 62;
  return {bits_as<double>(bits_as<std::uint64_t>(sin) ^ sin_sign),
          bits_as<double>(bits_as<std::uint64_t>(cos) ^ cos_sign)};
}

/// Distribution and density of N(0, 1) at x.
template <class T>
struct Normal {
  T cdf, density;
};

/// cdf(-|x|) = exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2, erfcx as t P(t) with t = 1 / (1 + p z)
/// (the form of Hastings, "Approximations for digital computers", 1955, with own coefficients).
/// x^2 is split, x = h + l with 12 bits in h, as its rounding would be that of the exponent.
inline Normal<float> normal(float x) {
  const float a = std::fabs(x) < 15.0F ? std::fabs(x) : x != x ? x : 15.0F;
  const float h = bits_as<float>(bits_as<std::int32_t>(a) & ~0xfff);
  const float u = (a + h) * (a - h) * -0.5F;
  const float e = exp(h * h * -0.5F) * (1.0F + u * (1.0F + u * (0.5F + u * (1.0F / 6))));
  const float t = 1.0F / (1.0F + 0.23164189F * a);  // 0.3275911 / sqrt(2)
  float p = 0.05667576724239215F;
  p = p * t - 0.3171244694743515F;
  p = p * t + 0.6273435007178251F;
  p = p * t - 0.5600390877024453F;
  p = p * t + 0.5013622948197474F;
  p = p * t - 0.050378013135923355F;
  p = p * t + 0.20595063773590158F;
  p = p * t + 0.1656359345540211F;
  p = p * t + 0.18579439669763187F;
  p = p * t + 0.18477903442386062F;
  const float tail = 0.5F * e * t * p;
  return {x > 0.0F ? 1.0F - tail : tail, 0.39894228F * e};
}
inline Normal<double> normal(double x) {
  return {0.5 * std::erfc(-x * 0.70710678118654752), 0.39894228040143268 * std::exp(-0.5 * x * x)};
}

}  // namespace autograd::vector_math
