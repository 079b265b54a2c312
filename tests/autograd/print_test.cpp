#include <locale>
#include <sstream>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;

TEST(Print, ShowsValuesShapeDtypeAndOp) {
  EXPECT_EQ(to_string(f64({1, 2.5, -3})), "tensor([  1, 2.5,  -3], shape=(3,), dtype=f64)");
  EXPECT_EQ(to_string(f64({1, 2, 3, 4}, {2, 2}) * 2.0),
            "tensor([[2, 4],\n        [6, 8]], shape=(2, 2), dtype=f64, op=scale)");
  EXPECT_EQ(to_string(leaf({1})), "tensor([1], shape=(1,), dtype=f64, requires_grad)");
  EXPECT_EQ(to_string(full({}, 3.0)), "tensor(3, shape=(), dtype=f32)");
  EXPECT_EQ(to_string(zeros({0, 2})), "tensor([], shape=(0, 2), dtype=f32)");
  EXPECT_EQ(to_string(arange(3)), "tensor([0, 1, 2], shape=(3,), dtype=i64)");
  EXPECT_EQ(to_string(gt(f64({1, -1}), f64({0}))),
            "tensor([ true, false], shape=(2,), dtype=b8, op=gt)");
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
  const Tensor big = full({1}, 9007199254740993.0, DType::f64).to(DType::i64);
  EXPECT_NE(to_string(big).find("900719925474099"), std::string::npos);
}

TEST(Print, ElidesLongTensors) {
  const std::string text = to_string(arange(100000));
  EXPECT_EQ(text,
            "tensor([    0,     1,     2, ..., 99997, 99998, 99999], shape=(100000,), dtype=i64)");
}

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Print, DoesNotFollowTheLocale) {
  const std::string expected = to_string(f64({0.5, 4096}));
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  std::ostringstream out;
  out << f64({0.5, 4096});
  std::locale::global(before);
  EXPECT_EQ(out.str(), expected);
}

TEST(Dot, DrawsNodesEdgesAndScopes) {
  const Tensor x = leaf({1, 2});
  Tensor y;
  {
    const Scope scope("attn");
    y = softmax(x * 2.0, 0);
  }
  const std::string text = dot(y);
  for (const char* part :
       {"digraph", "softmax\\n(2,) f64\\nattn", "scale", "leaf", "->", "ellipse"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(dot(f64({1})).find("->"), std::string::npos);
}

TEST(Dot, ShowsNamesValuesAndGradients) {
  const Tensor w = leaf({0.5, -1}), b = leaf({3}, {}), large = leaf({1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor h = sum(w * w);
  h.retain_grad();
  const Tensor y = h * b + sum(large);
  y.backward(Retain::yes);
  const std::string text = dot(y, {{"w", w}, {"b \"bias\"", b}, {"h", h}, {"large", large}});
  for (const char* part :
       {"\"w = [0.5, -1]\\nleaf\\n(2,) f64\\ngrad = [3, -6]\", shape=ellipse",
        "b \\\"bias\\\" = 3\\nleaf\\n() f64\\ngrad = 1.25\"",
        "h = 1.25\\nsum\\n() f64\\ngrad = 3\"", "\"large\\nleaf\\n(9,) f64\\ngrad\""}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_NE(dot(y).find("\"leaf\\n() f64\\ngrad = 1.25\""), std::string::npos) << "without names";
  EXPECT_EQ(text.find("ran backward"), std::string::npos);
}

TEST(Dot, SaysThatAGraphRanBackward) {
  const Tensor x = leaf({1, 2});
  const Tensor y = sum(x * x);
  y.backward();
  EXPECT_NE(dot(y).find("ran backward"), std::string::npos) << dot(y);
}

}  // namespace
