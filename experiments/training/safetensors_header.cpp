#include "experiments/training/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/report/text.h"

namespace experiments::training {
namespace {

constexpr const char* kMetadata = "__metadata__";

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw cli::DataError(fmt::format(text, std::forward<Args>(args)...));
}

std::string encoding_names() {
  std::vector<std::string> names;
  for (const Encoding& encoding : kEncodings) names.emplace_back(encoding.name);
  return report::join(names, ", ");
}

/// What nlohmann::json calls for each thing that it reads. Its own parser would take the last of
/// two equal keys, and keep all of a text that is refused in the end.
class HeaderReader {
 public:
  SafetensorsHeader take() { return std::move(header_); }

  bool null() { wrong("null"); }
  bool boolean(bool value) { wrong(value ? "true" : "false"); }
  bool number_float(double, const std::string& text) { wrong(cut(text)); }
  bool number_integer(std::int64_t value) { wrong(fmt::format("{}", value)); }  // below 0, or "-0"
  bool number_unsigned(std::uint64_t value);
  bool string(std::string& value);
  bool binary(nlohmann::json::binary_t&) { wrong("bytes"); }
  bool start_object(std::size_t);
  bool key(std::string& key);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    refuse("header: no JSON at its byte {}", position);
  }

 private:
  enum class Place { start, root, metadata, tensor, shape, offsets };

  static std::string cut(const std::string& text) { return text.substr(0, 40); }
  std::string expected() const;
  [[noreturn]] void wrong(const std::string& got) const { refuse("{}, got {}", expected(), got); }
  void once(std::set<std::string>& seen, const std::string& key, const std::string& where) const {
    if (!seen.insert(key).second) refuse("{}: {} comes twice", where, report::quote(key, 100));
  }
  std::string tensor() const { return fmt::format("tensor {}", label(entry_.name)); }
  void finish_tensor();

  Place place_ = Place::start;
  std::string key_;  // the last one in the object that is being read
  std::set<std::string> names_, metadata_keys_, fields_;
  TensorEntry entry_;
  std::vector<std::uint64_t> shape_, offsets_;
  SafetensorsHeader header_;
};

std::string HeaderReader::expected() const {
  switch (place_) {
    case Place::start: return "header: expected an object";
    case Place::root:
      return fmt::format("{}: expected an object",
                         key_ == kMetadata ? key_ : fmt::format("tensor {}", label(key_)));
    case Place::metadata:
      return fmt::format("metadata {}: expected a text", report::quote(key_, 100));
    case Place::tensor:
      if (key_ == "dtype") return fmt::format("{}: dtype: expected a text", tensor());
      return fmt::format("{}: {}: expected a list of whole numbers", tensor(), key_);
    case Place::shape:
      return fmt::format("{}: shape: expected whole numbers of at least 0", tensor());
    case Place::offsets: break;
  }
  return fmt::format("{}: data_offsets: expected whole numbers of at least 0", tensor());
}

bool HeaderReader::number_unsigned(std::uint64_t value) {
  if (place_ == Place::shape) {
    constexpr std::size_t kMaxRank = autograd::Shape::kMaxRank;
    if (shape_.size() == kMaxRank)
      refuse("{}: shape: at most {} dims, got more", tensor(), kMaxRank);
    shape_.push_back(value);
  } else if (place_ == Place::offsets) {
    if (offsets_.size() == 2) refuse("{}: data_offsets: expected two, got more", tensor());
    offsets_.push_back(value);
  } else {
    wrong(fmt::format("{}", value));
  }
  return true;
}

bool HeaderReader::string(std::string& value) {
  if (place_ == Place::metadata) {
    header_.metadata[key_] = std::move(value);
  } else if (place_ == Place::tensor && key_ == "dtype") {
    const auto* found = std::find_if(std::begin(kEncodings), std::end(kEncodings),
                                     [&](const Encoding& e) { return e.name == value; });
    if (found == std::end(kEncodings))
      refuse("{}: unknown dtype {} (expected {})", tensor(), report::quote(value),
             encoding_names());
    entry_.encoding = found;
  } else {
    wrong(report::quote(value));
  }
  return true;
}

bool HeaderReader::start_object(std::size_t) {
  if (place_ == Place::start) {
    place_ = Place::root;
  } else if (place_ == Place::root && key_ == kMetadata) {
    place_ = Place::metadata;
  } else if (place_ == Place::root) {
    place_ = Place::tensor;
    entry_ = {};
    entry_.name = key_;
    fields_.clear();
    shape_.clear();
    offsets_.clear();
  } else {
    wrong("an object");
  }
  return true;
}

