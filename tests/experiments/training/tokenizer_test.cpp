#include "experiments/training/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/cli/errors.h"

namespace experiments::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Tokenizer, TokensAreInTheOrderOfTheCodePoints) {
  const CharTokenizer tokenizer("b😀a\nñ中b");
  EXPECT_THAT(tokenizer.vocabulary(), ElementsAre("\n", "a", "b", "ñ", "中", "😀"));
  EXPECT_EQ(tokenizer.size(), 6);
  EXPECT_THAT(tokenizer.encode("😀ab"), ElementsAre(5, 1, 2));
  EXPECT_EQ(CharTokenizer("").size(), 0);
}

TEST(Tokenizer, DecodeUndoesEncode) {
  const std::string text = "Zwölf Boxkämpfer\tjagen 中文 😀\r\n";
  const CharTokenizer tokenizer(text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.encode(text).size(), 29u);  // characters, not bytes
  EXPECT_EQ(tokenizer.decode({}), "");
}

TEST(Tokenizer, AVocabularyGoesOutAndIn) {
  const CharTokenizer tokenizer("hé中llo");
  const CharTokenizer again = CharTokenizer::from_vocabulary(tokenizer.vocabulary());
  EXPECT_EQ(again.vocabulary(), tokenizer.vocabulary());
  EXPECT_EQ(again.encode("é中"), tokenizer.encode("é中"));
}

TEST(Tokenizer, AnUnknownCharacterIsNamed) {
  const CharTokenizer tokenizer("abé");
  EXPECT_THAT(
      [&] { tokenizer.encode("éa中b"); },
      ThrowsMessage<cli::DataError>("text: '中' at byte 3 is not one of the 3 characters of the "
                                    "vocabulary"));
  EXPECT_THAT([&] { tokenizer.encode("\x01"); }, ThrowsMessage<cli::DataError>(HasSubstr("\\x01")));
}

TEST(Tokenizer, ATokenOutOfRangeIsNamed) {
  const CharTokenizer tokenizer("ab");
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{2}}) {
    EXPECT_THAT(
        [&] {
          tokenizer.decode(Tokens{0, bad});
        },
        ThrowsMessage<cli::DataError>(AllOf(HasSubstr("[0, 2)"), HasSubstr(std::to_string(bad)))));
  }
}

TEST(Tokenizer, BytesThatAreNoTextAreNamedWithTheirOffset) {
  using namespace std::string_view_literals;
  EXPECT_THAT(
      [] { check_text("ab\0c"sv, "file"); },
      ThrowsMessage<cli::DataError>("file: a NUL at byte 2: this is a binary file, not text"));
  EXPECT_THAT([] { check_text("é\xff"sv, "file"); },
              ThrowsMessage<cli::DataError>("file: expected UTF-8, got '\\xff' at byte 2"));
  for (const std::string_view bad :
       {"a\xc3"sv, "\xc0\x80"sv, "\xed\xa0\x80"sv, "\xf5\x80\x80\x80"sv})
    EXPECT_THROW(CharTokenizer{bad}, cli::DataError);  // cut, overlong, a surrogate, above U+10FFFF
  EXPECT_NO_THROW(check_text("é中😀", "file"));
}

TEST(Tokenizer, AVocabularyThatIsNoneIsRefused) {
  const auto refused = [](std::vector<std::string> characters, const char* text) {
    EXPECT_THAT([&] { CharTokenizer::from_vocabulary(characters); },
                ThrowsMessage<cli::DataError>(HasSubstr(text)));
  };
  refused({"a", "bc"}, "entry 1, got 'bc'");
  refused({""}, "entry 0, got ''");
  refused({"\xff"}, "entry 0");
  refused({std::string(1, '\0')}, "entry 0");
  refused({"b", "a"}, "entry 1, 'a', must come after 'b'");
  refused({"a", "a"}, "must come after");
}

}  // namespace
}  // namespace experiments::training
