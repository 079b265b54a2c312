#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "nn/io/errors.h"
#include "nn/io/safetensors.h"
#include "nn/io/safetensors_header.h"
#include "tests/nn/io/safetensors_bytes.h"
#include "tests/support/process.h"
#include "tests/support/tensors.h"

// Files that are damaged or lie.

namespace nn {
namespace {

using test::Folder;
using test::safetensors_bytes;
using testing::HasSubstr;
using testing::Not;

/// The one line that the file of these bytes is refused with, without its path.
std::string refusal(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder / "x";
  test::put(path, bytes);
  const std::string message = test::message_of<DataError>([&] { read_safetensors(path); });
  const std::string begin = "'" + path + "': ";
  EXPECT_EQ(message.substr(0, begin.size()), begin) << message;
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  return message.substr(std::min(begin.size(), message.size()));
}

std::string of_header(const std::string& header, const std::string& data = "") {
  return refusal(safetensors_bytes(header, data));
}

/// A header with one tensor t of these fields.
std::string of_tensor(const std::string& fields) { return of_header("{\"t\":{" + fields + "}}"); }

std::string of_shape(const std::string& shape) {
  return of_tensor(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,0])");
}

std::string of_offsets(const std::string& offsets) {
  return of_tensor(R"("dtype":"F32","shape":[0],"data_offsets":)" + offsets);
}

TEST(SafetensorsDamage, OffsetsThatDoNotFitTheShape) {
  const std::string header = R"({"t":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})";
  EXPECT_EQ(of_header(header, "1234"), "tensor t: 4000000 bytes expected, 4 given");
  EXPECT_EQ(of_offsets("[0,4]"), "tensor t: 0 bytes expected, 4 given");
  EXPECT_EQ(of_offsets("[4,0]"), "tensor t: data_offsets: begin 4 is above end 0");
}

TEST(SafetensorsDamage, AbsurdHeaderLengths) {
  const auto of_length = [](std::uint64_t length) {
    std::string bytes(16, ' ');
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> 8 * i);
    return refusal(bytes);
  };
  const std::string range = "header length: expected 1 to 100000000 bytes, got ";
  EXPECT_EQ(of_length(0), range + "0");
  EXPECT_EQ(of_length(100'000'001), range + "100000001");
  EXPECT_EQ(of_length(1ull << 63), range + "9223372036854775808");
  EXPECT_EQ(of_length(~0ull), range + "18446744073709551615");
  EXPECT_EQ(of_length(100'000'000), "truncated: header of 100000000 bytes expected, 8 given");
  EXPECT_EQ(of_length(7), "header: expected an object, got ' '");
}

TEST(SafetensorsDamage, EveryCutAndEveryExtraByteIsSeen) {
  const Folder folder;
  write_safetensors(folder / "x", {{{"a", test::f64({1, 2, 3})}, {"b", test::f64({4})}}, {}});
  const std::string whole = test::contents(folder / "x");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("truncated")) << size;
  EXPECT_EQ(refusal(whole + '\0'), "wrong size: 32 bytes of data expected, 33 given");
}

TEST(SafetensorsDamage, FlippedBitsOfTheHeaderLoadOrAreRefused) {
  const Folder folder;
  write_safetensors(folder / "x", {{{"a", test::f64({1, 2, 3})}, {"b", test::f64({4})}}, {}});
  const std::string whole = test::contents(folder / "x");
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    const std::size_t header_end = whole.size() - 32;
    for (unsigned flips = 0; flips < 1 + random() % 3; ++flips)
      bytes[random() % header_end] ^= static_cast<char>(1 << random() % 8);
    test::put(folder / "y", bytes);
    try {
      EXPECT_LE(read_safetensors(folder / "y").tensors.size(), 2u);
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);  // a flip in a name or in the padding's blanks may do no harm
}

TEST(SafetensorsDamage, HeadersThatAreNoObject) {
  EXPECT_EQ(of_header("[]"), "header: expected an object, got '['");
  EXPECT_EQ(of_header("\xef\xbb\xbf{}"), "header: expected an object, got '\\xef'");
  EXPECT_EQ(of_header("{} x"), "header: not JSON at byte 4");
  EXPECT_EQ(of_header("{\"a\":"), "header: not JSON at byte 6");
  EXPECT_EQ(of_header("{\"a\xff\":{}}"), "header: not JSON at byte 4");
  EXPECT_EQ(of_header(std::string("{}\0{", 4)), "header: byte 3 is 0");
  EXPECT_EQ(of_header(R"({"a":1})"), "tensor a: expected an object, got 1");
  EXPECT_EQ(of_header(R"({"a":[]})"), "tensor a: expected an object, got a list");
  EXPECT_EQ(of_header(R"({"__metadata__":null})"), "__metadata__: expected an object, got null");
  EXPECT_EQ(of_header(R"({"__metadata__":{"k":1}})"), "metadata 'k': expected a string, got 1");
  EXPECT_EQ(of_header(R"({"__metadata__":{"k":{}}})"),
            "metadata 'k': expected a string, got an object");
  EXPECT_THAT(of_header("{\"a\":{\"shape\":" + std::string(100000, '[')), HasSubstr("too deep"));
  EXPECT_THAT(of_header("{\"a\":" + std::string(100000, '[')), HasSubstr("got a list"));
}

TEST(SafetensorsDamage, KeysThatComeTwice) {
  const std::string t = R"("t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(of_header("{" + t + "," + t + "}"), "header: 't' comes twice");
  EXPECT_EQ(of_header(R"({"__metadata__":{},"__metadata__":{}})"),
            "header: '__metadata__' comes twice");
  EXPECT_EQ(of_header(R"({"__metadata__":{"k":"","k":""}})"), "__metadata__: 'k' comes twice");
  EXPECT_EQ(of_tensor(R"("dtype":"F32","dtype":"F32")"), "tensor t: 'dtype' comes twice");
}

