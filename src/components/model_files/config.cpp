#include "detail/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace mlsysim::detail {
namespace {

constexpr std::string_view kByHand =
    "correct the file, or write the entry by hand (docs/how-to/add-a-model.md)";
/// No size of a model is larger; larger ones would only overflow what is computed of them.
constexpr double kLargest = 1e12;

}  // namespace

double checked_count(const Json& value, const std::string& file, const std::string& key) {
  const double x = value.is_number() ? value.get<double>() : -1;
  if (!(x >= 0) || x > kLargest || std::floor(x) != x)
    throw InputError("mlsysim.model_files.010", fmt::format("'{}' is no count", key), key, shown(value),
                     fmt::format("a whole number from 0 to {:g}", kLargest), std::string(kByHand), {file});
  return x;
}

Config::Config(const Json& section, std::string file, std::string path, std::string type,
               std::vector<std::string>& notes)
    : section_(section),
      file_(std::move(file)),
      path_(std::move(path)),
      type_(std::move(type)),
      family_(family_of(type_)),
      notes_(&notes) {}

bool Config::has(std::string_view key) const {
  const auto found = section_.find(key);
  return found != section_.end() && !found->is_null();
}

const Json* Config::at(std::string_view key) const {
  read_.emplace(key);
  const auto found = section_.find(key);
  return found == section_.end() || found->is_null() ? nullptr : &*found;
}

const Json* Config::of_field(std::string_view field, std::string_view* key) const {
  const Json* found = nullptr;
  bool known = false;
  for (const auto& alias : aliases()) {
    if (alias.field != field) continue;
    known = true;
    const Json* value = at(alias.key);
    if (value == nullptr || found != nullptr) continue;
    found = value;
    if (key != nullptr) *key = alias.key;
  }
  if (!known) throw std::logic_error("a field without a spelling: " + std::string(field));
  return found;
}

std::optional<double> Config::count(std::string_view field) const {
  std::string_view key;
  if (const Json* value = of_field(field, &key))
    return checked_count(*value, file_, path_ + std::string(key));
  auto otherwise = default_of(type_, field);
  if (!otherwise && !path_.empty()) otherwise = default_of(path_ + type_, field);
  if (otherwise) note(fmt::format("{}{} is not stated: {:g}, as {} has it", path_, field, *otherwise, type_));
  return otherwise;
}

double Config::count_or(std::string_view field, double otherwise) const {
  return count(field).value_or(otherwise);
}

double Config::needed(std::string_view field) const {
  const auto x = count(field);
  if (x && *x > 0) return *x;
  std::vector<std::string_view> keys;
  for (const auto& alias : aliases())
    if (alias.field == field) keys.push_back(alias.key);
  throw InputError("mlsysim.model_files.011", fmt::format("'{}{}' is missing", path_, keys.front()),
                   path_ + std::string(keys.front()), x ? "0" : "no such key",
                   fmt::format("a count above 0 under {}", fmt::join(keys, ", ")), std::string(kByHand),
                   {file_});
}

std::optional<bool> Config::flag(std::string_view field) const {
  std::string_view key;
  const Json* value = of_field(field, &key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse_key(key, "is no flag", *value, "true or false");
  return value->get<bool>();
}

std::string Config::text(std::string_view field) const {
  std::string_view key;
  const Json* value = of_field(field, &key);
  if (value == nullptr) return {};
  if (!value->is_string()) refuse_key(key, "is no text", *value, "a text");
  return value->get<std::string>();
}

const Json* Config::list(std::string_view key, double layers) const {
  const Json* value = at(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array() || static_cast<double>(value->size()) < layers)
    refuse_key(key, "does not name every layer", *value, fmt::format("a list of {:g} members", layers));
  return value;
}

void Config::note(std::string text) const {
  if (std::find(notes_->begin(), notes_->end(), text) == notes_->end()) notes_->push_back(std::move(text));
}

void Config::refuse_key(std::string_view key, std::string message, const Json& found,
                        std::string expected) const {
  const auto path = path_ + std::string(key);
  throw InputError("mlsysim.model_files.012", fmt::format("'{}' {}", path, message), path, shown(found),
                   std::move(expected), std::string(kByHand), {file_});
}

void Config::understood(std::initializer_list<std::string_view> keys) const {
  for (const auto key : keys) read_.emplace(key);
}

void Config::refuse_other_layers() const {
  for (const auto& [key, value] : section_.items())
    if (names_other_layers(key) && !value.is_null() && value != false && value != 0)
      refuse_key(key, fmt::format("is not read, and the class of '{}' is not known", type_), value,
                 "attention and dense layers, or a class that is known");
}

void Config::note_unread() const {
  std::vector<std::string> unread;
  for (const auto& [key, value] : section_.items()) {
    if (value.is_null() || read_.find(key) != read_.end() || without_effect(key)) continue;
    const bool off = value == false || value == 0;
    if (family_ == nullptr && names_other_layers(key) && !off && path_.find("vision") == std::string::npos &&
        path_.find("audio") == std::string::npos)
      refuse_key(key, fmt::format("is not read, and the class of '{}' is not known", type_), value,
                 "a decoder of attention and dense layers, or a class that is known");
    if (smells_of_structure(key)) unread.push_back(path_ + key);
  }
  if (!unread.empty()) note(fmt::format("not understood: {}", fmt::join(unread, ", ")));
}

}  // namespace mlsysim::detail
