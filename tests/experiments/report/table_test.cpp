#include "experiments/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/report/report.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Table, AlignsNumbersRightAndWordsLeft) {
  Report report;
  report.columns = {{"name", "name"}, {"n", "n"}, {"x", "x"}, {"hidden", ""}, {"ok", "ok"}};
  report.rows = {{"a", std::int64_t{4}, 0.25, "never seen", true},
                 {"longer", std::int64_t{1024}, 1e-9, "never seen", false}};
  report.notes = {"One note."};
  EXPECT_EQ(to_table(report),
            "name       n         x   ok\n"
            "------  ----  --------  ---\n"
            "a          4     0.250  yes\n"
            "longer  1024  1.00e-09   NO\n"
            "\n"
            "One note.\n");
}

TEST(Table, ShowsChecksByKind) {
  Report report;
  report.checks = {{"Var(q.k) = d", CheckKind::identity, 63.5, 64, 1.25, true},
                   {"tr J", CheckKind::bound, 0.5, 0.25, 0.01, false},
                   {"limit", CheckKind::asymptote, 0.177, 0.221, 0, false}};
  EXPECT_EQ(to_table(report, {.wide = true}),
            "ok    identity   Var(q.k) = d   63.50 vs 64.00  (tolerance 1.2)\n"
            "FAIL  bound      tr J          0.5000 vs 0.2500 (tolerance 0.010)\n"
            "--    asymptote  limit         0.1770 -> 0.2210 (distance 0.044)\n");
  const std::string painted = to_table(report, {.color = true, .wide = true});
  EXPECT_THAT(painted, HasSubstr("\x1b[1;31mFAIL\x1b[0m"));
  EXPECT_THAT(painted, HasSubstr("\x1b[32mok  \x1b[0m"));
}

TEST(Table, ShowsOnlyFailedChecksUnlessItIsWide) {
  Report report;
  report.columns = {{"a", "a"}, {"b", "b", 3, /*wide=*/true}};
  report.rows = {{std::int64_t{1}, std::int64_t{2}}};
  report.opening = {"First."};
  report.details = {"More."};
  report.notes = {"Last."};
  report.checks = {{"x", CheckKind::identity, 1, 1, 0, true},
                   {"limit", CheckKind::asymptote, 1, 2, 0, false}};
  EXPECT_EQ(to_table(report),
            "First.\n\na\n-\n1\n\nThe check against theory holds; --wide shows it.\n\nLast.\n");
  EXPECT_EQ(to_table(report, {.wide = true}),
            "First.\n\na  b\n-  -\n1  2\n\n"
            "ok  identity   x      1.000 vs 1.000 (tolerance 0)\n"
            "--  asymptote  limit  1.000 -> 2.000 (distance 1.0)\n\nMore.\n\nLast.\n");
  report.checks.push_back({"y", CheckKind::bound, 2, 1, 0, false});
  EXPECT_THAT(to_table(report), HasSubstr("FAIL  bound  y"));
  EXPECT_THAT(to_table(report), HasSubstr("1 of 2 checks failed; --wide lists all."));
}

/// 40 columns do not fit: they come in parts that all begin with what names the row.
TEST(Table, StaysWithin100ColumnsBySplitting) {
  Report report;
  report.columns = {{"scale", "scale"}, {"d", "d"}};
  report.rows = {{"sqrt_dk", std::int64_t{64}}};
  for (int i = 0; i < 40; ++i) {
    report.columns.push_back({"c" + std::to_string(i), "column " + std::to_string(i)});
    report.rows[0].push_back(i + 0.5);
  }
  report.checks = {
      {std::string(80, 'n') + " " + std::string(80, 'm'), CheckKind::bound, 1, 2, 3, true}};
  report.notes = {std::string(99, 'a') + " " + std::string(50, 'b')};
  const std::string text = to_table(report, {.wide = true});
  int parts = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const bool has_long_word = line.find("nnn") != line.npos;
    EXPECT_TRUE(display_width(line) <= 100 || has_long_word) << line;
    parts += line.starts_with("scale     d  ");
  }
  EXPECT_GE(parts, 4);
  for (int i = 0; i < 40; ++i) EXPECT_THAT(text, HasSubstr("column " + std::to_string(i)));
}

TEST(Table, AFullLineOfACheckHas100Columns) {
  Report report;
  report.checks = {{"the bound", CheckKind::bound, 1, 2, 0.012345, true}};
  std::string name;
  for (int i = 0; i < 40; ++i) name += "l ";
  report.checks.push_back({name, CheckKind::asymptote, 4.935e-4, 5.12e-4, 0, true});
  const std::string text = to_table(report, {.wide = true});
  std::size_t widest = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    widest = std::max(widest, display_width(text.substr(begin, end - begin)));
  EXPECT_EQ(widest, 100u) << text;
}

TEST(Table, TextFromOutsideCannotDrawOnTheTerminal) {
  Report report;
  report.columns = {{"name", "name"}};
  report.rows = {{"\x1b[2J\n"}};
  report.notes = {"\x1b[2J"};
  report.checks = {{"\x1b[2J", CheckKind::bound, 1, 2, 3, true}};
  EXPECT_THAT(to_table(report), Not(HasSubstr("\x1b")));
}

TEST(Table, ANoteKeepsItsIndentation) {
  Report report;
  report.notes = {"  " + std::string(60, 'a') + " " + std::string(60, 'b'), "", " x  y"};
  EXPECT_EQ(to_table(report),
            "  " + std::string(60, 'a') + "\n  " + std::string(60, 'b') + "\n\n x  y\n");
}

TEST(Table, OfNothingIsEmpty) {
  EXPECT_EQ(to_table({}), "");
  Report report;
  report.columns = {{"x", "x"}};
  EXPECT_EQ(to_table(report), "x\n-\n");
}

}  // namespace
}  // namespace experiments::report
