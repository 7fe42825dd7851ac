// Axes out of YAML files: lists of values, rows of coupled values, named configurations, and whole spaces.

#include "explore/space/axis_files.hpp"

#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

using Kind = YamlValue::Kind;

constexpr const char* kAxisFile{"mlsysim.explore.032"};

const std::string& text_of(const YamlDocument& doc, const YamlValue& v) {
  if (v.kind != Kind::scalar || v.text.empty())
    throw InputError(doc.placed({kAxisFile, "a value of an axis is no single value", "axis", v.describe(),
                                 "a number, a quantity or a name"},
                                v));
  return v.text;
}

DynamicValue value_of(const YamlDocument& doc, const YamlValue& v, const std::string& name,
                      const detail::AxisValue& value) {
  try {
    return value(name, text_of(doc, v));
  } catch (const Error& error) {
    // The reader of values does not know the file.
    if (!error.facts().where.file.empty()) throw;
    ErrorFacts facts = error.facts();
    throw InputError(doc.placed(std::move(facts), v));
  }
}

/// Maps with the same keys: one row each, under the key "name" if there is one.
void add_configurations(const YamlDocument& doc, const YamlValue& list, SpaceAxis& axis,
                        const detail::AxisValue& value) {
  axis.caption = axis.names.empty() ? "configuration" : axis.title();
  axis.names.clear();
  for (const auto& [key, unused] : list.items[0].pairs)
    if (key.text != "name") axis.names.push_back(key.text);
  if (axis.names.empty())
    throw InputError(doc.placed(
        {kAxisFile, "a configuration sets nothing", "axis", "no key but 'name'", "fields and their values"},
        list.items[0]));
  for (const auto& item : list.items) {
    if (item.kind != Kind::map)
      throw InputError(doc.placed({kAxisFile, "configurations are maps, all of them", "axis", item.describe(),
                                   "a map like the first one"},
                                  item));
    std::vector<DynamicValue> row;
    for (const auto& name : axis.names) {
      const YamlValue* v = item.find(name);
      if (v == nullptr)
        throw InputError(
            doc.placed({kAxisFile, fmt::format("a configuration does not say '{}'", name), "axis",
                        "no such key", fmt::format("{}, as in the first one", fmt::join(axis.names, ", "))},
                       item));
      row.push_back(value_of(doc, *v, name, value));
    }
    for (const auto& [key, unused] : item.pairs)
      if (key.text != "name" && std::find(axis.names.begin(), axis.names.end(), key.text) == axis.names.end())
        throw InputError(
            doc.placed({kAxisFile, "a configuration says more than the first one", "axis",
                        fmt::format("'{}'", key.text), fmt::format("{}", fmt::join(axis.names, ", "))},
                       key));
    axis.rows.push_back(std::move(row));
    const YamlValue* label = item.find("name");
    axis.labels.push_back(label != nullptr ? text_of(doc, *label) : fmt::format("#{}", axis.rows.size()));
  }
}

SpaceAxis axis_of(const YamlDocument& doc, const YamlValue& list, std::vector<std::string> names,
                  const detail::AxisValue& value) {
  if (list.kind != Kind::sequence)
    throw InputError(doc.placed({kAxisFile, "an axis is a list", "axis", list.describe(),
                                 "a list of values, of rows, or of configurations"},
                                list));
  SpaceAxis axis;
  axis.names = std::move(names);
  if (list.items.empty())
    throw InputError(doc.placed(
        {kAxisFile, "the axis is empty", "axis", "a list without values", "at least one value"}, list));
  if (list.items[0].kind == Kind::map) {
    add_configurations(doc, list, axis, value);
    return axis;
  }
  for (const auto& item : list.items) {
    std::vector<DynamicValue> row;
    if (axis.names.size() == 1 && item.kind != Kind::sequence) {
      row.push_back(value_of(doc, item, axis.names[0], value));
      if (std::holds_alternative<ObjectRef>(row[0].value)) {
        axis.labels.resize(axis.size());
        axis.labels.push_back(item.text);
      }
    } else {
      if (item.kind != Kind::sequence || item.items.size() != axis.names.size())
        throw InputError(doc.placed(
            {kAxisFile, fmt::format("a row of the axis '{}' does not fit", axis.title()), "axis",
             item.kind == Kind::sequence ? fmt::format("{} values", item.items.size()) : item.describe(),
             fmt::format("a list of {} values", axis.names.size())},
            item));
      for (std::size_t k = 0; k < item.items.size(); ++k)
        row.push_back(value_of(doc, item.items[k], axis.names[k], value));
    }
    if (row.size() == 1)
      axis.add(std::move(row[0]));
    else
      axis.rows.push_back(std::move(row));
  }
  return axis;
}

}  // namespace

namespace detail {

SpaceAxis axis_in_file(std::vector<std::string> names, const std::string& path, const AxisValue& value) {
  const auto doc = YamlDocument::read(path);
  return axis_of(doc, doc.root(), std::move(names), value);
}

}  // namespace detail

std::vector<SpaceAxis> read_axes(
    const std::string& path, const std::function<DynamicValue(std::string_view, std::string_view)>& value) {
  const auto doc = YamlDocument::read(path);
  const YamlValue& root = doc.root();
  if (root.kind != Kind::map || root.pairs.empty())
    throw InputError(doc.placed({kAxisFile, "a file of axes is a map", "axis", root.describe(),
                                 "NAME: values", "a file with a list alone is one axis: NAME=@FILE"},
                                root));
  std::vector<SpaceAxis> out;
  for (const auto& [key, values] : root.pairs) {
    if (values.kind == Kind::scalar) {
      try {
        out.push_back(parse_axis(key.text + "=" + values.text, value));
      } catch (const Error& error) {
        if (!error.facts().where.file.empty()) throw;
        throw InputError(doc.placed(ErrorFacts(error.facts()), values));
      }
      continue;
    }
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= key.text.size();) {
      const auto comma = std::min(key.text.find(',', at), key.text.size());
      auto name = key.text.substr(at, comma - at);
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      names.push_back(std::move(name));
      at = comma + 1;
    }
    out.push_back(axis_of(doc, values, std::move(names), value));
  }
  return out;
}

}  // namespace mlsysim
