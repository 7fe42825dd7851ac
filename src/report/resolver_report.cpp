#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/resolver_report.hpp>

#include <mlsysim/report/detail/text_layout.hpp>
#include "detail/json_value.hpp"

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/resolvers/walls.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

using detail::Json;

std::string type_of(const FieldInfo& f) {
  switch (f.kind) {
    case ValueKind::quantity:
      return f.unit.empty() ? canonical_unit(f.exps) : std::string(f.unit);
    case ValueKind::object:
      return std::string(f.object_type);
    case ValueKind::choice:
      return fmt::format("{}", fmt::join(f.choices, "|"));
    case ValueKind::number:
      return f.integral ? "count" : "number";
    case ValueKind::flag:
    case ValueKind::text:
    case ValueKind::any:
      break;
  }
  return std::string(name_of(f.kind));
}

std::string range_of(const FieldInfo& f) {
  if (f.low > -kUnbounded && f.high < kUnbounded) return fmt::format("{} to {}", f.low, f.high);
  if (f.low > -kUnbounded) return fmt::format("{} {}", f.open_low ? ">" : ">=", f.low);
  return f.high < kUnbounded ? fmt::format("<= {}", f.high) : "";
}

std::string default_of(const FieldInfo& f) {
  if (f.required) return "required";
  if (std::holds_alternative<std::monostate>(f.default_value))
    return f.default_source.empty() ? "may be absent" : std::string(f.default_source);
  auto out = field_text(f, f.default_value);
  if (!f.default_source.empty()) out += fmt::format(" ({})", f.default_source);
  return out;
}

Table inputs_table(const Resolver& r) {
  Table t{.schema = "mlsysim/table@1",
          .title = "inputs",
          .columns = {{"input"}, {"type"}, {"range"}, {"when left out"}, {"meaning"}}};
  for (const auto& f : r.inputs())
    t.rows.push_back({f.name, type_of(f), range_of(f), default_of(f), f.meaning});
  return t;
}

Table outputs_table(const Resolver& r) {
  Table t{.schema = "mlsysim/table@1", .title = "outputs", .columns = {{"output"}, {"type"}, {"meaning"}}};
  for (const auto& f : r.outputs()) t.rows.push_back({f.name, type_of(f), f.meaning});
  return t;
}

Json field_json(const FieldInfo& f) {
  Json out{{"name", f.name}, {"label", label_of(f.name)}, {"kind", name_of(f.kind)},
           {"unit", f.unit}, {"meaning", f.meaning},      {"shared", f.shared}};
  if (f.low > -kUnbounded) out[f.open_low ? "above" : "minimum"] = f.low;
  if (f.high < kUnbounded) out["maximum"] = f.high;
  if (!f.choices.empty()) {
    out["choices"] = Json::array();
    for (const auto c : f.choices) out["choices"].push_back(c);
  }
  if (!f.object_type.empty()) out["object_type"] = f.object_type;
  return out;
}

std::string json_of(const Resolver& r) {
  const auto& i = r.info();
  Json out{{"schema", "mlsysim/resolver@1"},
           {"name", i.name},
           {"tier", name_of(i.tier)},
           {"about", i.about},
           {"law", i.law},
           {"source", i.source},
           {"origin", i.origin},
           {"walls", i.walls},
           {"laws", Json::array()},
           {"thread_safe", i.thread_safe},
           {"is_law", r.law() != nullptr},
           {"requires", Json::array()},
           {"produces", Json::array()},
           {"fallacies", Json::array()}};
  for (const auto law : laws_of(i.name)) out["laws"].push_back(law);
  for (const auto& f : r.inputs()) {
    auto one = field_json(f);
    one["required"] = f.required;
    if (!f.required) {
      one["default"] = detail::json_value(f.default_value, f.exps, std::string(f.unit));
      one["default_source"] = f.default_source;
    }
    out["requires"].push_back(std::move(one));
  }
  for (const auto& f : r.outputs()) out["produces"].push_back(field_json(f));
  for (const auto& f : i.fallacies)
    out["fallacies"].push_back({{"misconception", f.misconception}, {"correction", f.correction}});
  return detail::json_document(out);
}

}  // namespace

Table registry_table(const ResolverRegistry& registry) {
  Table t{.schema = "mlsysim/table@1",
          .title = "resolvers",
          .columns = {{"name"}, {"tier"}, {"walls"}, {"about"}}};
  const auto& all = registry.all();
  const auto foreign = [](const auto& r) { return r->info().origin != "C++"; };
  const bool several = std::any_of(all.begin(), all.end(), foreign);
  if (several) t.columns.push_back({"from"});
  for (const auto& r : all) {
    std::vector<Table::Cell> row{r->info().name, name_of(r->info().tier),
                                 fmt::format("{}", fmt::join(r->info().walls, " ")), r->info().about};
    if (several) row.push_back(foreign(r) ? r->info().origin : std::string("mlsysim"));
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::string render(const Resolver& resolver, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return json_of(resolver);
  if (options.format == OutputFormat::csv) {
    Table both{.schema = "mlsysim/table@1",
               .title = resolver.info().name,
               .columns = {{"side"}, {"name"}, {"type"}, {"range"}, {"default"}, {"meaning"}}};
    for (const auto& f : resolver.inputs())
      both.rows.push_back({"input", f.name, type_of(f), range_of(f), default_of(f), f.meaning});
    for (const auto& f : resolver.outputs())
      both.rows.push_back({"output", f.name, type_of(f), "", "", f.meaning});
    return render(both, options);
  }
  const bool markdown = options.format == OutputFormat::markdown;
  const auto& i = resolver.info();
  const auto head = fmt::format("{} ({})", i.name, name_of(i.tier));
  std::string out =
      markdown ? "# " + head + "\n\n" : detail::painted(head, detail::Paint::bold, options.colour) + "\n";
  const auto fact = [&](std::string_view label, const std::string& text) {
    if (text.empty()) return;
    out += markdown ? fmt::format("- {}: {}\n", label, text) : fmt::format("  {:<8} {}\n", label, text);
  };
  fact("about", i.about);
  fact("law", i.law);
  fact("source", i.source);
  std::string named_walls;
  for (const int n : i.walls)
    named_walls +=
        fmt::format("{}{} {}", named_walls.empty() ? "" : ", ", n, n >= 1 && n <= kWalls ? wall(n).name : "");
  fact("walls", named_walls);
  fact("laws", fmt::format("{}", fmt::join(laws_of(i.name), ", ")));
  fact("from", i.origin);
  fact("gives",
       resolver.law() != nullptr ? "values, derivatives, bounds, sweeps and derivations (a law)" : "values");
  out += "\n" + render(inputs_table(resolver), options) + "\n" + render(outputs_table(resolver), options);
  if (!i.fallacies.empty()) out += "\n";
  for (const auto& f : i.fallacies) {
    fact("fallacy", f.misconception);
    fact("instead", f.correction);
  }
  return out;
}

}  // namespace mlsysim
