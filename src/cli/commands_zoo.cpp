#include "commands.hpp"
#include "schemas.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/report/zoo_report.hpp>
#include <mlsysim/specs/releases.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/version.hpp>
#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/schema.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Exact; whole numbers that a double holds exactly are written out.
std::string number_text(double x) {
  return std::floor(x) == x && std::abs(x) < 1e15 ? fmt::format("{:.0f}", x) : format_exact(x);
}

bool has_name(const Entry& e, std::string_view name) {
  return e.name == name || std::find(e.aliases.begin(), e.aliases.end(), name) != e.aliases.end();
}

}  // namespace

const Zoo& zoo() { return standard_zoo(); }

Answer zoo_list(const std::string& kind, const RenderOptions& options) {
  auto table = zoo_table(zoo(), kind);
  table.footer = fmt::format("{} entries; mlsysim zoo show NAME gives the sources", table.rows.size());
  return {render(table, options)};
}

Answer zoo_show(const std::string& name, const std::string& kind, ShowAs as, const RenderOptions& options) {
  std::vector<const Entry*> found;
  std::vector<std::string> names;
  for (const auto* e : zoo().entries()) {
    if (!kind.empty() && e->kind != kind) continue;
    if (has_name(*e, name)) found.push_back(e);
    names.push_back(e->name);
  }
  // A release of an engine may be part of an entry of fewer parts.
  if (found.empty() && !release_name(name).version.empty() && (kind.empty() || kind == "engine") &&
      !releases_of(zoo(), release_name(name).family).empty())
    found.push_back(zoo().at<ServingEngine>(name).entry);
  if (found.empty())
    throw LookupError(
        {.id = "mlsysim.cli.010",
         .message = fmt::format("the zoo has no entry '{}'", name),
         .key = name,
         .found = fmt::format("'{}'", name),
         .expected = "the name or an alias of an entry",
         .hint = names.empty()
                     ? fmt::format("'{}' is no kind of entry; mlsysim zoo list shows the kinds", kind)
                     : did_you_mean(name, names)});
  if (found.size() > 1) {
    std::vector<std::string> kinds;
    for (const auto* e : found) kinds.push_back(e->kind);
    throw LookupError({.id = "mlsysim.cli.011",
                       .message = fmt::format("'{}' is the name of several entries", name),
                       .key = name,
                       .found = fmt::format("entries of the kinds {}", fmt::join(kinds, ", ")),
                       .expected = "one entry",
                       .hint = fmt::format("add --kind {}", kinds.front())});
  }
  if (as == ShowAs::yaml) return {to_yaml(zoo(), *found.front())};
  return {render(zoo(), *found.front(), options)};
}

Answer zoo_search(const std::string& words, const RenderOptions& options) {
  const auto found = search_zoo(zoo(), words);
  Answer out{render(entry_table(found), options)};
  if (found.empty()) {
    out.diagnostics = fmt::format(
        "mlsysim: error: nothing in the zoo is like '{}'; mlsysim zoo list shows everything\n", words);
    out.exit = Exit::bad_input;
    out.payload.clear();
  }
  return out;
}

