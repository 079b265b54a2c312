#include "experiments/softmax/scaling_inputs.h"

#include <algorithm>
#include <cmath>

#include "autograd/machine/parallel.h"
#include "autograd/ops.h"

namespace experiments::softmax {
namespace {

using autograd::Array;
using autograd::RandomKey;
using autograd::Shape;
using autograd::Tensor;

enum class What : std::uint64_t { q = 1, k, v, g, x, w_q, w_k, w_v };

// One stream for each trial and quantity: d_k has 17 bits, the trial 30.
RandomKey key_of(const Setting& setting, What what, Index trial) {
  return {setting.seed, (static_cast<std::uint64_t>(what) << 56) |
                            (static_cast<std::uint64_t>(setting.d_k) << 32) |
                            static_cast<std::uint64_t>(trial)};
}

// Stacks what draw(i) makes, an array of the shape `each`, for count values of i.
template <class Draw>
Tensor stack(const Setting& setting, Index count, const Shape& each, const Draw& draw) {
  return autograd::dispatch_real(setting.dtype, "scaling", [&](auto tag) {
    using T = decltype(tag);
    return Tensor(Array::build<T>(each.inserted(0, count), [&](std::span<T> out) {
      autograd::parallel_for(count, 1, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
          const Array one = draw(i);
          const auto from = one.read<T>();
          std::copy(from.begin(), from.end(), out.begin() + i * each.numel());
        }
      });
    }));
  });
}

Tensor normals(const Setting& setting, What what, Index first, Index count, const Shape& each,
               double stddev = 1) {
  return stack(setting, count, each, [&](Index i) {
    return autograd::normal(each, 0, stddev, setting.dtype, key_of(setting, what, first + i));
  });
}

// W^T of each trial, drawn as (channels, d): its entries are independent, so either way round.
Tensor projections(const Setting& setting, What what, Index first, Index count) {
  const Shape each{setting.channels(), setting.d_k};
  return stack(setting, count, each, [&](Index i) {
    const RandomKey key = key_of(setting, what, first + i);
    autograd::Generator generator(key.seed);
    generator.set_state({key.seed, key.stream});
    const nn::Initializer rule{setting.init, setting.dtype, generator};
    return rule.weight(each, setting.channels()).data();
  });
}

}  // namespace

Trials draw_trials(const Setting& setting, Index first, Index count) {
  const Index m = setting.queries(), T = setting.seq_len, d = setting.d_k;
  const double root = std::sqrt(static_cast<double>(d));
  Trials trials;
  trials.g = normals(setting, What::g, first, count, {m, d}, 1 / root);
  if (setting.init == nn::Init::unit) {
    trials.q = normals(setting, What::q, first, count, {m, d});
    trials.k = normals(setting, What::k, first, count, {T, d});
    trials.v = normals(setting, What::v, first, count, {T, d});
    return trials;
  }
  const Tensor x = normals(setting, What::x, first, count, {T, setting.channels()});
  trials.q = matmul(x.narrow(1, 0, m), projections(setting, What::w_q, first, count));
  trials.k = matmul(x, projections(setting, What::w_k, first, count));
  trials.v = matmul(x, projections(setting, What::w_v, first, count));
  return trials;
}

}  // namespace experiments::softmax
