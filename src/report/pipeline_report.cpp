#include <mlsysim/report/pipeline_report.hpp>

#include <mlsysim/report/detail/text_layout.hpp>
#include "detail/json_value.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

Table result_table(const StageView& stage) {
  Table t{.schema = "mlsysim/table@1",
          .title = std::string(stage.name()),
          .columns = {{"result"}, {"value"}, {"meaning"}}};
  for (const auto& f : stage.resolver().outputs())
    t.rows.push_back({f.name, field_text(f, stage[f.name].value), f.meaning});
  return t;
}

std::string csv_of(const Run& run) {
  std::string out = "stage,status,result,value,unit,base_value,base_unit\n";
  for (const auto& stage : run.stages()) {
    if (!stage.ok()) {
      out += fmt::format("{},{},,{},,,\n", stage.name(), name_of(stage.status()),
                         detail::csv_field(stage.reason()));
      continue;
    }
    for (const auto& f : stage.resolver().outputs()) {
      const auto given = stage[f.name];
      const auto* x = std::get_if<double>(&given.value);
      if (x == nullptr) {
        out += fmt::format("{},ok,{},{},,,\n", stage.name(), f.name,
                           detail::csv_field(field_text(f, given.value)));
      } else {
        const bool quantity = !f.unit.empty();
        out += fmt::format("{},ok,{},{},{},{},{}\n", stage.name(), f.name,
                           format_exact(quantity ? AnyQuantity::from_base(*x, given.exps).in(f.unit) : *x),
                           f.unit, format_exact(*x), canonical_unit(given.exps));
      }
    }
  }
  return out;
}

}  // namespace

std::string render(const Run& run, const RenderOptions& options) {
  if (options.format == OutputFormat::json) {
    auto json = run.to_json();
    if (json.empty() || json.back() != '\n') json += '\n';
    return json;
  }
  if (options.format == OutputFormat::csv) return csv_of(run);
  const bool markdown = options.format == OutputFormat::markdown;
  std::string out = markdown ? fmt::format("# {}\n", run.pipeline().name()) : "";
  for (const auto& stage : run.stages()) {
    const auto head =
        fmt::format("{}: {}", stage.name(), stage.does_not_fit() ? "does not fit" : name_of(stage.status()));
    if (!out.empty()) out += "\n";
    out += markdown ? fmt::format("## {}\n\n", head)
                    : detail::painted(head, detail::Paint::bold, options.colour) + "\n";
    if (stage.ok()) {
      out += render(result_table(stage), options);
    } else {
      if (stage.why() != nullptr)
        out += stage.why()->text() + "\n";
      else
        out += fmt::format("{}\n", stage.reason());
    }
    const NoteBook book = run.notes(stage.name());
    const auto& assumptions = book.assumptions;
    for (const auto& w : book.warnings)
      out += markdown ? fmt::format("\n> warning: {}\n", w)
                      : fmt::format("{}{}\n",
                                    detail::painted("warning: ", detail::Paint::warn, options.colour), w);
    if (options.verbosity == Verbosity::brief) {
      if (!assumptions.empty())
        out += fmt::format("{}{} assumptions, with their sources: --verbose\n", markdown ? "\n" : "",
                           assumptions.size());
      continue;
    }
    Table t{.schema = "mlsysim/table@1", .columns = {{"assumption"}, {"value"}, {"source"}}};
    for (const auto& a : assumptions) t.rows.push_back({a.name.str(), a.value.str(), a.source.str()});
    out += "\n" + render(t, options);
  }
  return out;
}

}  // namespace mlsysim
