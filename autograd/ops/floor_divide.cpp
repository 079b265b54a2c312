#include "autograd/ops/integer_division.h"

namespace autograd {

Tensor floor_divide(const Tensor& a, const Tensor& b) {
  constexpr auto divide = [](std::int64_t x, std::int64_t n) {
    if (n == -1) return static_cast<std::int64_t>(-static_cast<std::uint64_t>(x));  // 2^63 wraps
    const std::int64_t q = x / n;                                                   // towards 0
    return q - (x % n != 0 && (x < 0) != (n < 0));
  };
  return detail::integer_division("floor_divide", a, b, divide);
}

Tensor floor_divide(const Tensor& a, std::int64_t b) { return floor_divide(a, detail::integer(b)); }

}  // namespace autograd
