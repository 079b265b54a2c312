#include "experiments/cli/memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/cli/options.h"

namespace experiments::cli {
namespace {

TEST(Memory, FourFifthsMayBeUsed) {
  EXPECT_NO_THROW(require_memory(0, 1000));
  EXPECT_NO_THROW(require_memory(800, 1000));
  EXPECT_THROW(require_memory(801, 1000), UsageError);
  EXPECT_THROW(require_memory(std::numeric_limits<double>::infinity(), 1e300), UsageError);
  EXPECT_THROW(require_memory(std::nan(""), 1000), UsageError);
  EXPECT_NO_THROW(require_memory(1e300, std::numeric_limits<double>::infinity()));
}

TEST(Memory, TheMessageHasBothNumbers) {
  try {
    require_memory(4398046511104, 2e10);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "these sizes need 4398046511104 bytes (4.4 TB), more than 80 % of the 20 GB of "
                 "memory available here");
  }
}

TEST(Memory, ThisMachineHasSome) {
  EXPECT_GT(memory_limit(), 1e6);
  EXPECT_LT(memory_limit(), 1e18);
}

}  // namespace
}  // namespace experiments::cli