TEST(SafetensorsDamage, FieldsOfTensors) {
  EXPECT_EQ(of_tensor(R"("dtype":"F8","shape":[0],"data_offsets":[0,0])"),
            "tensor t: dtype: expected F32, F64, I64, BOOL, F16, BF16, got 'F8'");
  EXPECT_THAT(of_tensor(R"("dtype":3,"shape":[0],"data_offsets":[0,0])"), HasSubstr(", got 3"));
  EXPECT_THAT(of_tensor(R"("dtype":[],"shape":[0],"data_offsets":[0,0])"),
              HasSubstr(", got a list"));
  EXPECT_EQ(of_tensor(R"("strides":[],"dtype":"F32","shape":[0],"data_offsets":[0,0])"),
            "tensor t: expected dtype, shape and data_offsets, got 4 fields");
  EXPECT_EQ(of_tensor(R"("dtype":"F32","shape":[0])"), "tensor t: data_offsets is missing");
  EXPECT_EQ(of_tensor(""), "tensor t: dtype is missing");
}

TEST(SafetensorsDamage, ShapesAndOffsetsAreWholeNumbers) {
  const std::string shape = "tensor t: shape: expected whole numbers of at least 0, got ";
  EXPECT_EQ(of_shape("[-1]"), shape + "-1");
  EXPECT_EQ(of_shape("[1.0]"), shape + "1.0");
  EXPECT_EQ(of_shape("[1e3]"), shape + "1000.0");
  EXPECT_EQ(of_shape("[18446744073709551616]"), shape + "1.8446744073709552e+19");
  EXPECT_EQ(of_shape("[\"2\"]"), shape + "'2'");
  EXPECT_EQ(of_shape("[true]"), shape + "true");
  EXPECT_EQ(of_shape("[[1]]"), shape + "a list");
  EXPECT_EQ(of_shape("3"), "tensor t: shape: expected a list of whole numbers, got 3");
  EXPECT_EQ(of_shape("[1,1,1,1,1,1,1,1,1]"),
            "tensor t: expected at most 8 numbers in a list, got more");
  EXPECT_THAT(of_shape("[4294967296,4294967296]"), HasSubstr("fit into 63 bits"));
  EXPECT_THAT(of_shape("[9223372036854775808]"), HasSubstr("fit into 63 bits"));
  EXPECT_THAT(of_shape("[0,9223372036854775808]"), HasSubstr("fit into 63 bits"));
  const std::string offsets = "tensor t: data_offsets: expected ";
  EXPECT_EQ(of_offsets("[0,-1]"), offsets + "whole numbers of at least 0, got -1");
  EXPECT_EQ(of_offsets("[0]"), offsets + "two, got 1");
  EXPECT_EQ(of_offsets("[0,0,0]"), offsets + "two, got 3");
  EXPECT_THAT(of_shape("[1e999]"), HasSubstr("a number is out of range"));
}

TEST(SafetensorsDamage, DataHasNoHolesOverlapsOrStrangeBools) {
  const auto two = [](const char* second) {
    return of_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32",)"
                     R"("shape":[1],"data_offsets":)" +
                         std::string(second) + "}}",
                     std::string(16, 'x'));
  };
  const std::string b = "tensor b: data_offsets: expected to begin at 8, got ";
  EXPECT_EQ(two("[12,16]"), b + "12: a hole");
  EXPECT_EQ(two("[4,8]"), b + "4: an overlap");
  EXPECT_EQ(two("[8,12]"), "wrong size: 12 bytes of data expected, 16 given");
  EXPECT_EQ(of_header(R"({"t":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02"),
            "tensor t: BOOL at 1: expected 0 or 1, got 2");
}

TEST(SafetensorsDamage, NamesInMessagesAreCutAndHarmless) {
  const std::string message = of_header("{\"" + std::string(100000, 'n') + "\\u001b\":1}");
  EXPECT_LE(message.size(), 200u);
  EXPECT_THAT(of_header("{\"\\u001b\\n\":1}"), HasSubstr("tensor \\x1b\\n: expected"));
}

/// A file of this header whose data is a hole.
std::string hole_of(const Folder& folder, const std::string& header, std::uint64_t bytes) {
  const std::string path = folder / "x", text = safetensors_bytes(header);
  test::put(path, text);
  EXPECT_EQ(truncate(path.c_str(), static_cast<off_t>(text.size() + bytes)), 0);
  return path;
}

TEST(SafetensorsDamage, MoreThanMemoryHoldsIsRefused) {
  const Folder folder;
  const std::string path = hole_of(
      folder, R"({"t":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})",
      std::uint64_t{1} << 40);
  EXPECT_THAT(test::message_of<DataError>([&] { read_safetensors(path); }),
              HasSubstr("/x': its tensors need 1.1e+03 GB of memory, at most "));
}

TEST(SafetensorsDamage, TheHeaderIsJudgedBeforeDataIsRead) {
  const Folder folder;
  const std::string path = hole_of(
      folder, R"({"t":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}})",
      std::uint64_t{1} << 40);
  const auto refuse = [](const SafetensorsHeader& header) {
    throw DataError("no " + header.tensors.at(0).name);
  };
  EXPECT_EQ(test::message_of<DataError>([&] { read_safetensors(path, refuse); }),
            "'" + path + "': no t");
}

}  // namespace
}  // namespace nn
