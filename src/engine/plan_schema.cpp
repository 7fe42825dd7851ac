#include "detail/plan_table.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/reflect/range.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/zoo/schema.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

std::string description_of(const FieldInfo& f) {
  std::string out(f.meaning);
  if (!f.unit.empty()) out += fmt::format(" [{}]", f.unit);
  if (f.low > -kUnbounded && f.high < kUnbounded)
    out += fmt::format(", {} to {}", f.low, f.high);
  else if (f.low > -kUnbounded)
    out += fmt::format(", {} {}", f.open_low ? ">" : ">=", f.low);
  if (!f.default_source.empty()) out += fmt::format("; when left out: {}", f.default_source);
  return out;
}

Json schema_of(const FieldInfo& f) {
  Json out = Json::object();
  switch (f.kind) {
    case ValueKind::quantity:
      out = {{"type", "string"}, {"pattern", R"(^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*[^\s0-9].*$)"}};
      break;
    case ValueKind::number:
      out["type"] = f.integral ? "integer" : "number";
      if (f.low > -kUnbounded) out[f.open_low ? "exclusiveMinimum" : "minimum"] = f.low;
      if (f.integral || f.high < kUnbounded)
        out["maximum"] = f.integral ? std::min(f.high, kMostCount) : f.high;
      break;
    case ValueKind::flag:
      out["type"] = "boolean";
      break;
    case ValueKind::choice:
      out["enum"] = Json::array();
      for (const auto name : f.choices) out["enum"].push_back(name);
      break;
    case ValueKind::object:
      if (const auto kind = kind_of_type(f.object_type); !kind.empty()) out["x-kind"] = kind;
      [[fallthrough]];
    case ValueKind::text:
    case ValueKind::any:
      out["type"] = "string";
      break;
  }
  if (!f.unit.empty()) out["x-unit"] = f.unit;
  out["title"] = label_of(f.name);
  out["description"] = description_of(f);
  return out;
}

/// A field of Scenario, with what a form beside the schema needs: the unit of a quantity, the kind of a name
/// in the zoo, and, where it has no effect in some modes, those in which it has one.
Json schema_of(std::string_view field) {
  Json out = schema_of(*find_field(describe<Scenario>(), field));
  const auto& place = detail::plan_place(field);
  if (place.modes == detail::kAlways) return out;
  auto& modes = out["x-modes"] = Json::array();
  for (const Mode mode : {Mode::infer, Mode::serve, Mode::train})
    if (place.used_in(mode)) modes.push_back(Choices<Mode>::names[static_cast<std::size_t>(mode)]);
  return out;
}

Json assertion_schema() {
  const Json bound{
      {"type", Json::array({"string", "number"})},
      {"description", "inclusive bound with its unit; a bare number counts in the unit of the metric"}};
  return {
      {"type", "object"},
      {"additionalProperties", false},
      {"required", Json::array({"metric"})},
      {"properties",
       Json{{"metric",
             Json{{"type", "string"},
                  {"pattern", "^(feasibility|performance|macro|[A-Za-z][A-Za-z0-9_/-]*)\\.[A-Za-z0-9_.-]+$"},
                  {"description",
                   "level.metric, e.g. performance.ttft; or a resolver of 'also' and its result"}}},
            {"min", bound},
            {"max", bound}}}};
}

}  // namespace

std::string plan_schema() {
  Json root{{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "mlsysim plan, version 1"},
            {"description", "a workload, what it runs on, and what must hold of the scorecard"},
            {"type", "object"},
            {"additionalProperties", false},
            {"required", Json::array({"version", "name", "workload", "hardware"})},
            {"properties", Json::object()}};
  auto& top = root["properties"];
  top["version"] = {{"enum", Json::array({"1", "1.0", 1, 1.0})},
                    {"description", "version of the form of plans"}};
  for (const auto& key : plan_keys()) {
    if (key.key == "version") continue;
    Json* map = &top;
    if (!key.section.empty()) {
      auto& section = top[std::string(key.section)];
      if (section.is_null())
        section = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
      map = &section["properties"];
    }
    auto& slot = (*map)[std::string(key.key)];
    if (key.key == "assert")
      slot = {{"type", "array"}, {"items", assertion_schema()}};
    else if (key.key == "region")
      slot = {{"type", "string"}, {"description", "name of a grid or of a datacenter"}};
    else
      slot = schema_of(key.field);
  }
  top["workload"]["required"] = Json::array({"name"});
  top["hardware"]["required"] = Json::array({"name"});
  top["hardware"]["properties"]["name"]["description"] =
      "a device, node, pod or cluster of the zoo, or a YAML file with one";
  return detail::json_document(root);
}

}  // namespace mlsysim
