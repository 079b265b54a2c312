#include "nn/gradcheck/gradcheck.h"

#include <gmock/gmock.h>

#include "autograd/array/elementwise.h"
#include "nn/mlp.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::Verdict;
using testing::HasSubstr;

/// x w, but the gradient of w comes back doubled.
class Wrong : public Module {
 public:
  Wrong() : Module("Wrong"), w_(register_parameter("w", autograd::ones({3}, DType::f64))) {}

 private:
  Tensor forward(const Tensor& x) override {
    return x *
           record("doubled", w_.data(), {{w_, [](const autograd::Array& g) { return g * 2.0; }}});
  }
  Tensor w_;
};

class Outer : public Module {
 public:
  Outer() : Module("Outer"), inner_(register_module<Wrong>("inner")) {}

 private:
  Tensor forward(const Tensor& x) override { return inner_(x); }
  Wrong& inner_;
};

TEST(GradcheckOfAModule, ChecksParametersAndInput) {
  Generator generator(1);
  MLP mlp(4, {.dtype = DType::f64}, generator);
  const Tensor x = autograd::randn({2, 4}, DType::f64, generator).requires_grad_();
  const auto report = gradcheck(mlp, x);
  EXPECT_TRUE(report.ok) << report.message;
  EXPECT_GE(report.checked, mlp.parameter_count() + 8);
}

TEST(GradcheckOfAModule, NamesTheParameterThatIsWrong) {
  Outer outer;
  const auto report = gradcheck(outer, autograd::full({2, 3}, 0.5, DType::f64));
  EXPECT_EQ(report.verdict, Verdict::wrong);
  EXPECT_THAT(report.message, HasSubstr("gradient of inner.w wrong at index 0"));
}

TEST(GradcheckOfAModule, NamesTheParameterThatIsNotF64) {
  Linear linear(2, 2);
  EXPECT_THAT(
      [&] {
        gradcheck(linear, autograd::ones({1, 2}, DType::f32));
      },
      testing::ThrowsMessage<autograd::DTypeError>(HasSubstr("got weight in f32")));
}

}  // namespace
}  // namespace nn
