#include "nn/embedding.h"

#include "tests/nn/check.h"

namespace nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Embedding, LooksUpRows) {
  Embedding table(5, 3);
  EXPECT_EQ(table.parameter_count(), 15);
  const Tensor y = table(autograd::tensor({4, 0}, DType::i64));
  EXPECT_TRUE(same_bits(y.select(0, 0), table.weight().detach().select(0, 4)));
  EXPECT_THAT([&] { table(autograd::tensor({5}, DType::i64)); },
              ThrowsMessage<autograd::ValueError>(HasSubstr("[0, 5), got 5")));
  EXPECT_THAT([] { Embedding(0, 3); }, ThrowsMessage<autograd::ValueError>(HasSubstr("0 of 3")));
}

TEST(Embedding, StartsAsPyTorchsUnlessTold) {
  Generator one(1), two(1);
  const Embedding table(50, 40, {.dtype = DType::f64}, one);
  EXPECT_TRUE(same_bits(table.weight().detach(), autograd::randn({50, 40}, DType::f64, two)));
  const Embedding gpt2(50, 40, {.init = Init::gpt2});
  EXPECT_LT(gpt2.weight().detach().abs().max().item(), 0.2);
}

}  // namespace
}  // namespace nn
