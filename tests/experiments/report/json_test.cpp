#include "experiments/report/json.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "experiments/cli/program.h"
#include "experiments/report/report.h"
#include "tests/experiments/run.h"
#include "tests/experiments/training/samples.h"

namespace experiments::report {
namespace {

using nlohmann::json;

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Json, IsOneObjectThatReadsBackBitForBit) {
  const Report report = test::sample_report();
  const json parsed = json::parse(to_json(report, test::sample_context()));
  ASSERT_EQ(parsed.size(), 3u);
  const json& rows = parsed.at("rows");
  ASSERT_EQ(rows.size(), report.rows.size());
  for (std::size_t i = 0; i < test::kNumbers.size(); ++i) {
    EXPECT_EQ(rows[i].size(), 4u);
    EXPECT_EQ(rows[i].at("name"), "a \"name\"");
    EXPECT_EQ(rows[i].at("size"), 1048576);
    EXPECT_EQ(rows[i].at("good"), test::kNumbers[i] > 1);
    const json& x = rows[i].at("x");
    // An integer would lose the sign of -0.0, and its type.
    ASSERT_TRUE(x.is_number_float()) << x;
    EXPECT_TRUE(same_bits(x.get<double>(), test::kNumbers[i])) << x;
  }
}

TEST(Json, NonFiniteNumbersAreNull) {
  const json parsed = json::parse(to_json(test::sample_report(), test::sample_context()));
  for (std::size_t i = 0; i < 4; ++i) {
    const json& row = parsed.at("rows")[test::kNumbers.size() + i];
    EXPECT_TRUE(row.at("x").is_null());
    EXPECT_EQ(row.at("name"), "not\tfinite\n\x01\xEF\xBF\xBD\\");
  }
  const json& far = parsed.at("checks")[1];
  EXPECT_EQ(far.at("measured"), 1234567.5);
  EXPECT_TRUE(far.at("predicted").is_null());
  EXPECT_TRUE(far.at("tolerance").is_null());
}

TEST(Json, ContextAndChecksSayWhatWasRun) {
  const json parsed = json::parse(to_json(test::sample_report(), test::sample_context()));
  const json context = {{"version", "1.2.3"},
                        {"command", "gradlab scaling --out 'a b'"},
                        {"experiment", "scaling"},
                        {"seed", 18446744073709551615u},
                        {"threads", 4},
                        {"dtype", "f32"},
                        {"quick", true}};
  EXPECT_EQ(parsed.at("context"), context);
  const json check = {{"name", "Var(q.k) = d"}, {"kind", "identity"}, {"measured", 63.5},
                      {"predicted", 64.0},      {"tolerance", 1.25},  {"ok", true}};
  EXPECT_EQ(parsed.at("checks")[0], check);
}

TEST(Json, AnEmptyReportIsValid) {
  const json parsed = json::parse(to_json({}, {}));
  EXPECT_TRUE(parsed.at("rows").empty() && parsed.at("rows").is_array());
  EXPECT_TRUE(parsed.at("checks").empty() && parsed.at("checks").is_array());
}

TEST(Json, OfTheProgramNamesItsCommand) {
  const test::Outcome outcome = test::execute(
      {"info", "--format", "json", "--seed=18446744073709551615", "--threads", "3", "--out", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json context = json::parse(outcome.out).at("context");
  EXPECT_EQ(context.at("command"),
            "gradlab info --format json --seed=18446744073709551615 --threads 3 --out -");
  EXPECT_EQ(context.at("seed"), 18446744073709551615u);
  EXPECT_EQ(context.at("threads"), 3);
  EXPECT_EQ(context.at("version"), cli::version());
}

/// Keys of the csv header and of every JSON row are the same, in lower snake case.
TEST(Json, HasTheKeysOfTheCsv) {
  for (const test::Words& words :
       {test::Words{"scaling", "--quick", "--rows", "160", "--dk", "4,8"},
        {"gradcheck", "--list"},
        {"gradcheck", "--op", "add"},
        {"info"}}) {
    test::Words csv = words, js = words;
    csv.insert(csv.end(), {"--format", "csv"});
    js.insert(js.end(), {"--format", "json"});
    const std::string text = test::in_process(csv).out;
    std::string header = text.substr(0, text.find('\n')) + ',';
    EXPECT_EQ(header.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_,"), header.npos)
        << header;
    const json parsed = nlohmann::json::parse(test::in_process(js).out);
    ASSERT_FALSE(parsed.at("rows").empty()) << words[0];
    std::size_t columns = 0;
    for (std::size_t begin = 0, end; (end = header.find(',', begin)) != header.npos;
         begin = end + 1) {
      ++columns;
      for (const json& row : parsed.at("rows"))
        EXPECT_TRUE(row.contains(header.substr(begin, end - begin))) << header;
    }
    for (const json& row : parsed.at("rows")) EXPECT_EQ(row.size(), columns);
  }
}

}  // namespace
}  // namespace experiments::report
