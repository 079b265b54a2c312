#include "experiments/training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "experiments/cli/errors.h"
#include "experiments/report/numbers.h"
#include "experiments/report/text.h"
#include "nn/io/safetensors_header.h"

namespace experiments::training {
namespace {

using nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr std::string_view kOurs = "gradlab.";
constexpr const char* kVersion = "gradlab.checkpoint";
constexpr const char* kStep = "gradlab.step";
constexpr const char* kConfig = "gradlab.config";
constexpr const char* kVocabulary = "gradlab.vocabulary";
constexpr const char* kData = "gradlab.data";
constexpr std::string_view kGenerator = "gradlab.generator.";
constexpr std::string_view kMetric = "gradlab.metric.";
constexpr const char* kCurrentVersion = "1";

[[noreturn]] void wrong(std::string_view key, std::string_view expected, std::string_view got) {
  throw cli::DataError(fmt::format("metadata {}: expected {}, got {}", report::quote(key, 100),
                                   expected, report::quote(got)));
}

/// The JSON in `text`, a discarded value if there is none. (A 0 would end it unseen.)
json parsed(const std::string& text) {
  if (text.find('\0') != text.npos) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::string& required(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw cli::DataError(fmt::format("metadata '{}' is missing", key));
  return found->second;
}

std::int64_t step_of(const std::string& text) {
  const auto step = number<std::int64_t>(text);
  if (!step || *step < 0) wrong(kStep, "a whole number of at least 0", text);
  return *step;
}

double metric_of(const std::string& key, const std::string& text) {
  const auto value = number<double>(text);
  if (!value) wrong(key, "a number", text);
  return *value;
}

const std::string& checked_config(const std::string& text) {
  if (!parsed(text).is_object()) wrong(kConfig, "a JSON object", text);
  return text;
}

bool is_utf8(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(report::utf8_length(text)))
    if (report::utf8_length(text) == 0) return false;
  return true;
}

std::string vocabulary_text(const std::vector<std::string>& vocabulary) {
  json list = json::array();
  for (const std::string& token : vocabulary) {
    if (is_utf8(token)) list.push_back(token);
    else list.push_back(std::vector<std::uint8_t>(token.begin(), token.end()));
  }
  return list.dump();
}

std::optional<std::string> token_of(const json& entry) {
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_array()) return std::nullopt;
  std::string bytes;
  for (const json& byte : entry) {
    if (!byte.is_number_unsigned() || byte.get<std::uint64_t>() > 255) return std::nullopt;
    bytes += static_cast<char>(byte.get<std::uint8_t>());
  }
  return bytes;
}

std::vector<std::string> vocabulary_of(const std::string& text) {
  const json list = parsed(text);
  if (!list.is_array()) wrong(kVocabulary, "a JSON list", text);
  std::vector<std::string> vocabulary;
  for (const json& entry : list) {
    auto token = token_of(entry);
    if (!token) wrong(kVocabulary, "strings or lists of bytes", entry.dump());
    vocabulary.push_back(*std::move(token));
  }
  return vocabulary;
}

void add_metadata(const Checkpoint& checkpoint, Metadata& metadata) {
  metadata[kVersion] = kCurrentVersion;
  metadata[kStep] = fmt::format("{}", checkpoint.step);
  metadata[kConfig] = checkpoint.config_json;
  metadata[kVocabulary] = vocabulary_text(checkpoint.vocabulary);
  if (!checkpoint.data.empty()) metadata[kData] = checkpoint.data;
  for (const auto& [name, value] : checkpoint.metrics)
    metadata[fmt::format("{}{}", kMetric, name)] = report::shortest(value);
}

void read_metadata(const Metadata& metadata, Checkpoint& checkpoint) {
  const std::string version = required(metadata, kVersion);
  if (version != kCurrentVersion) wrong(kVersion, fmt::format("'{}'", kCurrentVersion), version);
  checkpoint.step = step_of(required(metadata, kStep));
  checkpoint.config_json = checked_config(required(metadata, kConfig));
  checkpoint.vocabulary = vocabulary_of(required(metadata, kVocabulary));
  if (const auto data = metadata.find(kData); data != metadata.end())
    checkpoint.data = data->second;
  for (const auto& [key, text] : metadata) {
    const std::string_view view = key;
    const bool known = key == kVersion || key == kStep || key == kConfig || key == kVocabulary ||
                       key == kData || view.starts_with(kGenerator);
    if (view.starts_with(kMetric))
      checkpoint.metrics[key.substr(kMetric.size())] = metric_of(key, text);
    else if (view.starts_with(kOurs) && !known)
      throw cli::DataError(fmt::format("metadata {}: unknown", report::quote(key, 100)));
  }
}

/// error.what() after the name of the file.
[[noreturn]] void rethrow(const std::string& path, const cli::DataError& error) {
  throw cli::DataError(fmt::format("{}: {}", report::quote(path, 100), error.what()));
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  nn::Safetensors content;
  try {
    step_of(fmt::format("{}", checkpoint.step));
    checked_config(checkpoint.config_json);
    content = to_safetensors(checkpoint);
  } catch (const cli::DataError& error) {
    rethrow(path, error);
  }
  add_metadata(checkpoint, content.metadata);
  write_safetensors(path, content);
}

Checkpoint load_checkpoint(const std::string& path) {
  Checkpoint checkpoint;
  const nn::Safetensors content = nn::read_safetensors(
      path, [&](const auto& header) { read_metadata(header.metadata, checkpoint); });
  try {
    static_cast<nn::TrainingState&>(checkpoint) = nn::from_safetensors(content);
    return checkpoint;
  } catch (const cli::DataError& error) {
    rethrow(path, error);
  }
}

}  // namespace experiments::training
