#include "nn/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "nn/io/errors.h"
#include "nn/io/safetensors_header.h"
#include "tests/nn/io/safetensors_bytes.h"
#include "tests/support/process.h"
#include "tests/support/tensors.h"

namespace nn {
namespace {

using autograd::Array;
using autograd::DType;
using autograd::Shape;
using autograd::Tensor;
using test::Folder;
using test::safetensors_bytes;
using testing::HasSubstr;

Tensor from_bits(std::initializer_list<std::uint32_t> bits, const Shape& shape) {
  return Tensor(Array::build<float>(shape, [&](std::span<float> out) {
    std::memcpy(out.data(), bits.begin(), 4 * bits.size());
  }));
}

std::uint32_t bits_of(const Tensor& t, std::size_t i) {
  return std::bit_cast<std::uint32_t>(t.data().read<float>()[i]);
}

/// Every dtype, zero-size and rank-0 tensors, bits that arithmetic would not keep.
Safetensors everything() {
  Safetensors content;
  content.tensors = {
      {"a.odd", Tensor(Array::build<bool>({3}, [](auto b) { b[0] = b[2] = true, b[1] = false; }))},
      {"b", from_bits({0x7fc12345, 0xff812345, 0x80000000, 0x00000001, 0x7f800000, 1}, {2, 3})},
      {"c", test::f64({-0.0, 5e-324, std::numeric_limits<double>::max(), std::nan("77")})},
      {"d", Tensor(Array::build<std::int64_t>({2},
                                              [](auto x) {
                                                x[0] = std::numeric_limits<std::int64_t>::min();
                                                x[1] = std::numeric_limits<std::int64_t>::max();
                                              }))},
      {"empty", Tensor(Array::zeros({0}, DType::f32))},
      {"empty i64", Tensor(Array::zeros({2, 0, 3}, DType::i64))},
      {"scalar", Tensor(Array::scalar(1.5, DType::f32))},
      {"deep", Tensor(Array::zeros({1, 1, 1, 1, 1, 1, 1, 2}, DType::b8))},
      {"\"ключ\\\n", Tensor(Array::scalar(2, DType::f64))}};
  content.metadata = {{"text", "a \"b\"\n\x01 é \U0001f600"}, {"", ""}};
  return content;
}

void expect_same(const Safetensors& got, const Safetensors& want) {
  EXPECT_EQ(got.metadata, want.metadata);
  ASSERT_EQ(got.tensors.size(), want.tensors.size());
  for (const auto& [name, tensor] : want.tensors) {
    ASSERT_TRUE(got.tensors.contains(name)) << name;
    EXPECT_TRUE(bit_equal(got.tensors.at(name).data(), tensor.data())) << name;
  }
}

TEST(Safetensors, EverythingComesBackBitForBit) {
  const Folder folder;
  write_safetensors(folder / "x", everything());
  expect_same(read_safetensors(folder / "x"), everything());
}

TEST(Safetensors, NothingAtAllIsAFileToo) {
  const Folder folder;
  write_safetensors(folder / "x", {});
  EXPECT_EQ(test::contents(folder / "x"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  expect_same(read_safetensors(folder / "x"), {});
  test::put(folder / "unpadded", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  expect_same(read_safetensors(folder / "unpadded"), {});
}

TEST(Safetensors, BytesAreAsTheFormatSays) {
  const Folder folder;
  Safetensors content;
  content.tensors = {{"b", Tensor(Array::build<bool>({1}, [](auto b) { b[0] = true; }))},
                     {"x", test::f64({1.0, -2.0}).to(DType::f32)}};
  content.metadata = {{"k", "v"}};
  write_safetensors(folder / "x", content);
  const std::string header =
      R"({"__metadata__":{"k":"v"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]}})";
  ASSERT_NE(header.size() % 8, 0u);
  const std::string padding(8 - header.size() % 8, ' ');
  EXPECT_EQ(test::contents(folder / "x"),
            safetensors_bytes(header + padding, std::string("\0\0\x80\x3f\0\0\0\xc0\x01", 9)));
}

/// What the reader in Python says of the file.
test::Outcome read_by_python(const std::string& path) {
  return test::in_child([&path] {
    setenv("PYTHONIOENCODING", "utf-8", 1);
    execl("/usr/bin/python3", "python3", "-I",
          GRADLAB_SOURCE_DIR "/tests/nn/io/safetensors_reference.py", path.c_str(), nullptr);
    return 127;
  });
}

TEST(Safetensors, AnIndependentReaderAgrees) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const Folder folder;
  Safetensors content = everything();
  content.tensors.erase("\"ключ\\\n");  // has a line break, which the lines below end with
  write_safetensors(folder / "x", content);
  const test::Outcome outcome = read_by_python(folder / "x");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "M\t\t\"\"\n"
            "M\ttext\t\"a \\\"b\\\"\\n\\u0001 \\u00e9 \\ud83d\\ude00\"\n"
            "T\ta.odd\tBOOL\t3\t010001\n"
            "T\tb\tF32\t2,3\t4523c17f452381ff00000080010000000000807f01000000\n"
            "T\tc\tF64\t4\t00000000000000800100000000000000ffffffffffffef7f4d0000000000f87f\n"
            "T\td\tI64\t2\t0000000000000080ffffffffffffff7f\n"
            "T\tdeep\tBOOL\t1,1,1,1,1,1,1,2\t0000\n"
            "T\tempty\tF32\t0\t\n"
            "T\tempty i64\tI64\t2,0,3\t\n"
            "T\tscalar\tF32\t\t0000c03f\n");
  test::put(folder / "longer", test::contents(folder / "x") + 'x');
  const test::Outcome longer = read_by_python(folder / "longer");
  EXPECT_EQ(longer.code, 1);
  EXPECT_EQ(longer.err, "refused: 81 bytes of data expected, 82 given\n");
}

TEST(Safetensors, ReadsHalvesAsFloats) {
  const Folder folder;
  const std::string f16("\x00\x3c\x01\x00\xff\x03\xff\x7b\x00\x80\x00\xfc\x01\x7e", 14);
  const std::string bf16("\x80\x3f\x01\x00\x80\xff\x00\x80\xc1\x7f", 10);
  test::put(folder / "x",
            safetensors_bytes(R"({"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]},)"
                              R"("b":{"dtype":"BF16","shape":[5],"data_offsets":[14,24]}})",
                              f16 + bf16));
  const Safetensors content = read_safetensors(folder / "x");
  const Tensor h = content.tensors.at("h"), b = content.tensors.at("b");
  ASSERT_EQ(h.dtype(), DType::f32);
  EXPECT_EQ(bits_of(h, 0), std::bit_cast<std::uint32_t>(1.0f));
  EXPECT_EQ(bits_of(h, 1), std::bit_cast<std::uint32_t>(0x1p-24f));
  EXPECT_EQ(bits_of(h, 2), std::bit_cast<std::uint32_t>(1023 * 0x1p-24f));
  EXPECT_EQ(bits_of(h, 3), std::bit_cast<std::uint32_t>(65504.0f));
  EXPECT_EQ(bits_of(h, 4), 0x80000000u);
  EXPECT_EQ(bits_of(h, 5), 0xff800000u);
  EXPECT_EQ(bits_of(h, 6), 0x7fc02000u);
  ASSERT_EQ(b.dtype(), DType::f32);
  EXPECT_EQ(bits_of(b, 0), 0x3f800000u);
  EXPECT_EQ(bits_of(b, 1), 0x00010000u);
  EXPECT_EQ(bits_of(b, 2), 0xff800000u);
  EXPECT_EQ(bits_of(b, 3), 0x80000000u);
  EXPECT_EQ(bits_of(b, 4), 0x7fc10000u);
}

