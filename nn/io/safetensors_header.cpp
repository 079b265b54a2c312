#include "nn/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "nn/io/errors.h"
#include "nn/io/text.h"

namespace nn {
namespace {

using nlohmann::json;

constexpr const char* kMetadata = "__metadata__";

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw DataError(fmt::format(text, std::forward<Args>(args)...));
}

/// What a message calls a value that should not be there.
std::string shown(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return quote(value.get_ref<const std::string&>(), 40);
  return value.dump();
}

// --- reading

/// Text to JSON. The parser alone would take the last of two equal keys, a 0 for the end of the
/// text, and any depth and length.
json parsed(std::string_view text) {
  if (text.substr(0, 1) != "{")
    refuse("header: expected an object, got {}", quote(text.substr(0, 1)));
  const std::size_t zero = text.find('\0');
  if (zero != text.npos) refuse("header: byte {} is 0", zero + 1);
  std::set<std::string> names, fields;  // of the header, and of the tensor that is being read
  std::string tensor;
  int numbers = 0;  // of the list
  const auto look = [&](int depth, json::parse_event_t event, const json& value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start && depth == 1) fields.clear();
    if (event == Event::array_start && depth < 2)
      refuse("{}: expected an object, got a list", tensor);
    if (event == Event::array_start && depth == 2) numbers = 0;
    if (depth > 4) refuse("{}: lists and objects are nested too deeply", tensor);
    if (depth == 3 && ++numbers > Shape::kMaxRank)
      refuse("{}: expected at most {} numbers in a list, got more", tensor, +Shape::kMaxRank);
    if (event != Event::key) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (depth == 1 ? !names.insert(key).second : !fields.insert(key).second)
      refuse("{}: {} comes twice", depth == 1 ? "header" : tensor, quote(key));
    if (depth == 1) tensor = key == kMetadata ? key : fmt::format("tensor {}", label(key));
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), look);
  } catch (const json::parse_error& error) {
    refuse("header: not JSON at byte {}", error.byte);
  } catch (const json::out_of_range&) {
    refuse("{}: a number is out of range", tensor);
  }
}

std::string known_dtypes() {
  std::vector<std::string_view> known;
  for (const Encoding& encoding : kEncodings) known.push_back(encoding.name);
  return fmt::format("{}", fmt::join(known, ", "));
}

const Encoding* find_encoding(std::string_view dtype) {
  const auto* end = std::end(kEncodings);
  const auto* found = std::find_if(std::begin(kEncodings), end,
                                   [dtype](const Encoding& e) { return e.name == dtype; });
  return found == end ? nullptr : found;
}

std::vector<std::uint64_t> whole_numbers(const std::string& what, const json& list) {
  if (!list.is_array()) refuse("{}: expected a list of whole numbers, got {}", what, shown(list));
  std::vector<std::uint64_t> numbers;
  for (const json& number : list) {
    if (!number.is_number_unsigned())
      refuse("{}: expected whole numbers of at least 0, got {}", what, shown(number));
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

/// Bytes of its elements, counted as Shape does: a size of 0 does not excuse the others.
std::uint64_t checked_bytes(const std::string& what, const std::vector<std::uint64_t>& sizes,
                            std::uint64_t item_bytes) {
  auto bytes = static_cast<std::int64_t>(item_bytes);
  for (const std::uint64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes))
      refuse("{}: [{}] needs more bytes than fit into 63 bits", what, fmt::join(sizes, ", "));
  }
  return std::count(sizes.begin(), sizes.end(), 0u) > 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

TensorEntry entry_of(const std::string& name, const json& fields) {
  const std::string tensor = fmt::format("tensor {}", label(name));
  if (!fields.is_object()) refuse("{}: expected an object, got {}", tensor, shown(fields));
  for (const char* field : {"dtype", "shape", "data_offsets"})
    if (!fields.contains(field)) refuse("{}: {} is missing", tensor, field);
  if (fields.size() > 3)
    refuse("{}: expected dtype, shape and data_offsets, got {} fields", tensor, fields.size());
  const json& dtype = fields["dtype"];
  if (!dtype.is_string())
    refuse("{}: dtype: expected {}, got {}", tensor, known_dtypes(), shown(dtype));
  const Encoding* encoding = find_encoding(dtype.get_ref<const std::string&>());
  const auto sizes = whole_numbers(tensor + ": shape", fields["shape"]);
  const std::uint64_t needed =
      checked_bytes(tensor + ": shape", sizes, encoding ? encoding->bytes : 1);
  const auto offsets = whole_numbers(tensor + ": data_offsets", fields["data_offsets"]);
  if (offsets.size() != 2) refuse("{}: data_offsets: expected two, got {}", tensor, offsets.size());
  const std::uint64_t begin = offsets[0], end = offsets[1];
  if (begin > end) refuse("{}: data_offsets: begin {} is above end {}", tensor, begin, end);
  if (encoding && end - begin != needed)
    refuse("{}: {} bytes expected, {} given", tensor, needed, end - begin);
  return {name,     dtype.get<std::string>(),
          encoding, Shape(std::vector<Index>(sizes.begin(), sizes.end())),
          begin,    end};
}

std::map<std::string, std::string> metadata_of(const json& texts) {
  if (!texts.is_object()) refuse("{}: expected an object, got {}", kMetadata, shown(texts));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : texts.items()) {
    if (!text.is_string())
      refuse("metadata {}: expected a string, got {}", quote(key), shown(text));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
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

// --- writing

void check_utf8(const std::string& what, const std::string& text) {
  try {
    (void)json(text).dump();
  } catch (const json::type_error&) {
    refuse("{} {} is not UTF-8", what, quote(text));
  }
}

}  // namespace

std::string label(std::string_view tensor) {
  const std::string quoted = quote(tensor);
  return quoted.substr(1, quoted.size() - 2);
}

const Encoding& encoding_of(const TensorEntry& entry) {
  if (entry.encoding) return *entry.encoding;
  refuse("tensor {}: dtype: expected {}, got {}", label(entry.name), known_dtypes(),
         quote(entry.dtype, 40));
}

SafetensorsHeader parse_header(std::string_view text) {
  const json root = parsed(text);
  SafetensorsHeader header;
  for (const auto& [name, value] : root.items()) {
    if (name == kMetadata) header.metadata = metadata_of(value);
    else header.tensors.push_back(entry_of(name, value));
  }
  check_order(header.tensors);
  return header;
}

std::string format_header(const SafetensorsHeader& header) {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const auto& [key, text] : header.metadata) {
    check_utf8("metadata key", key);
    check_utf8(fmt::format("metadata {}:", quote(key)), text);
  }
  if (!header.metadata.empty()) root[kMetadata] = header.metadata;
  for (const TensorEntry& entry : header.tensors) {
    if (entry.name == kMetadata) refuse("no tensor can be called {}", kMetadata);
    check_utf8("tensor name", entry.name);
    root[entry.name] = {{"dtype", entry.encoding->name},
                        {"shape", entry.shape.sizes()},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = root.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    refuse("header: at most {} bytes, got {}", kMaxHeaderBytes, text.size());
  return text;
}

}  // namespace nn
