#include "experiments/report/heatmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "experiments/report/text.h"

namespace experiments::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Canvas kCharacters{.color = false, .unicode = true};
constexpr Canvas kColors{.color = true, .unicode = true};

Heatmaps two_by_two() {
  Heatmaps maps{.rows = 2, .columns = 2};
  maps.maps = {{"head 0", {0, 0.25, 0.5, 1}, "low"}, {"head 1", {1, 0.95, 0.1, 0.09}, ""}};
  maps.row_labels = maps.column_labels = {"a", "cat"};
  return maps;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    widest = std::max(widest, display_width(text.substr(begin, end - begin)));
  return widest;
}

TEST(Heatmap, InCharacters) {
  EXPECT_EQ(draw(two_by_two(), kCharacters),
            "     head 0    head 1\n"
            "       c         c\n"
            "       a         a\n"
            "     a t       a t\n"
            "a   |  ::|    |@@@@|\n"
            "cat |++@@|    |..  |\n"
            "     low\n");
  EXPECT_EQ(legend(two_by_two(), kCharacters), "0 | .:-=+*#%@| 1.00\n");
}

TEST(Heatmap, InColors) {
  Heatmaps maps = two_by_two();
  maps.maps.pop_back();
  maps.marked = 1;
  EXPECT_EQ(draw(maps, kColors),
            "      head 0\n"
            "        c\n"
            "        a\n"
            "      a t\n"
            "  a   \x1b[48;2;37;15;72m  \x1b[48;2;2;78;130m  \x1b[0m\n"
            "> cat \x1b[48;2;6;141;147m  \x1b[48;2;245;237;129m  \x1b[0m\n"
            "      low\n");
  const std::string bar = legend(maps, kColors);
  EXPECT_THAT(bar, testing::StartsWith("0 \x1b[48;2;37;15;72m "));
  EXPECT_THAT(bar, testing::EndsWith("\x1b[48;2;245;237;129m \x1b[0m 1.00\n"));
}

TEST(Heatmap, DivergingCellsShowTheirSign) {
  Heatmaps maps{.rows = 1, .columns = 4};
  maps.maps = {{"", {-2, -0.3, 0, 2}, ""}};
  maps.hues = Hues::diverging;
  maps.high = 2;
  EXPECT_EQ(draw(maps, kCharacters), "|-@-.  +@|\n");
  EXPECT_EQ(legend(maps, kCharacters),
            "-2.00 |-@ -% -# -* -+ -= -- -: -.    +. +: +- += ++ +* +# +% +@| 2.00\n");
  EXPECT_EQ(draw(maps, {.width = 8}), "|ia.9|\n");
  EXPECT_EQ(legend(maps, {.width = 8}), "-2.00 |ihgfedcba.123456789| 2.00\n");
  EXPECT_THAT(draw(maps, kColors), HasSubstr("\x1b[48;2;27;27;27m  \x1b[48;2;255;225;163m  "));
}

TEST(Heatmap, WhatIsNoNumberIsAQuestion) {
  Heatmaps maps{.rows = 1, .columns = 2};
  maps.maps = {{"", {std::numeric_limits<double>::quiet_NaN(), 1}, ""}};
  EXPECT_EQ(draw(maps, kCharacters), "|??@@|\n");
  EXPECT_EQ(draw(maps, kColors), "\x1b[0m??\x1b[48;2;245;237;129m  \x1b[0m\n");
  maps.maps[0].values = {0, 0};
  maps.high = 0;  // a range of nothing is no division by zero
  EXPECT_EQ(draw(maps, kCharacters), "|    |\n");
}

/// Three would fit: two and two are better than three and one.
TEST(Heatmap, StandsInEvenStripsThatFit) {
  Heatmaps maps{.rows = 1, .columns = 10};
  for (int i = 0; i < 4; ++i) maps.maps.push_back({"m", std::vector<double>(10, 1.0), ""});
  maps.row_labels = {"row"};
  const std::string cells = "|" + std::string(20, '@') + "|";
  const std::string strip = "     m                        m\nrow " + cells + "   " + cells + '\n';
  EXPECT_EQ(draw(maps, kCharacters), strip + '\n' + strip);
  for (const std::size_t width : {40u, 60u, 100u, 200u})
    EXPECT_LE(widest_line(draw(maps, {.width = width})), width);
}

TEST(Heatmap, LabelsAreCutAndHarmless) {
  Heatmaps maps{.rows = 3, .columns = 3};
  maps.maps = {{"", std::vector<double>(9, 0.0), ""}};
  maps.row_labels = maps.column_labels = {"incomprehensible", "\x1b[31m", "中文\u202e"};
  EXPECT_EQ(draw(maps, kCharacters),
            "            i \\ 中\n"
            "            n x 文\n"
            "            c 1 \\\n"
            "            o b x\n"
            "            m [ e\n"
            "            … … …\n"
            "incompreh… |      |\n"
            "\\x1b[31m   |      |\n"
            "中文\\xe2\\… |      |\n");
  const std::string narrow = draw(maps, {.width = 15});
  EXPECT_THAT(narrow, HasSubstr(" i\\?\n"));  // too wide for a cell of one column
  EXPECT_THAT(narrow, HasSubstr("incompreh~ |   |\n"));
  EXPECT_LE(widest_line(narrow), 16u);
}

TEST(Heatmap, OfTheWrongSizeIsRefused) {
  Heatmaps maps{.rows = 2, .columns = 2};
  maps.maps = {{"", {1, 2, 3}, ""}};
  EXPECT_THROW(draw(maps, kCharacters), std::logic_error);
}

/// Brighter is more, everywhere: what makes a map readable without hue.
TEST(Heatmap, ColorsGrowBrighter) {
  const auto luminance = [](Rgb c) { return .2126 * c.red + .7152 * c.green + .0722 * c.blue; };
  for (int i = 1; i <= 100; ++i) {
    for (const double sign : {1.0, -1.0}) {
      const Hues hues = Hues::diverging;
      EXPECT_GT(luminance(color_of(hues, sign * i / 100)),
                luminance(color_of(hues, sign * (i - 1) / 100)));
    }
    EXPECT_GT(luminance(color_of(Hues::sequential, i / 100.0)),
              luminance(color_of(Hues::sequential, (i - 1) / 100.0)));
  }
  EXPECT_EQ(color_of(Hues::sequential, 2), color_of(Hues::sequential, 1));
  EXPECT_EQ(color_of(Hues::diverging, -2), color_of(Hues::diverging, -1));
}

}  // namespace
}  // namespace experiments::report