TEST(Safetensors, ManyHalvesCrossTheBuffer) {
  const Folder folder;
  std::string data;
  for (int i = 0; i < 10000; ++i) data += {static_cast<char>(i), static_cast<char>(i >> 8)};
  test::put(folder / "x",
            safetensors_bytes(R"({"h":{"dtype":"BF16","shape":[10000],"data_offsets":[0,20000]}})",
                              data));
  const Tensor h = read_safetensors(folder / "x").tensors.at("h");
  for (std::uint32_t i = 0; i < 10000; ++i) ASSERT_EQ(bits_of(h, i), i << 16);
}

TEST(Safetensors, TheHeadersOrderNeedNotBeThatOfTheData) {
  const Folder folder;
  test::put(folder / "x",
            safetensors_bytes(R"({"late":{"dtype":"BOOL","shape":[1],"data_offsets":[1,2]},)"
                              R"("none":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
                              R"("early":{"data_offsets":[0,1],"shape":[],"dtype":"BOOL"}})",
                              std::string("\x01\0", 2)));
  const Safetensors content = read_safetensors(folder / "x");
  EXPECT_EQ(content.tensors.at("early").item(), 1);
  EXPECT_EQ(content.tensors.at("late").at({0}), 0);
  EXPECT_EQ(content.tensors.at("none").shape(), Shape{0});
}

