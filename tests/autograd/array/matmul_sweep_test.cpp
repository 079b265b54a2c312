// matmul over all M, K, N in 1..8 and four transpositions against triple loops: values and
// gradients.

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/array/layout.h"
#include "autograd/array/matmul.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/machine/parallel.h"
#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

constexpr Index kMost = 8;

/// Plain numbers, row-major.
struct Matrix {
  Index rows, cols;
  std::vector<double> v;
  Matrix(Index r, Index c) : rows(r), cols(c), v(static_cast<std::size_t>(r * c)) {}
  explicit Matrix(const Array& a) : Matrix(a.shape()[0], a.shape()[1]) {
    for (Index i = 0; i < a.numel(); ++i) v[i] = a.at(i);
  }
  double& at(Index i, Index j) { return v[i * cols + j]; }
  double at(Index i, Index j) const { return v[i * cols + j]; }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.cols);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < b.cols; ++j) {
      for (Index k = 0; k < a.cols; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

Matrix flipped(const Matrix& a) {
  Matrix t(a.cols, a.rows);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

/// Whether all elements agree to `limit` times the size of a sum of such products.
testing::AssertionResult near(const Array& got, const Matrix& expected, double limit) {
  if (!(got.shape() == Shape{expected.rows, expected.cols})) {
    return testing::AssertionFailure() << "shape " << got.shape().str();
  }
  for (Index i = 0; i < got.numel(); ++i) {
    if (std::abs(got.at(i) - expected.v[i]) <= limit * (1 + std::abs(expected.v[i]))) continue;
    return testing::AssertionFailure() << "element " << i << " of " << got.shape().str() << ": got "
                                       << got.at(i) << ", expected " << expected.v[i];
  }
  return testing::AssertionSuccess();
}

struct Form {
  Index m, k, n;
  bool a_transposed, b_transposed;
  std::string str() const {
    return fmt::format("({} x {}){} times ({} x {}){}", m, k, a_transposed ? "^T" : "", k, n,
                       b_transposed ? "^T" : "");
  }
};

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (Index m = 1; m <= kMost; ++m) {
    for (Index k = 1; k <= kMost; ++k) {
      for (Index n = 1; n <= kMost; ++n) {
        for (unsigned t = 0; t < 4; ++t) forms.push_back({m, k, n, (t & 1) != 0, (t & 2) != 0});
      }
    }
  }
  return forms;
}

Tensor numbers(Index rows, Index cols, std::uint64_t stream, DType dtype) {
  return Tensor(normal({rows, cols}, 0, 1, dtype, {13, stream})).requires_grad_();
}

/// The operands as stored: A^T is stored (K, M).
struct Operands {
  Tensor a, b;
  Operands(const Form& f, DType dtype)
      : a(f.a_transposed ? numbers(f.k, f.m, 1, dtype) : numbers(f.m, f.k, 1, dtype)),
        b(f.b_transposed ? numbers(f.n, f.k, 2, dtype) : numbers(f.k, f.n, 2, dtype)) {}
};

void check_form(const Form& f, DType dtype, double limit) {
  const Operands in(f, dtype);
  const Tensor y = matmul(f.a_transposed ? in.a.transpose(0, 1) : in.a,
                          f.b_transposed ? in.b.transpose(0, 1) : in.b);
  const Tensor g = numbers(f.m, f.n, 3, dtype).detach();
  y.backward(g);

  const Matrix stored_a(in.a.data()), stored_b(in.b.data()), cotangent(g.data());
  const Matrix a = f.a_transposed ? flipped(stored_a) : stored_a;
  const Matrix b = f.b_transposed ? flipped(stored_b) : stored_b;
  const Matrix da = product(cotangent, flipped(b)), db = product(flipped(a), cotangent);
  EXPECT_TRUE(near(y.data(), product(a, b), limit)) << f.str();
  EXPECT_TRUE(near(in.a.grad().data(), f.a_transposed ? flipped(da) : da, limit)) << f.str();
  EXPECT_TRUE(near(in.b.grad().data(), f.b_transposed ? flipped(db) : db, limit)) << f.str();
}

TEST(MatmulSweep, ValuesAndGradientsInF64) {
  const std::vector<Form> forms = all_forms();
  ASSERT_EQ(forms.size(), 2048u);
  for (const Form& f : forms) check_form(f, DType::f64, 1e-14);
}

TEST(MatmulSweep, ValuesAndGradientsInF32) {
  for (const Form& f : all_forms()) check_form(f, DType::f32, 4e-6);
}

TEST(MatmulSweep, TranspositionFlagsOfTheArrayProduct) {
  for (const Form& f : all_forms()) {
    const Operands in(f, DType::f64);
    const Trans ta = f.a_transposed ? Trans::yes : Trans::no;
    const Trans tb = f.b_transposed ? Trans::yes : Trans::no;
    const Matrix a(in.a.data()), b(in.b.data());
    const Matrix expected =
        product(f.a_transposed ? flipped(a) : a, f.b_transposed ? flipped(b) : b);
    EXPECT_TRUE(near(matmul(in.a.data(), in.b.data(), ta, tb), expected, 1e-14)) << f.str();
  }
}

TEST(MatmulSweep, Gradcheck) {
  for (const Form& f : all_forms()) {
    if ((f.m + f.k + f.n) % 5 != 0) continue;  // a fifth of them; the loops above see all
    const Operands in(f, DType::f64);
    const GradcheckReport report = gradcheck(
        [&](const std::vector<Tensor>& x) {
          return matmul(f.a_transposed ? x[0].transpose(0, 1) : x[0],
                        f.b_transposed ? x[1].transpose(0, 1) : x[1]);
        },
        {in.a, in.b});
    EXPECT_TRUE(report.ok) << f.str() << ": " << report.message;
  }
}

TEST(MatmulSweep, SizesAroundTilesAndVectors) {
  for (const Index m : {7, 9, 16, 33, 65, 130}) {
    for (const Index k : {1, 17, 64}) {
      for (const Index n : {1, 15, 66}) {
        for (unsigned t = 0; t < 4; ++t) {
          check_form({m, k, n, (t & 1) != 0, (t & 2) != 0}, DType::f64, 1e-13);
        }
      }
    }
  }
}

// Of eight megaflops and more: several tiles of rows, and of columns where b is transposed.
TEST(MatmulSweep, ProductsOfSeveralTiles) {
  for (unsigned t = 0; t < 4; ++t) {
    check_form({200, 100, 210, (t & 1) != 0, (t & 2) != 0}, DType::f64, 1e-12);
    check_form({67, 250, 300, (t & 1) != 0, (t & 2) != 0}, DType::f32, 1e-4);
  }
  const Array a = normal({3, 100, 200}, 0, 1, DType::f32, {13, 4});  // transposed: (200 x 100)
  const Array b = normal({3, 210, 100}, 0, 1, DType::f32, {13, 5});
  const Array all = matmul(a, b, Trans::yes, Trans::yes);
  for (Index i = 0; i < 3; ++i) {
    const auto one = [i](const Array& x) { return select(Tensor(x), 0, i).data(); };
    EXPECT_TRUE(bit_equal(one(all), matmul(one(a), one(b), Trans::yes, Trans::yes))) << i;
    const Matrix expected = product(flipped(Matrix(one(a))), flipped(Matrix(one(b))));
    EXPECT_TRUE(near(one(all), expected, 1e-4)) << i;
  }
}

TEST(MatmulSweep, SameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const Form& f : {Form{257, 65, 130, false, false}, Form{130, 257, 65, true, true},
                        Form{200, 100, 210, false, true}}) {
    const Operands in(f, DType::f32);
    const Trans ta = f.a_transposed ? Trans::yes : Trans::no;
    const Trans tb = f.b_transposed ? Trans::yes : Trans::no;
    set_num_threads(1);
    const Array expected = matmul(in.a.data(), in.b.data(), ta, tb);
    for (int threads = 2; threads <= 4; ++threads) {
      set_num_threads(threads);
      EXPECT_TRUE(bit_equal(matmul(in.a.data(), in.b.data(), ta, tb), expected)) << threads;
    }
  }
  set_num_threads(before);
}

// --- single cases

using test::f64;
using test::leaf;

TEST(Matmul, TransposedOnTheLeft) {
  const Tensor a = leaf({0.7, -1.3, 2.1, -0.4, 1.9, -3.2}, {2, 3});
  EXPECT_TRUE(test::near(matmul(a.transpose(0, 1), ones({2, 2}, DType::f64)),
                         f64({0.3, 0.3, 0.6, 0.6, -1.1, -1.1}, {3, 2}), 1e-14));
}

TEST(Matmul, TransposedTimesDiagonal) {
  const Tensor a = leaf({0, 1, 0, 1, 0, 1}, {3, 2});
  const Tensor diagonal = leaf({1, 0, 0, 0, 2, 0, 0, 0, 3}, {3, 3});
  EXPECT_TRUE(
      test::near(matmul(a.transpose(0, 1), diagonal), f64({0, 0, 0, 1, 2, 3}, {2, 3}), 1e-15));
}

TEST(Matmul, OneDimensionalOperands) {
  const Tensor x = leaf({1, 2}), w = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = matmul(x, w);
  EXPECT_TRUE(test::near(y, f64({9, 12, 15}, {3}), 1e-15));
  y.sum().backward();
  EXPECT_TRUE(test::near(x.grad(), f64({6, 15}, {2}), 1e-15));
  EXPECT_TRUE(test::near(w.grad(), f64({1, 1, 1, 2, 2, 2}, {2, 3}), 1e-15));

  const Tensor v = leaf({1, 1, 1});
  const Tensor z = matmul(w, v);
  EXPECT_TRUE(test::near(z, f64({6, 15}, {2}), 1e-15));
  z.sum().backward();
  EXPECT_TRUE(test::near(v.grad(), f64({5, 7, 9}, {3}), 1e-15));
}

TEST(Matmul, GradientOfTheOperandWithoutBatchHasNoBatch) {
  const Tensor a = leaf({1, 2}, {1, 2}), b = leaf({1, 1, 10, 10}, {2, 2, 1});
  const Tensor y = matmul(a, b);
  EXPECT_TRUE(test::near(y, f64({3, 30}, {2, 1, 1}), 1e-15));
  y.sum().backward();
  EXPECT_TRUE(test::near(a.grad(), f64({11, 11}, {1, 2}), 1e-15));
  EXPECT_TRUE(test::near(b.grad(), f64({1, 2, 1, 2}, {2, 2, 1}), 1e-15));
}

}  // namespace
}  // namespace autograd
