#include "nn/dropout.h"

#include "nn/options.h"

namespace nn {
namespace {

// A generator of another seed: a hash of the next stream of `parent`, one Philox block.
Generator forked(Generator& parent) {
  const auto [seed, stream] = parent.next();
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  constexpr std::uint32_t kDomain = 0x64726f70;  // keeps clear of the blocks that tensors draw
  const auto block =
      autograd::philox4x32({low(stream), high(stream), kDomain, kDomain}, {low(seed), high(seed)});
  return Generator(static_cast<std::uint64_t>(block[1]) << 32 | block[0]);
}

}  // namespace

Dropout::Dropout(double p, Generator& generator)
    : Module("Dropout"), p_(p), generator_(register_generator(forked(generator))) {
  check_probability(p, "Dropout");
}

Tensor Dropout::forward(const Tensor& x) { return training() ? dropout(x, p_, generator_) : x; }

std::string Dropout::details() const { return fmt::format("p {}", p_); }

}  // namespace nn
