#include <mlsysim/zoo/schema.hpp>

#include "detail/kinds.hpp"
#include "detail/zoo_faults.hpp"

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mlsysim {
namespace detail {
namespace {

using Json = nlohmann::ordered_json;

// A number, blanks, and something that is no digit: the unit itself is checked by the loader.
constexpr const char* kQuantityPattern = R"(^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*[^\s0-9].*$)";

Json number_schema(const FieldRow& row) {
  Json out{{"type", "number"}};
  if (row.low > -kUnbounded) out[row.open_low ? "exclusiveMinimum" : "minimum"] = row.low;
  if (row.high < kUnbounded) out["maximum"] = row.high;
  return {{"anyOf", Json::array({out, Json{{"type", "string"}, {"pattern", R"(^[+-]?[0-9].*%$)"}},
                                 Json{{"$ref", "#/definitions/figure"}}})}};
}

Json quantity_schema() {
  return {{"anyOf", Json::array({Json{{"type", "string"}, {"pattern", kQuantityPattern}},
                                 Json{{"$ref", "#/definitions/figure"}}})}};
}

Json choice_schema(std::span<const std::string_view> names) {
  Json out{{"enum", Json::array()}};
  for (const auto name : names) out["enum"].push_back(name);
  return out;
}

Json text() { return {{"type", Json::array({"string", "number"})}}; }

Json table_schema(const TableInfo& table);

Json value_schema(const FieldRow& row, const MemberType& type) {
  switch (type.form) {
    case MemberForm::maybe:
      return value_schema(row, *type.item);
    case MemberForm::quantity:
      return quantity_schema();
    case MemberForm::number:
      return number_schema(row);
    case MemberForm::any_quantity:
      return {{"anyOf",
               Json::array({Json{{"type", "number"}}, Json{{"type", "string"}, {"pattern", kQuantityPattern}},
                            Json{{"$ref", "#/definitions/figure"}}})}};
    case MemberForm::flag:
      return {{"type", "boolean"}};
    case MemberForm::text:
      return text();
    case MemberForm::choice:
      return choice_schema(type.choices);
    case MemberForm::object:
      return {{"type", "string"}};
    case MemberForm::slots: {
      Json out{{"type", "object"}, {"additionalProperties", false}};
      for (const auto name : type.choices)
        out["properties"][std::string(name)] = value_schema(row, *type.item);
      return out;
    }
    case MemberForm::list:
      return {{"type", "array"}, {"items", value_schema(row, *type.item)}};
    case MemberForm::table:
      return table_schema(type.table());
  }
  return {};
}

std::string description_of(const FieldRow& row) {
  std::string out(row.meaning);
  if (!row.unit.empty()) out += fmt::format(" [{}]", row.unit);
  if (row.low > -kUnbounded || row.high < kUnbounded) {
    if (row.high >= kUnbounded)
      out += fmt::format(", {} {}", row.open_low ? ">" : ">=", row.low);
    else if (row.low <= -kUnbounded)
      out += fmt::format(", <= {}", row.high);
    else
      out += fmt::format(", {} to {}", row.low, row.high);
  }
  if (row.has_default) out += fmt::format("; when left out: {}", row.source);
  return out;
}

Json table_schema(const TableInfo& table) {
  Json out{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  Json required = Json::array();
  for (const auto& row : table.rows) {
    const auto form = row.type->form;
    auto field = value_schema(row, *row.type);
    field["description"] = description_of(row);
    if (form == MemberForm::flag ||
        (row.has_default && (form == MemberForm::choice || form == MemberForm::number))) {
      const Value value = row.type->get(row.in(table.blank));
      if (const auto* flag = std::get_if<bool>(&value))
        field["default"] = *flag;
      else if (const auto* number = std::get_if<double>(&value))
        field["default"] = *number;
      else
        field["default"] = std::get<std::string>(value);
    }
    out["properties"][std::string(row.name)] = std::move(field);
    if (row.must_be_given()) required.push_back(row.name);
  }
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

Json date() { return {{"type", "string"}, {"pattern", R"(^[0-9]{4}-[0-9]{2}-[0-9]{2}$)"}}; }

Json source_properties() {
  return {{"kind", choice_schema(Choices<SourceKind>::names)},
          {"ref", Json{{"type", "string"}}},
          {"verified", date()},
          {"recorded", date()},
          {"note", text()},
          {"formula", text()},
          {"same_die", text()},
          {"spread", Json{{"type", Json::array({"string", "number"})}}}};
}

Json definitions() {
  Json source{{"type", "object"},
              {"additionalProperties", false},
              {"properties", source_properties()},
              {"required", Json::array({"kind"})}};
  Json properties = source_properties();
  properties["value"] = {{"type", Json::array({"string", "number"})}};
  properties["range"] = {{"type", "array"},
                         {"minItems", 2},
                         {"maxItems", 2},
                         {"items", Json{{"type", Json::array({"string", "number"})}}}};
  Json figure{{"type", "object"},
              {"additionalProperties", false},
              {"properties", std::move(properties)},
              {"required", Json::array({"value"})}};
  Json decision{{"type", "object"},
                {"additionalProperties", false},
                {"properties", Json{{"field", text()},
                                    {"took", choice_schema(Choices<Settled>::names)},
                                    {"instead_of", text()},
                                    {"alternative", text()},
                                    {"why", text()},
                                    {"ref", text()},
                                    {"confidence", text()}}},
                {"required", Json::array({"field", "took", "why"})}};
  return {{"source", std::move(source)}, {"figure", std::move(figure)}, {"decision", std::move(decision)}};
}

Json file_schema(const KindInfo& kind, Json entry) {
  return {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", fmt::format("mlsysim/{}@{}", kind.name, kind.version)},
      {"description", std::string(kind.meaning)},
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"schema", "entries"})},
      {"properties", Json{{"schema", Json{{"const", fmt::format("mlsysim/{}@{}", kind.name, kind.version)}}},
                          {"entries", Json{{"type", "array"}, {"items", std::move(entry)}}}}},
      {"definitions", definitions()}};
}

void add_entry_keys(Json& entry, std::string_view kind) {
  auto& p = entry["properties"];
  p["title"] = {{"type", "string"}, {"description", "full name"}};
  p["aliases"] = {{"type", "array"}, {"items", Json{{"type", "string"}}}, {"description", "other names"}};
  p["guess"] = {{"type", "string"}, {"description", "what of the entry is one; answers say it first"}};
  p["origin"] = {{"type", "string"}, {"description", "mlsysim-py, added, user, or the name of a plugin"}};
  p["source"] = {{"$ref", "#/definitions/source"}, {"description", "who says so, and when that was read"}};
  if (kind == "model")
    p["shape_source"] = {{"$ref", "#/definitions/source"},
                         {"description", "source of the sizes, where it differs"}};
  p["decisions"] = {{"type", "array"},
                    {"items", Json{{"$ref", "#/definitions/decision"}}},
                    {"description", "how doubts were settled"}};
}

}  // namespace
}  // namespace detail

