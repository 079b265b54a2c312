#include "autograd/array/matmul.h"

#include "autograd/ops.h"

namespace autograd {

namespace {

// A vector on the left is a row, on the right a column.
Array as_matrix(const Array& a, int new_axis) {
  return a.rank() == 1 ? a.reshape(a.shape().inserted(new_axis, 1)) : a;
}

// (..., M, K) -> (... M, K), of an array with elements.
Array all_rows(const Array& a) {
  const Index columns = a.shape()[a.rank() - 1];
  return a.reshape({a.numel() / columns, columns});
}

// z = x y has dx = g y^T and dy = x^T g. Where the whole batch shares one y, the sum of its
// gradients is one product over all rows of the batch.
Array gradient_of_right(const Array& x, const Array& y, const Array& g) {
  const bool shared = y.rank() == 2 && x.numel() != 0 && g.numel() != 0;
  if (shared) return matmul(all_rows(x), all_rows(g), Trans::yes, Trans::no);
  return sum_to(matmul(x, g, Trans::yes, Trans::no), y.shape());
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    fail<ShapeError>("matmul: expected rank 1 or more, got {} and {}", a.shape().str(),
                     b.shape().str());
  }
  const Index inner = a.size(-1), rows = b.size(b.rank() == 1 ? 0 : -2);
  if (inner != rows) {
    fail<ShapeError>("matmul: expected equal inner sizes, got {} ({}) and {} ({})", inner,
                     a.shape().str(), rows, b.shape().str());
  }
  const Array x = as_matrix(a.data(), 0), y = as_matrix(b.data(), 1);
  const Array z = matmul(x, y);
  Shape shape = z.shape();
  if (b.rank() == 1) shape = shape.without(shape.rank() - 1);
  if (a.rank() == 1) shape = shape.without(shape.rank() - (b.rank() == 1 ? 1 : 2));
  const Shape full = z.shape(), from_a = a.shape(), from_b = b.shape();
  return record("matmul", z.reshape(shape),
                {{a,
                  [x, y, full, from_a](const Array& g) {
                    const Array gx = matmul(g.reshape(full), y, Trans::no, Trans::yes);
                    return sum_to(gx, x.shape()).reshape(from_a);
                  }},
                 {b, [x, y, full, from_b](const Array& g) {
                    return gradient_of_right(x, y, g.reshape(full)).reshape(from_b);
                  }}});
}

}  // namespace autograd