TEST(Safetensors, WhatCannotBeReadIsAnIoError) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  const auto message = [&](const std::string& path) {
    return test::message_of<IoError>([&] { read_safetensors(path); });
  };
  EXPECT_EQ(message("missing"), "cannot read 'missing': No such file or directory");
  EXPECT_THAT(message(folder.path()), HasSubstr("Is a directory"));
  EXPECT_THAT(message(folder / "fifo"), HasSubstr("not a regular file"));
}

TEST(Safetensors, WhatNoFileCanHoldIsRefusedAndWritesNothing) {
  const Folder folder;
  const Tensor one(Array::scalar(1, DType::f32));
  const auto message = [&](const Safetensors& content) {
    return test::message_of<DataError>([&] { write_safetensors(folder / "x", content); });
  };
  EXPECT_THAT(message({{{"\xff", one}}, {}}), HasSubstr("tensor name '\\xff' is not UTF-8"));
  EXPECT_THAT(message({{}, {{"k", "a\xc0"}}}), HasSubstr("metadata 'k': 'a\\xc0' is not UTF-8"));
  EXPECT_THAT(message({{}, {{"\xfe", ""}}}), HasSubstr("metadata key '\\xfe' is not UTF-8"));
  EXPECT_THAT(message({{{"__metadata__", one}}, {}}), HasSubstr("__metadata__"));
  EXPECT_THAT(message({{}, {{"k", std::string(50'000'000, '\t')}}}), HasSubstr("at most"));
  const Tensor dual = one.to(DType::f64).to(DType::dual);
  EXPECT_THAT(test::message_of<autograd::DTypeError>([&] {
                write_safetensors(folder / "x", {{{"w", dual}}, {}});
              }),
              HasSubstr("safetensors: w is dual"));
  EXPECT_TRUE(folder.names().empty());
  EXPECT_EQ(test::message_of<IoError>([&] { write_safetensors("/missing/x", {}); }),
            "cannot write '/missing/x': No such file or directory");
}

TEST(Safetensors, WhatIsNotNeededIsPassedOver) {
  const Folder folder;
  const std::string path = folder / "x";
  const std::string data("\x01\x02\x03\0\0\x80\x3f\x01", 8);
  test::put(path, safetensors_bytes(R"({"m":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                                    R"("x":{"dtype":"F32","shape":[1],"data_offsets":[3,7]},)"
                                    R"("b":{"dtype":"BOOL","shape":[1],"data_offsets":[7,8]}})",
                                    data));
  const auto without = [](const char* name) {
    return [name](SafetensorsHeader& header) {
      std::erase_if(header.tensors, [name](const TensorEntry& e) { return e.name == name; });
    };
  };
  const Safetensors content = read_safetensors(path, without("m"));
  EXPECT_EQ(content.tensors.size(), 2u);
  EXPECT_EQ(content.tensors.at("x").item(), 1.0);
  EXPECT_TRUE(content.tensors.at("b").data().read<bool>()[0]);
  EXPECT_THAT(test::message_of<DataError>([&] { read_safetensors(path, without("b")); }),
              testing::HasSubstr("tensor m: dtype: expected F32, F64, I64, BOOL, F16, BF16, got "
                                 "'U8'"));
}

}  // namespace
}  // namespace nn
