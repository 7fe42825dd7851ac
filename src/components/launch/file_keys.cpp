// Keys of configuration files: YAML, JSON and the part of TOML that job files use.

#include "detail/source.hpp"

#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

void flatten(const YamlValue& value, const std::string& path, std::vector<Given>& out) {
  if (value.kind == YamlValue::Kind::map && !value.pairs.empty()) {
    for (const auto& [key, inner] : value.pairs)
      flatten(inner, path.empty() ? key.text : fmt::format("{}.{}", path, key.text), out);
    return;
  }
  Given leaf{.key = path, .value = value.text, .where = value.where};
  if (value.kind == YamlValue::Kind::sequence) {
    std::string items;
    for (const auto& item : value.items)
      items +=
          (items.empty() ? "" : ",") + (item.kind == YamlValue::Kind::scalar ? item.text : item.describe());
    leaf.value = items;
  }
  if (value.kind == YamlValue::Kind::null) leaf.value = "null";
  if (value.kind == YamlValue::Kind::map) leaf.value = "{}";
  out.push_back(std::move(leaf));
}

constexpr Fault kLine{.id = "mlsysim.launch.009",
                      .message = "a line of the TOML file is not understood",
                      .hint = "write it as '[table]' or 'key = value'"};

/// A line without its comment; texts may hold a #.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0) {
      if (line[i] == '\\' && quote == '"')
        ++i;
      else if (line[i] == quote)
        quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return std::string(text);
  const auto inside = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '\\' && text.front() == '"' && i + 1 < inside.size()) ++i;
    out += inside[i];
  }
  return out;
}

/// A scalar, or a list of scalars as words with commas.
std::string toml_value(std::string_view text, const std::string& name, int line) {
  text = trimmed(text);
  if (text.empty() || text.starts_with("{") || text.starts_with("\"\"\"") || text.starts_with("'''"))
    throw InputError(kLine.with({.found = fmt::format("'{}'", text.substr(0, 80)),
                                 .expected = "a text in quotes, a number, true, false or a list of them",
                                 .where = {name, line}}));
  if (text.front() == '"' || text.front() == '\'') {
    if (text.size() < 2 || text.back() != text.front())
      throw InputError(kLine.with({.found = fmt::format("'{}'", text.substr(0, 80)),
                                   .expected = fmt::format("a closing {}", text.front()),
                                   .where = {name, line}}));
    return unquoted(text);
  }
  if (text.front() == '[') {
    if (text.back() != ']')
      throw InputError(kLine.with({.found = fmt::format("'{}'", text.substr(0, 80)),
                                   .expected = "a closing ]",
                                   .where = {name, line}}));
    std::string out;
    auto inside = text.substr(1, text.size() - 2);
    while (!trimmed(inside).empty()) {
      const auto comma = std::min(inside.find(','), inside.size());
      const auto item = trimmed(inside.substr(0, comma));
      if (!item.empty()) out += (out.empty() ? "" : ",") + unquoted(item);
      inside.remove_prefix(std::min(comma + 1, inside.size()));
    }
    return out;
  }
  std::string out(text);
  if (std::isdigit(static_cast<unsigned char>(out.back())) != 0)
    out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

}  // namespace

std::vector<Given> flatten_yaml(std::string text, const std::string& name, const std::string& prefix) {
  const auto doc = YamlDocument::parse(std::move(text), name, YamlForm::foreign);
  std::vector<Given> out;
  flatten(doc.root(), prefix, out);
  return out;
}

std::vector<Given> flatten_toml(std::string_view text, const std::string& name) {
  std::vector<Given> out;
  std::string table, open;  // of a list that goes on in the next line: what was read of it
  int number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = trimmed(without_comment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    if (open.empty() && line.front() == '[') {
      if (line.back() != ']' || line.starts_with("[[") || line.size() < 3)
        throw InputError(kLine.with({.found = fmt::format("'{}'", line.substr(0, 80)),
                                     .expected = "a table such as [training]",
                                     .where = {name, number}}));
      table = unquoted(trimmed(line.substr(1, line.size() - 2)));
      continue;
    }
    open += line;
    const auto equals = open.find('=');
    if (equals == std::string::npos || trimmed(std::string_view(open).substr(0, equals)).empty())
      throw InputError(kLine.with({.found = fmt::format("'{}'", open.substr(0, 80)),
                                   .expected = "a key, = and a value",
                                   .where = {name, number}}));
    const auto value = trimmed(std::string_view(open).substr(equals + 1));
    if (value.starts_with("[") && value.back() != ']' && open.size() < kLongestLaunch && !text.empty())
      continue;
    auto key = unquoted(trimmed(std::string_view(open).substr(0, equals)));
    out.push_back({.key = table.empty() ? key : fmt::format("{}.{}", table, key),
                   .value = toml_value(value, name, number),
                   .where = {.file = name, .line = number}});
    open.clear();
  }
  return out;
}

}  // namespace mlsysim::detail
