#include "nn/gradcheck/module_cases.h"

#include <set>

#include "autograd/gradcheck/second_order.h"
#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::GradcheckCase;

class ModuleCases : public testing::TestWithParam<GradcheckCase> {};

TEST_P(ModuleCases, PassesTheBattery) {
  for (int trial = 0; trial < 16; ++trial) {
    EXPECT_THAT(autograd::battery(GetParam(), /*seed=*/1, trial), testing::IsEmpty());
  }
}

TEST_P(ModuleCases, HasItsSecondDerivatives) {
  const auto report = autograd::check_second_order(GetParam(), /*seed=*/1, /*trials=*/16);
  EXPECT_TRUE(report.ok) << report.message;
}

INSTANTIATE_TEST_SUITE_P(Table, ModuleCases,
                         testing::ValuesIn(module_cases().begin(), module_cases().end()),
                         [](const auto& test) { return test.param.name; });

TEST(ModuleCasesTable, NamesAreUnique) {
  std::set<std::string> names;
  for (const GradcheckCase& c : module_cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

}  // namespace
}  // namespace nn