bool HeaderReader::key(std::string& key) {
  if (place_ == Place::root) {
    once(names_, key, "header");
  } else if (place_ == Place::metadata) {
    once(metadata_keys_, key, kMetadata);
  } else {
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse("{}: unknown field {} (expected dtype, shape, data_offsets)", tensor(),
             report::quote(key));
    once(fields_, key, tensor());
  }
  key_ = std::move(key);
  return true;
}

bool HeaderReader::end_object() {
  if (place_ == Place::tensor) finish_tensor();
  place_ = Place::root;
  return true;
}

bool HeaderReader::start_array(std::size_t) {
  if (place_ != Place::tensor || key_ == "dtype") wrong("a list");
  place_ = key_ == "shape" ? Place::shape : Place::offsets;
  return true;
}

bool HeaderReader::end_array() {
  place_ = Place::tensor;
  return true;
}

void HeaderReader::finish_tensor() {
  for (const char* field : {"dtype", "shape", "data_offsets"})
    if (!fields_.contains(field)) refuse("{}: {} is missing", tensor(), field);
  if (offsets_.size() != 2)
    refuse("{}: data_offsets: expected two, got {}", tensor(), offsets_.size());
  // As Shape counts: a size of 0 does not excuse the others.
  std::int64_t bytes = static_cast<std::int64_t>(entry_.encoding->bytes);
  std::vector<autograd::Index> sizes;
  for (const std::uint64_t size : shape_) {
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes))
      refuse("{}: shape [{}] is beyond 63 bits of bytes", tensor(), fmt::join(shape_, ", "));
    sizes.push_back(static_cast<autograd::Index>(size));
  }
  entry_.shape = autograd::Shape(sizes);
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  if (entry_.begin > entry_.end)
    refuse("{}: data_offsets: begin {} is above end {}", tensor(), entry_.begin, entry_.end);
  const std::uint64_t needed = entry_.shape.numel() == 0 ? 0 : static_cast<std::uint64_t>(bytes);
  if (entry_.end - entry_.begin != needed)
    refuse("{}: {} bytes expected, {} given", tensor(), needed, entry_.end - entry_.begin);
  header_.tensors.push_back(std::move(entry_));
}

void check_characters(std::string_view text) {
  if (!text.starts_with('{'))
    refuse("header: expected an object, got {}", report::quote(text.substr(0, 1)));
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = report::utf8_length(text.substr(i));
    if (length == 0) refuse("header: byte {} is not UTF-8", i + 1);
    // The end of the text to nlohmann::json.
    if (text[i] == '\0') refuse("header: byte {} is 0", i + 1);
    i += length;
  }
}

/// Each tensor begins where the one before it ends.
void check_order(std::vector<TensorEntry>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const TensorEntry& entry : tensors) {
    if (entry.begin != end)
      refuse("tensor {}: data_offsets: expected to begin at {}, got {}: {}", label(entry.name), end,
             entry.begin, entry.begin < end ? "an overlap" : "a hole");
    end = entry.end;
  }
}

std::string json_text(const std::string& text, const std::string& what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    refuse("{} {} is not UTF-8", what, report::quote(text, 100));
  }
}

}  // namespace

std::string label(std::string_view tensor) {
  const std::string quoted = report::quote(tensor.substr(0, 400), 100);
  return quoted.substr(1, quoted.size() - 2);
}

SafetensorsHeader parse_header(std::string_view text) {
  check_characters(text);
  HeaderReader reader;
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  SafetensorsHeader header = reader.take();
  check_order(header.tensors);
  return header;
}

std::string format_header(const SafetensorsHeader& header) {
  std::vector<std::string> parts, texts;
  for (const auto& [key, text] : header.metadata)
    texts.push_back(
        fmt::format("{}:{}", json_text(key, "metadata key"),
                    json_text(text, fmt::format("metadata {}:", report::quote(key, 100)))));
  if (!texts.empty())
    parts.push_back(fmt::format(R"("{}":{{{}}})", kMetadata, report::join(texts, ",")));
  for (const TensorEntry& entry : header.tensors) {
    if (entry.name == kMetadata) refuse("no tensor can be called {}", kMetadata);
    parts.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                json_text(entry.name, "tensor name"), entry.encoding->name,
                                fmt::join(entry.shape.sizes(), ","), entry.begin, entry.end));
  }
  std::string text = fmt::format("{{{}}}", report::join(parts, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    refuse("header: at most {} bytes, got {}", kMaxHeaderBytes, text.size());
  return text;
}

}  // namespace experiments::training
