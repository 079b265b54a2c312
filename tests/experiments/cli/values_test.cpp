#include "experiments/cli/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "experiments/cli/errors.h"

namespace experiments::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string refusal(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Values, IntegersAreTakenWholeAndInRange) {
  EXPECT_EQ(parse_integer("--n", "0", 0, 10), 0);
  EXPECT_EQ(parse_integer("--n", "-7", -10, 10), -7);
  EXPECT_EQ(parse_integer("--n", "9223372036854775807", 0, std::numeric_limits<Index>::max()),
            std::numeric_limits<Index>::max());
  for (const char* text : {"",
                           " ",
                           "-1",
                           "11",
                           "5x",
                           "x5",
                           "+5",
                           " 5",
                           "5 ",
                           "5.0",
                           "1e1",
                           "0x5",
                           "010",
                           "00",
                           "-",
                           "--",
                           "nan",
                           "inf",
                           "9223372036854775808",
                           "18446744073709551616",
                           "99999999999999999999",
                           "5\n"})
    EXPECT_NE(refusal([=] { parse_integer("--n", text, 0, 10); }), "accepted") << text;
}

TEST(Values, AMessageNamesOptionRuleAndValue) {
  EXPECT_EQ(refusal([] { parse_integer("--rows", "5x", 1, 1000000000); }),
            "--rows: expected a whole number in [1, 1000000000], got '5x'");
  EXPECT_EQ(refusal([] { parse_integer("--rows", "010", 1, 1000); }),
            "--rows: expected a whole number in [1, 1000] without a leading zero, got '010'");
  EXPECT_EQ(refusal([] { parse_number("--lr", "nan", 0, 1); }),
            "--lr: expected a number in [0, 1], got 'nan'");
  EXPECT_EQ(refusal([] { parse_number("--lr", "", -kInf, kInf); }),
            "--lr: expected a finite number, got ''");
  EXPECT_EQ(refusal([] { parse_text("--out", ""); }), "--out: expected a value, got ''");
}

TEST(Values, SeedsHaveAll64Bits) {
  EXPECT_EQ(parse_unsigned("--seed", "18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(parse_unsigned("--seed", "0"), 0u);
  for (const char* text : {"-1", "-0", "18446744073709551616", "99999999999999999999", "1.0", ""})
    EXPECT_EQ(refusal([=] { parse_unsigned("--seed", text); }),
              std::string("--seed: expected a whole number in [0, 18446744073709551615], got '") +
                  text + "'");
}

TEST(Values, NumbersAreFinite) {
  EXPECT_EQ(parse_number("--x", "0.1", 0, 1), 0.1);
  EXPECT_EQ(parse_number("--x", "1e-8", 0, 1), 1e-8);
  EXPECT_EQ(parse_number("--x", "-2.5", -kInf, kInf), -2.5);
  EXPECT_EQ(parse_number("--x", "1.7976931348623157e308", 0, kInf),
            std::numeric_limits<double>::max());
  for (const char* text : {"nan", "-nan", "NAN", "inf", "-inf", "infinity", "1e400", "-1e400", "",
                           "0,5", "01.5", "1e", "0x1p3", "1 ", "five"})
    EXPECT_NE(refusal([=] { parse_number("--x", text, -kInf, kInf); }), "accepted") << text;
  EXPECT_NE(refusal([] { parse_number("--x", "1.0000001", 0, 1); }), "accepted");
}

TEST(Values, SizesAreListsAndRanges) {
  EXPECT_THAT(parse_sizes("--d", "4,8,64", 1, 100), ElementsAre(4, 8, 64));
  EXPECT_THAT(parse_sizes("--d", "4:64:x2", 1, 100), ElementsAre(4, 8, 16, 32, 64));
  EXPECT_THAT(parse_sizes("--d", "4:63:x2", 1, 100), ElementsAre(4, 8, 16, 32));
  EXPECT_THAT(parse_sizes("--d", "4:13:+4,64", 1, 100), ElementsAre(4, 8, 12, 64));
  EXPECT_THAT(parse_sizes("--d", "7:7:x2", 1, 100), ElementsAre(7));
  constexpr Index kMax = std::numeric_limits<Index>::max();
  EXPECT_EQ(parse_sizes("--d", "1:9223372036854775807:x2", 1, kMax).size(), 63u);
  for (const char* text :
       {"",        ",",         "4,",       ",4",        "4,,8",   "0",      "101",
        "4:",      "4:8",       "4:8:",     "4:8:2",     "4:8:x1", "4:8:x0", "4:8:+0",
        "4:8:+-1", "8:4:x2",    "4:200:x2", "4:8:x2:x2", "4:8:*2", "4 8",    "4;8",
        "4,8,4",   "4:16:x2,8", "04",       "a",         "nan",    "-4",     "1:100:+1,200"})
    EXPECT_NE(refusal([=] { parse_sizes("--d", text, 1, 100); }), "accepted") << text;
  EXPECT_THAT(refusal([] { parse_sizes("--d", "1:65536:+1", 1, 65536); }),
              HasSubstr("at most 1000 sizes"));
}

TEST(Values, ScalesAreNamesOrNumbers) {
  EXPECT_EQ(parse_scale("--scale", "none"), nn::Scale::none());
  EXPECT_EQ(parse_scale("--scale", "sqrt"), nn::Scale::sqrt_dk());
  EXPECT_EQ(parse_scale("--scale", "-2.5e-3"), nn::Scale::number(-2.5e-3));
  EXPECT_THAT(parse_scales("--scale", "dk,0.5"),
              ElementsAre(nn::Scale::dk(), nn::Scale::number(0.5)));
  for (const char* text : {"", "half", "nan", "inf", "1e400", "1e-400", "010", "00", "+5", "0x1p3"})
    EXPECT_NE(refusal([=] { parse_scale("--scale", text); }), "accepted") << text;
  EXPECT_EQ(refusal([] { parse_scale("--scale", "half"); }),
            "--scale: expected none, sqrt_dk, dk or a finite number, got 'half'");
  EXPECT_NE(refusal([] { parse_scales("--scale", "sqrt,sqrt_dk"); }), "accepted");
  EXPECT_NE(refusal([] { parse_scales("--scale", "dk,"); }), "accepted");
}

TEST(Values, HeadsDivideChannels) {
  EXPECT_EQ(refusal([] { require_divides(4, 64); }), "accepted");
  EXPECT_EQ(refusal([] { require_divides(5, 64); }), "--n-head 5 does not divide --n-embd 64");
}

TEST(Values, ChoicesAreNamedOrSuggested) {
  const std::vector<std::string> few = {"table", "csv", "json"};
  EXPECT_EQ(parse_choice("--format", "csv", few), "csv");
  EXPECT_EQ(refusal([&] { parse_choice("--format", "xml", few); }),
            "--format: expected one of table, csv, json, got 'xml'");
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("softmax" + std::to_string(i));
  EXPECT_EQ(refusal([&] { parse_choice("--op", "sotfmax12", many); }),
            "--op: unknown name 'sotfmax12'; did you mean 'softmax12'?");
  EXPECT_THAT(parse_choices("--f", "csv,table", few), ElementsAre("csv", "table"));
  for (const char* text : {"", "csv,", "csv,csv", "csv,xml", "CSV"})
    EXPECT_NE(refusal([&, text] { parse_choices("--f", text, few); }), "accepted") << text;
}

}  // namespace
}  // namespace experiments::cli
