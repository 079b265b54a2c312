#include "autograd/graph/anomaly.h"

#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::f64;
using test::leaf;
using test::message_of;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(AnomalyGuard, NamesOpScopeShapesAndRangesForward) {
  const AnomalyGuard guard;
  const Scope scope("gpt");
  const std::string text = message_of<NumericError>([] {
    (void)log(f64({1, 0, 4}) + f64({0.5, 0, 0}));
  });
  for (const char* part : {"log", "forward", "an infinity", "(3,)", "[0, 4]", "[in gpt]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  const std::string made_nan = message_of<NumericError>([] { (void)sqrt(f64({-1, 4})); });
  EXPECT_NE(made_nan.find("made NaN"), std::string::npos) << made_nan;
}

TEST(AnomalyGuard, NamesThemBackward) {
  const AnomalyGuard guard;
  const Tensor x = leaf({0, 4});
  Tensor y;
  {
    const Scope scope("block");
    y = sqrt(x);
  }
  const std::string text = message_of<NumericError>([&] { sum(y).backward(); });
  for (const char* part : {"sqrt (made in block)", "backward", "an infinity", "[0, 4]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST(AnomalyGuard, ReportsTheFirstOpNotTheLoudest) {
  const AnomalyGuard guard;
  const Tensor x = leaf({800});
  const std::string text = message_of<NumericError>([&] { (void)log(exp(x) - exp(x)); });
  EXPECT_EQ(text.rfind("exp: ", 0), 0u) << text;
}

TEST(AnomalyGuard, LetsInfinitiesPassOn) {
  const AnomalyGuard guard;
  const Tensor x = f64({1, -kInf});
  EXPECT_EQ((x + x).at({1}), -kInf);
  EXPECT_EQ(softmax(x, 0).at({1}), 0);
  const Tensor mask = f64({0, 1}).to(DType::b8);
  const Tensor y = leaf({1, 2});
  const Tensor filled = masked_fill(y, mask, -kInf);  // a fill value is no anomaly
  EXPECT_EQ(filled.at({1}), -kInf);
  sum(softmax(filled, 0) * f64({1, 2})).backward();
  EXPECT_EQ(y.grad().at({1}), 0);
}

TEST(AnomalyGuard, ReportsNanMadeFromInfinities) {
  const AnomalyGuard guard;
  EXPECT_THROW((void)(f64({kInf}) - f64({kInf})), NumericError);
  const double nan = std::nan("");
  EXPECT_NO_THROW((void)(f64({nan}) + f64({1}))) << "NaN passed on is not made";
}

TEST(AnomalyGuard, WatchesOnlyWhileItLives) {
  {
    const AnomalyGuard outer;
    { const AnomalyGuard inner; }
    EXPECT_THROW((void)log(f64({0})), NumericError);
  }
  EXPECT_EQ(log(f64({0})).item(), -kInf);
}

// An infinity that is already in the sum for a table is not the work of the next look-up in it.
TEST(AnomalyGuard, JudgesAScatteredGradientByWhatWasAdded) {
  const AnomalyGuard guard;
  const Tensor table = leaf({1, 2}, {2, 1}), index = tensor({1}, DType::i64);
  const Tensor old = embedding(table, index);
  const Tensor large = table * f64({kInf, 1}, {2, 1});
  sum(concat({large, old}, 0)).backward();
  EXPECT_EQ(table.grad().at({0, 0}), kInf);
  EXPECT_EQ(table.grad().at({1, 0}), 2);
}

}  // namespace