Answer zoo_lint(const std::vector<std::string>& paths, const RenderOptions& options) {
  LoadOptions load;
  for (const auto& path : paths) load.additional.emplace_back(path);
  auto report = lint(load);
  // Named files are checked alone; what keeps the zoo from loading is reported in any case.
  if (!paths.empty())
    std::erase_if(report.warnings, [&](const ErrorFacts& w) {
      return std::none_of(paths.begin(), paths.end(), [&](const std::string& path) {
        return w.where.file == path || w.where.file.starts_with(path + "/");
      });
    });
  Answer out;
  if (!report.problems.empty()) out.exit = Exit::bad_input;
  if (options.format == OutputFormat::text) {
    for (const auto& p : report.problems) out.payload += "problem: " + mlsysim::render(p) + "\n";
    const bool verbose = options.verbosity == Verbosity::verbose;
    if (verbose)
      for (const auto& w : report.warnings) out.payload += "warning: " + mlsysim::render(w) + "\n";
    out.payload += fmt::format("{} problems, {} warnings{}\n", report.problems.size(), report.warnings.size(),
                               verbose || report.warnings.empty() ? "" : " (--verbose lists them)");
    return out;
  }
  Table table{.schema = "mlsysim/lint@1",
              .title = "lint",
              .columns = {{"severity"},
                          {"id"},
                          {"file"},
                          {"line"},
                          {"column"},
                          {"message"},
                          {"found"},
                          {"expected"},
                          {"hint"}}};
  const auto add = [&](const char* severity, const ErrorFacts& f) {
    table.rows.push_back({severity, f.id, f.where.file, static_cast<double>(f.where.line),
                          static_cast<double>(f.where.column), f.message, f.found, f.expected, f.hint});
  };
  for (const auto& p : report.problems) add("problem", p);
  for (const auto& w : report.warnings) add("warning", w);
  out.payload = render(table, options);
  return out;
}

Answer schema(const std::string& type) {
  // Schemas of files that are not part of the zoo.
  static constexpr std::pair<std::string_view, std::string (*)()> others[] = {
      {"plan", plan_schema},
      {"event", event_schema},
      {"observability", observability_schema},
      {"explain_document", explain_schema}};
  for (const auto& [name, make] : others)
    if (type == name) return {make()};
  const auto kinds = zoo_kinds();
  if (std::find(kinds.begin(), kinds.end(), type) == kinds.end()) {
    auto names = kinds;
    for (const auto& [name, make] : others) names.emplace_back(name);
    throw LookupError(
        unknown_name("mlsysim.cli.012", fmt::format("there is no schema '{}'", type), type, names));
  }
  return {json_schema(type)};
}

Answer units_convert(const std::string& quantity, const std::string& unit, const RenderOptions& options) {
  const auto q = AnyQuantity::parse(quantity);
  const double number = q.in(unit);
  const auto text = unit.empty() ? number_text(number) : fmt::format("{} {}", number_text(number), unit);
  if (options.format == OutputFormat::json)
    return {detail::json_document(Json({{"schema", "mlsysim/quantity@1"},
                                        {"from", quantity},
                                        {"value", number},
                                        {"unit", unit},
                                        {"base_value", q.base()},
                                        {"base_unit", canonical_unit(q.exponents())},
                                        {"dimension", dimension_name(q.exponents())}}))};
  if (options.format == OutputFormat::csv)
    return {fmt::format("value,unit,base_value,base_unit\n{},{},{},{}\n", format_exact(number), unit,
                        format_exact(q.base()), canonical_unit(q.exponents()))};
  return {text + "\n"};
}

Answer units_list(const RenderOptions& options) {
  const auto& registry = UnitRegistry::standard();
  Table table{.schema = "mlsysim/table@1",
              .title = "units",
              .columns = {{"unit"}, {"dimension"}, {"prefixes"}, {"meaning"}}};
  for (const auto& u : registry.units()) {
    auto prefixes = u.decimal;
    for (const char c : u.binary) prefixes += fmt::format("{}{}i", prefixes.empty() ? "" : " ", c);
    table.rows.push_back({u.symbol, dimension_name(u.exps), prefixes, u.meaning});
  }
  for (const auto& a : registry.aliases())
    table.rows.push_back({a.spelling, "", "", "read as " + a.canonical});
  for (const auto& r : registry.refusals()) table.rows.push_back({r.spelling, "", "", "refused: " + r.hint});
  return {render(table, options)};
}

Answer version(const RenderOptions& options) {
  if (options.format == OutputFormat::json)
    return {detail::json_document(
        Json({{"schema", "mlsysim/version@1"}, {"name", "mlsysim"}, {"version", version_text}}))};
  return {fmt::format("mlsysim {}\n", version_text)};
}

}  // namespace mlsysim::cli
