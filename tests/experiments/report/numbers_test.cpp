#include "experiments/report/numbers.h"

#include <gtest/gtest.h>

namespace experiments::report {
namespace {

TEST(Numbers, AreGroupedByThrees) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(2'359'296), "2,359,296");
}

TEST(Numbers, SharesAreInPercent) {
  EXPECT_EQ(percent(.2275), "22.8 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0), "0 %");
}

}  // namespace
}  // namespace experiments::report
