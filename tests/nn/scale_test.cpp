#include "nn/scale.h"

#include <cmath>
#include <locale>

#include "tests/nn/check.h"

namespace nn {
namespace {

using autograd::ValueError;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Scale, FactorsOfTheFourForms) {
  EXPECT_EQ(Scale::none().factor(64), 1.0);
  EXPECT_EQ(Scale::sqrt_dk().factor(64), 0.125);
  EXPECT_EQ(Scale::dk().factor(64), 0.015625);
  EXPECT_EQ(Scale::number(0.3).factor(64), 0.3);
  EXPECT_EQ(Scale::number(-2).factor(64), -2.0);
  EXPECT_THROW(Scale::sqrt_dk().factor(0), ValueError);
}

TEST(Scale, ParsesWhatItPrints) {
  for (const char* text : {"none", "sqrt_dk", "dk", "0.125", "1", "-3.5", "1e-08"}) {
    EXPECT_EQ(Scale::parse(text).name(), text);
  }
  EXPECT_EQ(Scale::parse("sqrt").name(), "sqrt_dk");
  EXPECT_EQ(Scale::parse("2.50").name(), "2.5");
  EXPECT_EQ(Scale::parse("-0e400"), Scale::number(-0.0));
  EXPECT_EQ(Scale::parse("1E3"), Scale::number(1000));
  const double third = 1.0 / 3.0;
  EXPECT_EQ(Scale::parse(Scale::number(third).name()).factor(1), third);
}

TEST(Scale, RefusesOtherTextWithItAndTheAllowedForms) {
  for (const char* text : {"",    " ",   "root", "1 ",    " 1",     "1x",        "1,5",     "0x10",
                           "nan", "inf", "-inf", "1e400", "1e-400", "-0.1e-999", "010",     "00",
                           "-01", "+5",  "1e",   "1e5.5", "--1",    "1.2.3",     "SQRT_DK", "."}) {
    EXPECT_THAT([&] { Scale::parse(text); },
                ThrowsMessage<ValueError>(AllOf(HasSubstr("none, sqrt_dk, dk or a finite number"),
                                                HasSubstr(fmt::format("'{}'", text)))))
        << "'" << text << "'";
  }
  EXPECT_THROW(Scale::number(std::nan("")), ValueError);
  EXPECT_THROW(Scale::number(HUGE_VAL), ValueError);
}

class CommaPoint : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(Scale, DoesNotFollowTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaPoint));
  const Scale scale = Scale::parse("0.5");
  const std::string name = scale.name();
  std::locale::global(before);
  EXPECT_EQ(scale, Scale::number(0.5));
  EXPECT_EQ(name, "0.5");
}

}  // namespace
}  // namespace nn
