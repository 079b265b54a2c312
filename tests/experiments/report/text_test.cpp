#include "experiments/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace experiments::report {
namespace {

using testing::ElementsAre;

TEST(Text, WhatCameFromOutsideIsMadeHarmless) {
  EXPECT_EQ(printable("plain d'été 中"), "plain d'été 中");
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xff\xc3(\xed\xa0\x80\xc2\x9b"), "\\xff\\xc3(\\xed\\xa0\\x80\\xc2\\x9b");
  EXPECT_EQ(printable("\xf4\x90\x80\x80\xc0\x80"), "\\xf4\\x90\\x80\\x80\\xc0\\x80");
  EXPECT_EQ(printable("a\u202eb\u2028\ufeff\u2066"),
            "a\\xe2\\x80\\xaeb\\xe2\\x80\\xa8\\xef\\xbb\\xbf\\xe2\\x81\\xa6");
  EXPECT_EQ(printable("a\u00ad\U000e0001"), "a\\xc2\\xad\\xf3\\xa0\\x80\\x81");
  EXPECT_EQ(printable("\u200d — …"), "\u200d — …");
  EXPECT_EQ(quote("5x"), "'5x'");
  EXPECT_EQ(quote(std::string(1000, 'a')), "'" + std::string(40, 'a') + "...'");
  EXPECT_EQ(quote(std::string(40, 'a')), "'" + std::string(40, 'a') + "'");
}

TEST(Text, ShellWordsComeBackFromAShell) {
  EXPECT_EQ(shell_word("--d=4:64:x2"), "--d=4:64:x2");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$x;`y`"), "'$x;`y`'");
  EXPECT_EQ(shell_word("~"), "'~'");
}

TEST(Text, SuggestsWhatIsNear) {
  const std::vector<std::string> names = {"--rows", "--seed", "--seq-len", "scaling", "info"};
  EXPECT_EQ(nearest("--row", names), "--rows");
  EXPECT_EQ(nearest("--ROWS", names), "--rows");
  EXPECT_EQ(nearest("scalign", names), "scaling");
  EXPECT_EQ(nearest("scal", names), "scaling");
  EXPECT_EQ(nearest("-seed", names), "--seed");
  EXPECT_EQ(nearest("zebra", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), names), "");
}

TEST(Text, WrapsAtBlanks) {
  EXPECT_THAT(wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(wrapped("one two", 7), ElementsAre("one two"));
  EXPECT_THAT(wrapped("incomprehensible to me", 6), ElementsAre("incomprehensible", "to me"));
  EXPECT_THAT(wrapped("", 6), ElementsAre(""));
}

}  // namespace
}  // namespace experiments::report
