#include <mlsysim/zoo/detail/yaml_faults.hpp>

#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

void YamlFaults::add(const YamlValue& at, ErrorFacts facts) {
  problems_.push_back(problems_.size() < kMostProblems ? doc_.placed(std::move(facts), at)
                                                       : std::move(facts));
}

void YamlFaults::keep(const YamlValue& at, const Error& error) {
  if (const auto* list = dynamic_cast<const ErrorList*>(&error); list != nullptr) {
    problems_.insert(problems_.end(), list->problems().begin(), list->problems().end());
    return;
  }
  auto facts = error.facts();
  if (facts.where.line > 0)
    problems_.push_back(std::move(facts));
  else
    add(at, std::move(facts));
}

void YamlFaults::raise() const {
  raise_problems(fmt::format("{} is not valid as {}", doc_.file(), what_), problems_);
}

bool YamlFaults::is_map(const YamlValue& value, std::string_view path, std::string_view expected) {
  const bool fine = value.kind == YamlValue::Kind::map;
  if (!fine) wrong(value, path, expected);
  return fine;
}
bool YamlFaults::is_list(const YamlValue& value, std::string_view path, std::string_view expected) {
  const bool fine = value.kind == YamlValue::Kind::sequence;
  if (!fine) wrong(value, path, expected);
  return fine;
}
bool YamlFaults::is_text(const YamlValue& value, std::string_view path, std::string_view expected) {
  const bool fine = value.kind == YamlValue::Kind::scalar && !value.text.empty();
  if (!fine) wrong(value, path, expected);
  return fine;
}

void YamlFaults::wrong(const YamlValue& value, std::string_view path, std::string_view expected) {
  add(value, {.id = std::string(ids_.form),
              .message = fmt::format("'{}' has the wrong form", path),
              .key = std::string(path),
              .found = value.describe(),
              .expected = std::string(expected),
              .hint = fmt::format("write {} there", expected)});
}

void YamlFaults::only(const YamlValue& map, std::string_view path, std::span<const std::string> known) {
  for (const auto& [key, value] : map.pairs) {
    if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    const auto near = did_you_mean(key.text, known);
    add(key, {.id = std::string(ids_.unknown),
              .message = fmt::format("{} has no key '{}'", path.empty() ? what_ : path, key.text),
              .key = key.text,
              .found = fmt::format("'{}'", key.text),
              .expected = fmt::format("one of {}", fmt::join(known, ", ")),
              .hint = near.empty() ? "leave it out" : near});
  }
}

const YamlValue* YamlFaults::need(const YamlValue& map, std::string_view key, std::string_view example) {
  const auto* value = map.kind == YamlValue::Kind::map ? map.find(key) : nullptr;
  if (value == nullptr)
    add(map, {.id = std::string(ids_.missing),
              .message = fmt::format("'{}' is missing", key),
              .key = std::string(key),
              .found = fmt::format("no key '{}'", key),
              .expected = fmt::format("a line such as '{}'", example),
              .hint = "add it"});
  return value;
}

std::vector<std::string> YamlFaults::texts(const YamlValue& value, std::string_view path) {
  std::vector<std::string> out;
  const auto take = [&](const YamlValue& v) {
    if (is_text(v, path, "a text")) out.push_back(v.text);
  };
  if (value.kind == YamlValue::Kind::sequence)
    for (const auto& v : value.items) take(v);
  else
    take(value);
  return out;
}

}  // namespace mlsysim::detail
