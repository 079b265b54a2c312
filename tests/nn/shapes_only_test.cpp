#include "nn/gpt.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

TEST(ShapesOnly, TellsNamesAndShapesOfAnySize) {
  const GPTOptions small{.block_size = 5, .vocab_size = 7, .n_layer = 2, .n_head = 2, .n_embd = 6};
  const GPT real(small);
  const ShapesOnly shapes_only;
  const GPT hollow(small);
  const std::vector<NamedShape> shapes = hollow.named_shapes();
  ASSERT_EQ(shapes.size(), real.named_parameters().size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(shapes[i].name, real.named_parameters()[i].name);
    EXPECT_EQ(shapes[i].shape, real.named_parameters()[i].tensor.shape());
  }
  EXPECT_EQ(to_string(hollow), to_string(real));
  EXPECT_FALSE(hollow.parameters()[0].defined());
  const GPT vast({.vocab_size = 1'000'000'000, .n_layer = 100, .n_head = 1, .n_embd = 100'000});
  EXPECT_GT(vast.parameter_count(), 100'000'000'000'000);
}

}  // namespace
}  // namespace nn
