#include "experiments/report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

#include "experiments/report/csv.h"
#include "experiments/report/json.h"
#include "experiments/report/numbers.h"
#include "experiments/report/table.h"
#include "tests/experiments/training/samples.h"

namespace experiments::report {
namespace {

using test::kNumbers;

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Numbers, ShortestReadsBackBitForBit) {
  for (const double value : kNumbers)
    EXPECT_TRUE(same_bits(std::strtod(shortest(value).c_str(), nullptr), value)) << value;
  EXPECT_EQ(shortest(0.004654), "0.004654");
  EXPECT_EQ(shortest(1e-8), "1e-08");
  EXPECT_EQ(shortest(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(shortest(16777217), "16777217.0");
  EXPECT_EQ(shortest(0.1f), "0.10000000149011612");
  EXPECT_EQ(shortest(1e300), "1e+300");
  EXPECT_EQ(shortest(-0.0), "-0.0");
  EXPECT_EQ(shortest(5e-324), "5e-324");
  EXPECT_EQ(shortest(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Numbers, SignificantDigitsForPeople) {
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(0.5, 3), "0.500");
  EXPECT_EQ(significant(9.996, 3), "10.0");
  EXPECT_EQ(significant(-1.5, 2), "-1.5");
  EXPECT_EQ(significant(1234.5678, 3), "1235");
  EXPECT_EQ(significant(1e-5, 3), "1.00e-05");
  EXPECT_EQ(significant(0.00012345, 3), "0.000123");
  EXPECT_EQ(significant(12345678, 3), "1.23e+07");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity(), 3), "inf");
  EXPECT_EQ(significant(0.5, 0), "0.5");
}

TEST(Csv, QuotesWhatHasToBeQuoted) {
  Report report;
  report.columns = {{"name", "name"}, {"a,b", ""}, {"x", "x"}};
  report.rows = {{"plain", std::int64_t{-3}, 0.1},
                 {"a,\"b\"\nc", true, std::numeric_limits<double>::quiet_NaN()}};
  report.notes = {"not here"};
  EXPECT_EQ(to_csv(report), "name,\"a,b\",x\nplain,-3,0.1\n\"a,\"\"b\"\"\nc\",true,nan\n");
}

TEST(Report, RowsOfTheWrongLengthAreABug) {
  Report report;
  report.columns = {{"a", "a"}, {"b", "b"}};
  report.rows = {{1.0}};
  EXPECT_THROW(to_csv(report), std::logic_error);
  EXPECT_THROW(to_json(report, {}), std::logic_error);
  EXPECT_THROW(to_table(report), std::logic_error);
}

TEST(Report, FailsByItsChecksAndNeverByAnAsymptote) {
  Report report;
  EXPECT_EQ(failure(report), "");
  report.checks = {{"far", CheckKind::asymptote, 1, 2, 0, false},
                   {"good", CheckKind::bound, 1, 2, 0, true}};
  EXPECT_EQ(failure(report), "");
  report.checks.push_back({"Var(q.k) = d", CheckKind::identity, 1, 2, 0, false});
  EXPECT_EQ(failure(report), "1 of 2 checks failed: Var(q.k) = d");
  report.failure = "because";
  EXPECT_EQ(failure(report), "because");
  report = {};
  report.failed = true;
  EXPECT_NE(failure(report), "");
}

/// A locale that writes 1.234.567,5: what std::locale("de_DE") does, where it is not installed.
struct Grouping : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "wahr"; }
  std::string do_falsename() const override { return "falsch"; }
};

TEST(Report, HasTheSameBytesInEveryLocale) {
  const Report report = test::sample_report();
  const Context context = test::sample_context();
  const auto all = [&] {
    return to_table(report, {.color = true, .wide = true}) + to_csv(report) +
           to_json(report, context) + significant(1234567.5, 9) + shortest(1234567.5);
  };
  const std::string plain = all();
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  std::ostringstream witness;
  witness << 4096.5;
  const std::string grouped = all();
  std::locale::global(before);
  EXPECT_EQ(witness.str(), "4.096,5");
  EXPECT_EQ(plain, grouped);
}

}  // namespace
}  // namespace experiments::report
