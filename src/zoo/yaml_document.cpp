#include <mlsysim/zoo/detail/yaml_document.hpp>

#include "detail/yaml_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace mlsysim {
namespace {

YamlValue value_of(detail::NodeRef node, const std::string& file) {
  YamlValue out;
  const auto at = node.place();
  out.where = {file, static_cast<int>(at.line), static_cast<int>(at.column)};
  switch (node.kind()) {
    case detail::NodeKind::null:
      break;
    case detail::NodeKind::scalar:
      out.kind = YamlValue::Kind::scalar;
      out.quotes = node.quoted() ? YamlValue::Quotes::some : YamlValue::Quotes::none;
      out.text = std::string(node.text());
      break;
    case detail::NodeKind::sequence:
      out.kind = YamlValue::Kind::sequence;
      node.for_each_item([&](detail::NodeRef item) { out.items.push_back(value_of(item, file)); });
      break;
    case detail::NodeKind::map:
      out.kind = YamlValue::Kind::map;
      node.for_each_pair([&](detail::NodeRef key, detail::NodeRef value) {
        out.pairs.push_back({value_of(key, file), value_of(value, file)});
      });
      break;
  }
  return out;
}

/// Puts the pairs of maps behind `<<` into the maps that name them, where these have none of that key.
void merge(YamlValue& value) {
  for (auto& item : value.items) merge(item);
  for (auto& pair : value.pairs) merge(pair.value);
  const auto at = std::find_if(value.pairs.begin(), value.pairs.end(),
                               [](const YamlPair& pair) { return pair.key.text == "<<"; });
  if (at == value.pairs.end()) return;
  auto source = std::move(at->value);
  value.pairs.erase(at);
  if (source.kind == YamlValue::Kind::map) source.items = {YamlValue(source)};
  for (auto& map : source.items)
    for (auto& pair : map.pairs)
      if (value.find(pair.key.text) == nullptr) value.pairs.push_back(std::move(pair));
}

}  // namespace

bool valid_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto part = [&](std::size_t from, std::size_t count, int& out) {
    const char* first = text.data() + from;
    const auto [end, failed] = std::from_chars(first, first + count, out);
    return failed == std::errc{} && end == first + count && *first != '-';
  };
  int year = 0, month = 0, day = 0;
  if (!part(0, 4, year) || !part(5, 2, month) || !part(8, 2, day)) return false;
  return std::chrono::year_month_day(std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(month)),
                                     std::chrono::day(static_cast<unsigned>(day)))
      .ok();
}

const YamlValue* YamlValue::find(std::string_view key) const {
  for (const auto& [k, v] : pairs)
    if (k.text == key) return &v;
  return nullptr;
}

std::string YamlValue::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return fmt::format("the text {}", detail::quoted_text(text));
    case Kind::sequence:
      return "a list";
    case Kind::map:
      break;
  }
  return "a map";
}

YamlDocument YamlDocument::read(const std::filesystem::path& file) {
  auto source = detail::read_source(file);
  return parse(std::move(source.bytes), std::move(source.file));
}

YamlDocument YamlDocument::parse(std::string text, std::string name, YamlForm form) {
  const detail::SourceText source{std::move(name), std::move(text)};
  detail::check_text(source);
  detail::Problems problems;
  const auto tree = detail::parse_yaml(source, problems, form);
  problems.raise(fmt::format("{} cannot be read", source.file));
  YamlDocument out;
  out.file_ = source.file;
  out.bytes_ = source.bytes;
  out.root_ = value_of(detail::NodeRef(*tree, 0), out.file_);
  if (form == YamlForm::foreign) merge(out.root_);
  return out;
}

ErrorFacts YamlDocument::placed(ErrorFacts facts, const YamlValue& at) const {
  return detail::placed(
      std::move(facts), file_, bytes_,
      {static_cast<std::uint32_t>(at.where.line), static_cast<std::uint32_t>(at.where.column)});
}

}  // namespace mlsysim
