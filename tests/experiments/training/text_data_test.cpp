#include "experiments/training/text_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "experiments/cli/errors.h"
#include "experiments/training/floors.h"

namespace experiments::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

/// A file that goes away again.
class TextFile {
 public:
  explicit TextFile(const std::string& bytes)
      : path_(testing::TempDir() + "text_data_test_" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::int64_t> values(const autograd::Tensor& t) {
  const auto all = t.data().read<std::int64_t>();
  return {all.begin(), all.end()};
}

/// "abc...": token i at place i, so that a window tells where it comes from.
std::string letters(Index count) {
  std::string text;
  for (Index i = 0; i < count; ++i) text += static_cast<char>('0' + i);
  return text;
}

TEST(TextData, LineEndsAndTheByteOrderMark) {
  EXPECT_EQ(read_text(TextFile("\xef\xbb\xbf"
                               "a\r\nb\r\r\nc\rd\r\n")
                          .path()),
            "a\nb\n\nc\nd\n");
  EXPECT_EQ(read_text(TextFile("é\n").path()), "é\n");
  EXPECT_EQ(read_text(TextFile("").path()), "");
}

TEST(TextData, FilesThatCannotBeRead) {
  EXPECT_THAT(
      [] { read_text("/nonexistent/text"); },
      ThrowsMessage<cli::IoError>("cannot read '/nonexistent/text': No such file or directory"));
  EXPECT_THAT([] { read_text(testing::TempDir()); },
              ThrowsMessage<cli::IoError>(EndsWith("Is a directory")));
  // Offsets are those of the file, before line ends change.
  EXPECT_THAT(
      [] {
        read_text(TextFile(std::string("\xef\xbb\xbf"
                                       "a\r\n\0",
                                       7))
                      .path());
      },
      ThrowsMessage<cli::DataError>(HasSubstr("NUL at byte 6")));
  EXPECT_THAT([] { read_text(TextFile("a\r\n\xff").path()); },
              ThrowsMessage<cli::DataError>(AllOf(StartsWith("'/"), HasSubstr("at byte 3"))));
}

TEST(TextData, NineTenthsTrain) {
  for (const auto& [size, train] :
       {std::pair<Index, std::size_t>{19, 17}, {20, 18}, {29, 26}, {70, 63}}) {
    const TextData data(letters(size), 1);
    EXPECT_EQ(data.tokens(Split::train).size(), train) << size;
    EXPECT_EQ(data.tokens(Split::validation).size(), static_cast<std::size_t>(size) - train);
    EXPECT_EQ(data.tokens(Split::validation).back(), size - 1);
    EXPECT_EQ(data.tokens(Split::train).front(), 0);
  }
}

TEST(TextData, TooShort) {
  EXPECT_THAT(
      [] { TextData("hello", 8); },
      ThrowsMessage<cli::DataError>("data has 5 tokens, but block size 8 needs at least 9"));
  EXPECT_THAT([] { TextData("", 1); }, ThrowsMessage<cli::DataError>(
                                           "data has 0 tokens, but block size 1 needs at least 2"));
  EXPECT_THAT([] { TextData(letters(70), 7); },
              ThrowsMessage<cli::DataError>(
                  "data has 70 tokens, 7 of them for validation, but block size 7 "
                  "needs at least 8 there"));
  EXPECT_NO_THROW(TextData(letters(70), 6));
  EXPECT_NO_THROW(TextData("héllo wörld, héllo!", 1));
  EXPECT_THROW(TextData("hello", CharTokenizer("hel"), 1), cli::DataError);  // no o
}

TEST(TextData, ABatchIsMadeOfWindowsAndWhatComesNext) {
  const Index T = 5;
  const TextData data(letters(70), T);  // token = place; 63 to train on
  std::set<Index> offsets;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Batch batch = data.batch(Split::train, 8, {1, i});
    ASSERT_EQ(batch.x.shape(), (autograd::Shape{8, T}));
    ASSERT_EQ(batch.y.shape(), (autograd::Shape{8, T}));
    const std::vector<std::int64_t> x = values(batch.x), y = values(batch.y);
    for (std::size_t k = 0; k < x.size(); ++k) {
      ASSERT_EQ(x[k], x[k - k % T] + static_cast<std::int64_t>(k % T));
      ASSERT_EQ(y[k], x[k] + 1);
      if (k % T == 0) offsets.insert(x[k]);
    }
  }
  EXPECT_EQ(*offsets.begin(), 0);
  EXPECT_EQ(*offsets.rbegin(), 63 - T - 1);                     // its last y is token 62
  EXPECT_EQ(offsets.size(), static_cast<std::size_t>(63 - T));  // all, and no other
  const std::vector<std::int64_t> y = values(data.batch(Split::validation, 50, {1, 0}).y);
  EXPECT_EQ(*std::min_element(y.begin(), y.end()), 64);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), 69);
}

TEST(TextData, ABatchIsAFunctionOfItsKey) {
  const TextData data(letters(70), 5);
  const auto x = [&](Index size, autograd::RandomKey key) {
    return values(data.batch(Split::train, size, key).x);
  };
  const std::vector<std::int64_t> batch = x(8, {1, 2});
  EXPECT_EQ(x(8, {1, 2}), batch);
  EXPECT_NE(x(8, {1, 3}), batch);
  EXPECT_NE(x(8, {2, 2}), batch);
  const std::vector<std::int64_t> larger = x(16, {1, 2});
  EXPECT_TRUE(std::equal(batch.begin(), batch.end(), larger.begin()));
}

TEST(TextData, WindowsLieSideBySide) {
  const TextData data(letters(70), 2);  // validation: tokens 63 to 69
  EXPECT_EQ(data.window_count(Split::validation), 3);
  const Batch all = data.windows(Split::validation, 0, 3);
  EXPECT_THAT(values(all.x), ElementsAre(63, 64, 65, 66, 67, 68));
  EXPECT_THAT(values(all.y), ElementsAre(64, 65, 66, 67, 68, 69));
  EXPECT_THAT(values(data.windows(Split::validation, 1, 2).x), ElementsAre(65, 66, 67, 68));
  EXPECT_EQ(TextData(letters(70), 3).window_count(Split::validation), 2);  // exactly full
  EXPECT_EQ(TextData(letters(70), 4).window_count(Split::validation), 1);  // two tokens are left
}

TEST(TextData, TinyShakespeare) {
  const char* folder = std::getenv("GRADLAB_DATA");
  if (!folder) GTEST_SKIP() << "GRADLAB_DATA does not name a folder";
  const TextData data(read_text(std::string(folder) + "/tinyshakespeare.txt"), 64);
  const auto train = data.tokens(Split::train), validation = data.tokens(Split::validation);
  EXPECT_EQ(data.vocabulary().size(), 65u);
  EXPECT_EQ(train.size(), 1003854u);
  EXPECT_EQ(validation.size(), 111540u);
  EXPECT_EQ(data.window_count(Split::validation), 1742);
  const Floors got = floors(train, validation, 65);
  EXPECT_NEAR(got.uniform, 4.174, 5e-4);
  EXPECT_NEAR(got.unigram, 3.347, 5e-4);
  EXPECT_NEAR(got.bigram, 2.484, 5e-4);
  EXPECT_NEAR(bigram_floor(train, train, 65), 2.452, 5e-4);
}

}  // namespace
}  // namespace experiments::training
