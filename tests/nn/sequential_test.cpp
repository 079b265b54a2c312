#include "nn/sequential.h"

#include "nn/linear.h"
#include "nn/softmax.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;

TEST(ModuleList, HoldsItsChildrenInOrder) {
  ModuleList<Linear> list;
  EXPECT_EQ(list.size(), 0);
  Linear& first = list.append(2, 3);
  Linear& second = list.append(3, 4);
  EXPECT_EQ(list.size(), 2);
  EXPECT_EQ(&list[0], &first);
  EXPECT_EQ(&list[1], &second);
  std::vector<Index> widths;
  for (Linear& linear : list) widths.push_back(linear.weight().size(0));
  EXPECT_THAT(widths, testing::ElementsAre(3, 4));
  EXPECT_EQ(list.named_parameters()[2].name, "1.weight");
  EXPECT_THAT([&] { list[2]; },
              testing::ThrowsMessage<ValueError>(testing::HasSubstr("2 is not in [0, 2)")));
  EXPECT_THROW(list[-1], ValueError);
}

TEST(Sequential, CallsOneAfterTheOther) {
  Sequential net;
  const Tensor x = autograd::randn({5, 2});
  EXPECT_TRUE(same_bits(net(x), x));
  Linear& a = net.append<Linear>(2, 3);
  Softmax& s = net.append<Softmax>(-1);
  Linear& b = net.append<Linear>(3, 4);
  const Tensor y = net(x);
  EXPECT_EQ(y.shape(), (Shape{5, 4}));
  EXPECT_TRUE(same_bits(y, b(s(a(x)))));
  EXPECT_EQ(net.parameter_count(), 2 * 3 + 3 + 3 * 4 + 4);
}

TEST(Sequential, WrongShapeNamesTheChild) {
  Sequential net;
  net.append<Linear>(2, 3);
  net.append<Linear>(4, 5);
  EXPECT_THAT(
      [&] {
        net(autograd::ones({1, 2}));
      },
      testing::ThrowsMessage<autograd::ShapeError>(
          testing::AllOf(testing::HasSubstr("(1, 3)"), testing::HasSubstr("[in Sequential.1]"))));
}

}  // namespace
}  // namespace nn
