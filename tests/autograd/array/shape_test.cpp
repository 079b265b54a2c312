#include "autograd/array/shape.h"

#include "tests/support/tensors.h"

namespace {

using namespace autograd;
using test::message_of;

TEST(Shape, CountsElementsInSixtyFourBits) {
  EXPECT_EQ(Shape({65536, 65536}).numel(), Index{4294967296});
  EXPECT_EQ(Shape({4740, 840, 840}).numel(), Index{3344544000});
  EXPECT_EQ(Shape({500000000, 5}).numel(), Index{2500000000});
  EXPECT_EQ(Shape({}).numel(), 1);
  EXPECT_EQ(Shape({3, 0, 7}).numel(), 0);
}

TEST(Shape, RefusesWhatDoesNotFit) {
  const Index big = Index{1} << 32;
  EXPECT_NE(message_of<ShapeError>([&] {
              (void)Shape({big, big});
            }).find("(4294967296, 4294967296)"),
            std::string::npos);
  EXPECT_NE(message_of<ShapeError>([&] {
              (void)Shape({-1, 3});
            }).find("(-1, 3)"),
            std::string::npos);
  EXPECT_THROW((void)Shape({0, big, big}), ShapeError);  // its strides would overflow
  EXPECT_THROW((void)Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  EXPECT_THROW((void)zeros({Index{1} << 61}), ShapeError);  // elements fit, bytes do not
}

TEST(Shape, PrintsLikeATuple) {
  EXPECT_EQ(Shape({}).str(), "()");
  EXPECT_EQ(Shape({3}).str(), "(3,)");
  EXPECT_EQ(Shape({2, 8, 768}).str(), "(2, 8, 768)");
}

TEST(Shape, TakesNegativeDims) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.axis(-1, "test"), 2);
  EXPECT_EQ(shape.axis(0, "test"), 0);
  const std::string text = message_of<ShapeError>([&] { (void)shape.axis(3, "softmax"); });
  EXPECT_NE(text.find("softmax"), std::string::npos);
  EXPECT_NE(text.find("(2, 3, 4)"), std::string::npos);
  EXPECT_NE(text.find("got 3"), std::string::npos);
}

TEST(Shape, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(broadcast(Shape({3, 1}), Shape({4}), "add"), Shape({3, 4}));
  EXPECT_EQ(broadcast(Shape({0, 1}), Shape({1, 5}), "add"), Shape({0, 5}));
  EXPECT_EQ(broadcast(Shape({}), Shape({2, 2}), "add"), Shape({2, 2}));
  const std::string text = message_of<ShapeError>([] {
    (void)broadcast(Shape({2, 3}), Shape({4}), "add");
  });
  EXPECT_NE(text.find("(2, 3) and (4,)"), std::string::npos);
  EXPECT_TRUE(broadcasts_to(Shape({1, 3}), Shape({5, 2, 3})));
  EXPECT_FALSE(broadcasts_to(Shape({5, 2, 3}), Shape({1, 3})));
}

TEST(Shape, ErrorsQuoteTheScope) {
  const Scope outer("gpt"), inner("attn");
  const std::string text = message_of<ShapeError>([] { (void)Shape({1}).axis(5, "sum"); });
  EXPECT_NE(text.find("[in gpt.attn]"), std::string::npos);
}

}  // namespace