std::vector<std::string> zoo_kinds() {
  std::vector<std::string> out;
  for (const auto& kind : detail::kKinds) out.emplace_back(kind.name);
  return out;
}

std::string_view kind_of_type(std::string_view type) {
  if (type == ObjectType<ScalarFigure>::name) return {};
  for (const auto& kind : detail::kKinds) {
    bool same = false;
    detail::with_spec_of(kind.name, [&]<class T>() { same = ObjectType<T>::name == type; });
    if (same) return kind.name;
  }
  return {};
}

std::string json_schema(std::string_view name) {
  using detail::Json;
  const auto* kind = detail::find_kind(name);
  if (kind == nullptr)
    throw LookupError({.id = std::string(detail::id_of(detail::ZooFault::unknown_kind)),
                       .message = fmt::format("there is no kind of file '{}'", name),
                       .key = std::string(name),
                       .found = fmt::format("'{}'", name),
                       .expected = fmt::format("one of {}", fmt::join(zoo_kinds(), ", ")),
                       .hint = did_you_mean(name, zoo_kinds())});
  Json entry;
  const bool spec = detail::with_spec_of(name, [&]<class T>() {
    entry = detail::table_schema(field_table<T>());
    detail::add_entry_keys(entry, name);
  });
  if (!spec)
    entry = {
        {"type", "object"},
        {"additionalProperties", false},
        {"properties", Json{{"key", Json{{"type", "string"}}},
                            {"text", Json{{"type", "string"}}},
                            {"url", Json{{"type", "string"}}},
                            {"measured_on", Json{{"type", "array"}, {"items", Json{{"type", "string"}}}}}}},
        {"required", Json::array({"key", "text"})}};
  return detail::json_document(detail::file_schema(*kind, std::move(entry)));
}

}  // namespace mlsysim
