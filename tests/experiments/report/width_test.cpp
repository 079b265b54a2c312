#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/report/bar.h"
#include "experiments/report/text.h"

namespace experiments::report {
namespace {

using testing::ElementsAre;

TEST(Width, CountsColumnsOfATerminal) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("été █"), 5u);
  EXPECT_EQ(display_width("中文"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(display_width("\U0001f600"), 2u);
  EXPECT_EQ(display_width("a\u200bb"), 2u);
  EXPECT_EQ(display_width("\xff\xc3("), 3u);
}

TEST(Width, ClustersKeepMarksWithTheirCharacter) {
  EXPECT_THAT(clusters("ae\u0301中"), ElementsAre("a", "e\u0301", "中"));
  EXPECT_THAT(clusters("👩‍🚀🇩🇪🇫🇷"), ElementsAre("👩‍🚀", "🇩🇪", "🇫🇷"));
  EXPECT_THAT(clusters("\u0301a"), ElementsAre("\u0301", "a"));
  EXPECT_THAT(clusters(""), ElementsAre());
}

TEST(Width, FittedIsExactlyAsWide) {
  EXPECT_EQ(fitted("cat", 5), "cat  ");
  EXPECT_EQ(fitted("cat", 3), "cat");
  EXPECT_EQ(fitted("cats", 3), "ca~");
  EXPECT_EQ(fitted("中文中", 5, "…"), "中文…");
  EXPECT_EQ(fitted("中文中", 4, "…"), "中… ");
  EXPECT_EQ(fitted("cats", 0), "");
}

TEST(Bar, IsAsLongAsItsShare) {
  EXPECT_EQ(bar(0, 4, Glyphs::unicode), "");
  EXPECT_EQ(bar(1, 4, Glyphs::unicode), "████");
  EXPECT_EQ(bar(0.5, 3, Glyphs::unicode), "█▌");
  EXPECT_EQ(bar(0.5, 4, Glyphs::ascii), "##");
  EXPECT_EQ(bar(7, 2, Glyphs::ascii), "##");
  EXPECT_EQ(bar(-1, 2, Glyphs::ascii), "");
  EXPECT_EQ(bar(0.0 / 0.0, 2, Glyphs::ascii), "");
}

}  // namespace
}  // namespace experiments::report
