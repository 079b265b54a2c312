// Every broadcast pattern up to rank 4 against naive index loops: values and gradients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/tensors.h"

namespace autograd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// All shapes that broadcast to `full`: m leading axes missing, each other axis whole or 1.
std::vector<Shape> patterns(const Shape& full) {
  std::vector<Shape> shapes;
  for (int missing = 0; missing <= full.rank(); ++missing) {
    const int rank = full.rank() - missing;
    for (unsigned ones = 0; ones < (1u << rank); ++ones) {
      std::vector<Index> sizes;
      for (int i = 0; i < rank; ++i) {
        sizes.push_back((ones >> i) & 1u ? 1 : full[missing + i]);
      }
      shapes.emplace_back(sizes);
    }
  }
  return shapes;
}

/// Where element `index` of `out` reads in an operand of `shape`.
Index position(const Shape& out, Index index, const Shape& shape) {
  Index result = 0, step = 1;
  for (int back = 1; back <= out.rank(); ++back) {
    const Index size = out[out.rank() - back], coordinate = index % size;
    index /= size;
    if (back > shape.rank()) continue;
    const Index own = shape[shape.rank() - back];
    if (own != 1) result += coordinate * step;
    step *= own;
  }
  return result;
}

Tensor leaf(const Shape& shape, std::uint64_t stream) {
  return Tensor(normal(shape, 0, 1, DType::f64, {11, stream})).requires_grad_();
}

struct Elementwise {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*value)(double, double);
  double (*slope_a)(double a, double b);
  double (*slope_b)(double a, double b);
};
constexpr Elementwise kAdd{"add", add, [](double a, double b) { return a + b; },
                           [](double, double) { return 1.0; }, [](double, double) { return 1.0; }};
constexpr Elementwise kMul{"mul", mul, [](double a, double b) { return a * b; },
                           [](double, double b) { return b; }, [](double a, double) { return a; }};

void expect_near(const Tensor& got, const std::vector<double>& expected, const Shape& shape,
                 const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  ASSERT_EQ(got.shape(), shape) << what << ": " << got.shape().str();
  for (Index i = 0; i < got.numel(); ++i) {
    ASSERT_NEAR(got.data().at(i), expected[i], 1e-12) << what << " at " << i;
  }
}

void check_pair(const Elementwise& e, const Shape& shape_a, const Shape& shape_b) {
  const std::string what = fmt::format("{} {} {}", e.name, shape_a.str(), shape_b.str());
  const Tensor a = leaf(shape_a, 1), b = leaf(shape_b, 2), y = e.op(a, b);
  const Shape shape = y.shape();
  ASSERT_EQ(shape, broadcast(shape_a, shape_b, "test")) << what;
  const Tensor g = leaf(shape, 3).detach();
  y.backward(g);

  std::vector<double> da(a.numel()), db(b.numel());
  for (Index i = 0; i < y.numel(); ++i) {
    const Index p = position(shape, i, shape_a), q = position(shape, i, shape_b);
    const double va = a.data().at(p), vb = b.data().at(q), vg = g.data().at(i);
    ASSERT_EQ(y.data().at(i), e.value(va, vb)) << what << " at " << i;
    da[p] += vg * e.slope_a(va, vb);
    db[q] += vg * e.slope_b(va, vb);
  }
  expect_near(a.grad(), da, shape_a, what + ", gradient of a");
  expect_near(b.grad(), db, shape_b, what + ", gradient of b");
}

