#pragma once

#include <array>
#include <cstdint>

#include "autograd/array/array.h"

namespace autograd {

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011): a bijection of a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// Names one stream of random numbers. Element i of the stream is a function of (key, i) alone, so
/// a stream reads the same in any order and on any number of threads.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// Hands out keys. Its whole state is two numbers, to be read, stored and put back.
class Generator {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t next_stream = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  explicit Generator(std::uint64_t seed) : state_{seed, 0} {}
  RandomKey next() { return {state_.seed, state_.next_stream++}; }
  State state() const { return state_; }
  void set_state(State state) { state_ = state; }

 private:
  State state_;
};

/// The generator that functions fall back on when none is given; seed 0 until manual_seed(). Each
/// thread has its own.
Generator& default_generator();
void manual_seed(std::uint64_t seed);

/// Uniform on [lo, hi) and normal arrays of floats; dual ones are constants. The f32 numbers are
/// the f64 ones, rounded to float (a uniform one never up to hi). Normals by the Box-Muller
/// transform.
Array uniform(const Shape& shape, double lo, double hi, DType dtype, RandomKey key);
Array normal(const Shape& shape, double mean, double stddev, DType dtype, RandomKey key);
/// i64 on [low, high), low < high. Element i scales the 128 random bits u of block i: low + floor(u
/// (high - low) / 2^128), so that no number is likelier than another by more than 1 part in 2^64.
Array randint(const Shape& shape, std::int64_t low, std::int64_t high, RandomKey key);
/// 0, ..., n - 1 in random order, each of the n! orders as likely (Fisher and Yates).
Array randperm(Index n, RandomKey key);
/// b8, true with probability 1 - p: which elements dropout keeps.
Array keep_mask(const Shape& shape, double p, RandomKey key);
/// Elements [first, first + count) of such a mask.
void keep_mask(bool* keep, Index first, Index count, double p, RandomKey key);

}  // namespace autograd
