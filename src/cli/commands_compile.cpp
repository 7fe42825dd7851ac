#include "commands_compile.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::cli {
namespace {

std::string place_text(const SourceLine& place) {
  return place.file.empty() ? std::string() : fmt::format("{}:{} {}", place.file, place.line, place.function);
}

Table runs_table(const CompileRecords& all) {
  Table table{.schema = "mlsysim/compile_runs@1",
              .title = "Compile runs",
              .columns = {{"family"},
                          {"model"},
                          {"commit"},
                          {"form"},
                          {"status"},
                          {"frames"},
                          {"graphs"},
                          {"breaks"},
                          {"listed"},
                          {"ops"},
                          {"guards"},
                          {"compile_time", "s"},
                          {"restarts"},
                          {"lost_to_restarts", "s"},
                          {"recompiles"},
                          {"cache_hits"},
                          {"cache_misses"},
                          {"faults"}}};
  for (const auto& r : all.records)
    table.rows.push_back({r.family, r.model, r.commit, name_of(r.form), r.status, r.frames, r.graph_count,
                          r.graph_breaks, static_cast<double>(r.breaks.size()), r.op_count, r.guards,
                          r.compile_time, r.restarts, r.lost_to_restarts, r.recompiles, r.cache_hits,
                          r.cache_misses, r.read.faults()});
  return table;
}

Table breaks_table(const CompileRecords& all, BreaksBy by) {
  Table table{.schema = "mlsysim/compile_breaks@1",
              .title = by == BreaksBy::type ? "Breaks by type" : "Breaks by place",
              .columns = {{"breaks"}, {"models"}, {"type"}, {"category"}, {"id"}, {"place"}, {"hint"}}};
  double unlisted = 0;
  for (const auto& r : all.records) unlisted += r.unlisted();
  for (const auto& g : groups_of(all, by))
    table.rows.push_back(
        {g.count, g.models, g.type, name_of(g.category), g.gb_id, place_text(g.place), g.hint});
  if (unlisted > 0)
    table.footer = fmt::format("{:g} more breaks are counted by their source, without a reason", unlisted);
  return table;
}

Table phases_table(const CompileRecords& all) {
  Table table{.schema = "mlsysim/compile_phases@1",
              .title = "Compile time by phase",
              .columns = {{"model"}, {"phase"}, {"runs"}, {"time", "s"}}};
  for (const auto& r : all.records)
    for (const auto& p : r.phases) table.rows.push_back({r.model, p.name, p.runs, p.time});
  return table;
}

std::string diagnostics_of(const CompileRecords& all) {
  std::string out;
  const auto note = [&](const std::string& text) { out += fmt::format("mlsysim: note: {}\n", text); };
  for (const auto& n : all.notes) note(n);
  for (const auto& r : all.records) {
    for (const auto& n : r.notes) note(fmt::format("{}: {}", r.source, n));
    if (r.read.faults() > 0)
      note(fmt::format("{}: {:g} faults, see 'read' in -o json", r.source, r.read.faults()));
    if (!r.error.empty()) note(fmt::format("{}: {}", r.model, r.error.substr(0, r.error.find('\n'))));
  }
  for (const auto& d : all.duplicates)
    for (const auto& other : d.others) note(fmt::format("{} has the same content as {}", other, d.counted));
  return out;
}

}  // namespace

Answer compile_ingest(const IngestRequest& request, const RenderOptions& options) {
  auto how = request.how;
  how.damage = request.strict ? Damage::refused : Damage::counted;
  how.duplicates = request.keep_duplicates ? Duplicates::kept : Duplicates::once;
  const auto all = ingest({request.paths.begin(), request.paths.end()}, how);
  Answer out{.diagnostics = diagnostics_of(all)};
  if (request.document) {
    if (all.records.size() != 1)
      throw InputError({.id = "mlsysim.compile.009",
                        .message = "a document holds one record",
                        .found = fmt::format("{} records", all.records.size()),
                        .expected = "one file",
                        .hint = "name one file for each document"});
    out.payload = explain_document(all.records.front());
    return out;
  }
  const auto by = request.by == "place" ? BreaksBy::place : BreaksBy::type;
  if (options.format == OutputFormat::json)
    out.payload = report_json(all);
  else if (options.format == OutputFormat::csv)
    out.payload = render(breaks_table(all, by), options);
  else
    out.payload = render(runs_table(all), options) + "\n" + render(breaks_table(all, by), options) + "\n" +
                  render(phases_table(all), options);
  return out;
}

}  // namespace mlsysim::cli
