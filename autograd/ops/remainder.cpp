#include "autograd/ops/integer_division.h"

namespace autograd {

Tensor remainder(const Tensor& a, const Tensor& b) {
  constexpr auto rest = [](std::int64_t x, std::int64_t n) {
    const std::int64_t r = n == -1 ? 0 : x % n;  // of the sign of x
    return r != 0 && (r < 0) != (n < 0) ? r + n : r;
  };
  return detail::integer_division("remainder", a, b, rest);
}

Tensor remainder(const Tensor& a, std::int64_t b) { return remainder(a, detail::integer(b)); }

}  // namespace autograd
