#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiments/run.h"

namespace experiments::tools {
namespace {

using test::in_process;
using test::Outcome;
using testing::HasSubstr;
using testing::Not;

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(GradcheckCommand, HasARowForEveryOpAndLayer) {
  const Outcome names = in_process({"gradcheck", "--list", "--format", "csv"});
  ASSERT_EQ(names.code, 0) << names.err;
  EXPECT_THAT(names.out, HasSubstr("\nsoftmax,op\n"));
  EXPECT_THAT(names.out, HasSubstr("\nlinear,module\n"));
  EXPECT_THAT(names.out, HasSubstr("\nmulti_head_attention,module\n"));
  const Outcome all =
      in_process({"gradcheck", "--trials", "1", "--threads", "1", "--format", "csv"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(lines(all.out), lines(names.out));
  EXPECT_THAT(
      all.out,
      HasSubstr(
          "name,kind,trials,checked,kinks,undecided,abs_error,rel_error,excess,second_order,ok\n"));
  EXPECT_THAT(all.out, Not(HasSubstr("false")));
}

TEST(GradcheckCommand, ChoosesOpsAndLayers) {
  const auto out = [](test::Words words) {
    words.insert(words.begin(), "gradcheck");
    words.insert(words.end(), {"--list", "--format", "csv"});
    return in_process(words).out;
  };
  EXPECT_EQ(out({"--op", "log"}), "name,kind\nlog,op\n");
  EXPECT_EQ(out({"--op", "gelu"}), "name,kind\ngelu_erf,op\ngelu_tanh,op\n");
  EXPECT_EQ(out({"--module", "linear"}), "name,kind\nlinear,module\n");
  EXPECT_EQ(out({"--op", "exp", "--module", "dropout"}), "name,kind\nexp,op\ndropout,module\n");
  EXPECT_THAT(out({"--op", "all"}), Not(HasSubstr("module")));
  EXPECT_THAT(out({"--module", "all"}), Not(HasSubstr(",op")));
}

TEST(GradcheckCommand, SeedsChangeTheDraws) {
  const auto out = [](const char* seed) {
    return in_process({"gradcheck", "--op", "softmax", "--format", "csv", "--threads", "1",
                       "--seed", seed})
        .out;
  };
  EXPECT_EQ(out("1"), out("1"));
  EXPECT_NE(out("1"), out("2"));
}

}  // namespace
}  // namespace experiments::tools