void check_all_pairs(const Shape& full) {
  for (const Shape& a : patterns(full)) {
    for (const Shape& b : patterns(full)) {
      for (const Elementwise& e : {kAdd, kMul}) {
        check_pair(e, a, b);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Broadcast, TheTableOfPatternsIsComplete) {
  EXPECT_EQ(patterns({2, 3, 4, 5}).size(), 1u + 2 + 4 + 8 + 16);
  EXPECT_EQ(position({2, 3}, 5, {3}), 2);
  EXPECT_EQ(position({2, 3}, 5, {2, 1}), 1);
  EXPECT_EQ(position({2, 3}, 5, {}), 0);
}

TEST(Broadcast, AllPatternsOfRank4) { check_all_pairs({2, 3, 4, 5}); }
TEST(Broadcast, AllPatternsAroundAVectorWidth) { check_all_pairs({2, 1, 3, 17}); }
TEST(Broadcast, AllPatternsWithEqualSizes) { check_all_pairs({3, 3, 3, 3}); }
TEST(Broadcast, AllPatternsWithNothingInside) { check_all_pairs({2, 0, 3, 2}); }

TEST(Broadcast, LargeRowsOnSeveralThreads) {
  check_pair(kMul, {65, 1, 130}, {1, 33, 130});
  check_pair(kMul, {40, 300}, {40, 1});
  check_pair(kMul, {1}, {40, 300});
  check_pair(kAdd, {300}, {40, 300});
}

Tensor filled(const Shape& shape, double value) {
  return full(shape, value, DType::f64).requires_grad_();
}
void expect_all(const Tensor& grad, const Shape& shape, double value) {
  expect_near(grad, std::vector<double>(shape.numel(), value), shape, "gradient");
}

TEST(Broadcast, GradientsComeBackInTheShapeOfTheOperand) {
  const Tensor a = filled({3, 4}, 2), r = filled({1, 4}, 1);
  (a + r).sum().backward();
  expect_all(a.grad(), {3, 4}, 1);
  expect_all(r.grad(), {1, 4}, 3);

  const Tensor s = filled({}, 2), b = filled({5, 4}, 1);
  (s * b).sum().backward();
  expect_all(s.grad(), {}, 20);
  expect_all(b.grad(), {5, 4}, 2);

  const Tensor u = test::leaf({1, 2}, {2, 1}), v = test::leaf({10, 20, 30}, {1, 3});
  (u * v).sum().backward();
  expect_all(u.grad(), {2, 1}, 60);
  expect_all(v.grad(), {1, 3}, 3);
}

TEST(Broadcast, SizeOneInTheMiddleOrAtTheEnd) {
  const Tensor h = filled({2, 1, 4, 64}, 1), m = filled({2, 1, 4, 1}, 2);
  (h * m).sum().backward();
  expect_all(m.grad(), {2, 1, 4, 1}, 64);
  expect_all(h.grad(), {2, 1, 4, 64}, 2);

  const Tensor a = filled({3, 4, 5}, 1), b = filled({3, 1, 5}, 1);
  (a + b).sum().backward();
  expect_all(a.grad(), {3, 4, 5}, 1);
  expect_all(b.grad(), {3, 1, 5}, 4);

  const Tensor column = filled({4, 1}, 1), row = filled({1, 4}, 2);
  (column / row).sum().backward();
  expect_all(column.grad(), {4, 1}, 4 * 0.5);
  expect_all(row.grad(), {1, 4}, 4 * -0.25);
}

/// The shapes of these fit a broadcast, but they are none: a rule that returns the gradient of the
/// output is wrong and must not be summed into shape.
TEST(Broadcast, IsNotSeenInOpsThatOnlyLookLikeIt) {
  const Tensor row = filled({1, 3}, 2);
  const Rule wrong = [](const Array& g) { return g; };
  const Array joined = concat({row, row}, 0).data();
  for (const Tensor& y : {Tensor(record("join", joined, {{row, wrong}, {row, wrong}})),
                          Tensor(record("unsqueeze", row.unsqueeze(0).data(), {{row, wrong}}))}) {
    EXPECT_THAT(test::message_of<GraphError>([&] { y.sum().backward(); }),
                AllOf(HasSubstr(y.op()), HasSubstr(y.shape().str()), HasSubstr("(1, 3)")));
  }
}

TEST(Broadcast, OfAMaskCounts) {
  const Tensor a = filled({3}, 2), b = filled({}, 1);
  const Tensor mask = tensor({1, 0, 1, 1, 1, 0}, {2, 3}, DType::b8);
  where(mask, a, b).sum().backward();
  expect_near(a.grad(), {2, 1, 1}, {3}, "gradient");
  expect_all(b.grad(), {}, 2);
}

TEST(Broadcast, RefusesSizesThatDoNotFit) {
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {4, 3}}, {{2, 3}, {2}}, {{0}, {2}}, {{2, 1, 3}, {3, 2, 2}}}) {
    const Tensor x = filled(a, 1), y = filled(b, 1);
    EXPECT_THAT(test::message_of<ShapeError>([&] { add(x, y); }),
                AllOf(HasSubstr("add"), HasSubstr(a.str()), HasSubstr(b.str())));
  }
}

}  // namespace
}  // namespace autograd
