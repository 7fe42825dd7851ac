
#include "commands_validation.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/validation/league.hpp>
#include <mlsysim/validation/measurand.hpp>
#include <mlsysim/validation/page.hpp>
#include <mlsysim/validation/record.hpp>
#include <mlsysim/validation/report.hpp>
#include <mlsysim/validation/residual_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace mlsysim::cli {
namespace {

// By these words a file is known as one that this command wrote.
constexpr std::string_view kHtmlMark = "mlsysim: predictions against ",
                           kPageMark = "Written by `mlsysim validate --", kRowsMark = "table,row,what,",
                           kRecordMark = "mlsysim/validation-record@";

/// Where definitions and whole tables are: a folder without definitions has the data of those that ship.
struct Folders {
  std::string definitions;
  std::filesystem::path data;

  explicit Folders(const std::string& named) : definitions(named), data(whole_tables()) {
    if (named.empty() || !table_names(named).empty()) return;
    definitions.clear();
    data = named;
  }
  /// Notes about YAML files of the user that hold something else than a table.
  [[nodiscard]] std::string skipped() const {
    std::string out;
    if (definitions.empty()) return out;
    for (const auto& name : files_of_other_kinds(definitions))
      out += fmt::format("mlsysim: note: {}.yaml holds no table and is skipped\n", name);
    return out;
  }
  [[nodiscard]] MeasuredTable load(const std::string& name) const {
    return load_table(name, definitions, data);
  }
};

Answer list_tables(const ValidateRequest& request, const RenderOptions& options) {
  const Folders folders(request.folder);
  Table t{.schema = "mlsysim/table@1",
          .title = "tables of measurements",
          .columns = {{"table"}, {"measurand"}, {"records"}, {"title"}, {"source"}}};
  for (const auto& name : table_names(folders.definitions)) {
    const auto table = folders.load(name);
    t.rows.push_back({name,
                      table.measurand != nullptr ? std::string(table.measurand->name()) : std::string("-"),
                      static_cast<double>(table.data.rows()), table.title, table.reference});
  }
  return {render(t, options)};
}

/// Names of tables; "training" stands for all tables of the topic.
std::vector<std::string> chosen(const ValidateRequest& request, const Folders& folders) {
  auto all = table_names(folders.definitions);
  if (request.tables.empty()) return all;
  std::vector<std::string> out;
  for (const auto& name : request.tables) {
    const auto before = out.size();
    for (const auto& t : all)
      if (t.starts_with(name + "/")) out.push_back(t);
    if (out.size() == before) out.push_back(name);
  }
  return out;
}

/// Makes one entry stand in for another, where both are of this kind. @returns whether they are
template <class S> bool stand_in(Constants& constants, const std::string& named, const std::string& instead) {
  const S *from = zoo().find<S>(named), *to = zoo().find<S>(instead);
  if (from == nullptr || to == nullptr) return false;
  constants.stand_in(*from, *to);
  return true;
}

/// The figures of the zoo, with what stands in for its entries.
Constants constants_with(const ValidateRequest& request) {
  Constants out(conventions_of(zoo()));
  if (!request.with.empty() && (request.write_record || request.pages()))
    throw InputError({.id = "mlsysim.cli.099",
                      .message = "the record and the pages are those of the zoo",
                      .key = "--with",
                      .found = "--with beside --write-record, --page or --tables-page",
                      .expected = "one of them",
                      .hint = "leave out --with"});
  for (const auto& pair : request.with) {
    const auto equals = pair.find('=');
    const auto named = pair.substr(0, equals),
               instead = equals == std::string::npos ? std::string() : pair.substr(equals + 1);
    if (stand_in<HardwareNode>(out, named, instead) || stand_in<ServingEngine>(out, named, instead)) continue;
    const bool engine = zoo().find<ServingEngine>(named) != nullptr,
               device = zoo().find<HardwareNode>(named) != nullptr;
    const auto names = engine ? zoo().names<ServingEngine>() : zoo().names<HardwareNode>();
    throw LookupError(
        {.id = "mlsysim.cli.097",
         .message = device || engine
                        ? fmt::format("the zoo has no {} '{}'", engine ? "engine" : "device", instead)
                        : fmt::format("the zoo has no device or engine '{}'", named),
         .key = "--with",
         .found = fmt::format("'{}'", pair),
         .expected = "NAME=OTHER, two devices or two engines of the zoo",
         .hint = fmt::format("{} Entries of your own come with --zoo FILE",
                             did_you_mean(device || engine ? instead : named, names))});
  }
  return out;
}

/// The calibrations that the pages show; rows are fitted as they are.
std::vector<Calibration> calibrations_of(const Folders& folders) {
  const auto& own = folders.definitions;
  std::vector<Calibration> out;
  for (const auto& check : read_calibration_checks(own.empty() ? "" : own + "/calibrations.yaml")) {
    std::vector<MeasuredTable> data;
    for (const auto& name : check.tables) data.push_back(folders.load(name));
    const CalibrationOptions how{.fields = check.constants, .any_rows = true};
    out.push_back(calibrate(check.what, check.name, data, zoo(), how));
  }
  return out;
}

/// Predictions of other tools: NAME=FILE.
std::vector<OutsidePredictions> outside_predictions(const ValidateRequest& request) {
  std::vector<OutsidePredictions> out;
  for (const auto& pair : request.predictions) {
    const auto equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || request.league.empty())
      throw InputError({.id = "mlsysim.cli.194",
                        .message = "predictions of another tool belong to a league",
                        .key = "--predictions",
                        .found = fmt::format("'{}'", pair),
                        .expected = "--predictions NAME=FILE beside --league FILE",
                        .hint = "mlsysim validate --write-rows rows.csv lists the rows"});
    out.push_back(read_predictions(pair.substr(0, equals), pair.substr(equals + 1)));
  }
  return out;
}

/// Writes the residuals, and beside them the factors of bands: "residual_factors.csv" for "residuals.csv".
void write_residuals(const std::filesystem::path& file, std::string groups, files::WriteHow how) {
  how.mark = kResidualsHead;
  files::write(file, groups, how);
  auto stem = file.stem().string();
  if (stem.ends_with('s')) stem.pop_back();
  how.mark = kFactorsHead;
  files::write(file.parent_path() / (stem + "_factors" + file.extension().string()),
               factors_csv(std::move(groups)), how);
}

}  // namespace

Answer validate_tables(const ValidateRequest& request, const RenderOptions& options) {
  if (request.list) return list_tables(request, options);
  const Constants constants = constants_with(request);
  const Folders folders(request.folder);
  const std::string& own = folders.definitions;
  const auto replacing = [&](std::string_view mark) {
    return files::WriteHow{.replace = request.force ? files::Replace::any : files::Replace::own,
                           .mark = mark};
  };
  const auto html = replacing(kHtmlMark), page = replacing(kPageMark), yaml = replacing(kRecordMark),
             rows = replacing(kRowsMark);
  const auto others = outside_predictions(request);
  if (!request.html.empty()) files::check_target(request.html, html);
  for (const auto& file : {request.page, request.tables_page, request.league})
    if (!file.empty()) files::check_target(file, page);
  std::vector<MeasuredTable> tables;
  for (const auto& name : chosen(request, folders)) tables.push_back(folders.load(name));
  std::vector<TableResult> results;
  const bool shown = !request.check || request.pages() || !request.html.empty() || !request.league.empty();
  for (const auto& table : tables)
    results.push_back(
        validate(table, zoo(), shown ? Depth::everything : Depth::ours, &constants, request.worst));
  if (const auto names = constants.never_asked_for(); !names.empty())
    throw InputError(
        {.id = "mlsysim.cli.098",
         .message = fmt::format("no row of these tables names '{}'", fmt::join(names, "', '")),
         .key = "--with",
         .found = fmt::format("{} tables without it", tables.size()),
         .expected = "--with of a device or engine that a row names",
         .hint = "mlsysim validate TABLE shows its rows; leave out --with, or name other tables"});
  if (!request.residuals.empty())
    write_residuals(request.residuals, to_csv(residual_groups(tables, zoo())), replacing({}));
  if (!request.html.empty()) files::write(request.html, render_html(results), html);
  if (!request.rows.empty()) files::write(request.rows, rows_to_predict(results), rows);
  if (!request.league.empty()) files::write(request.league, league_page(results, zoo(), others), page);
  if (request.pages()) {
    const auto calibrations = calibrations_of(folders);
    if (!request.page.empty()) files::write(request.page, accuracy_page(results, calibrations), page);
    if (!request.tables_page.empty())
      files::write(request.tables_page, accuracy_tables_page(results, calibrations, zoo()), page);
  }
  const auto record = request.record.empty() && !own.empty() ? own + "/record.yaml" : request.record;
  if (request.write_record) {
    // Tables that were not run keep their entry, and samples beside whole tables; those that are gone lose
    // it.
    auto all = record_of(results);
    if (!request.tables.empty() || std::filesystem::exists(record))
      for (auto& [name, errors] : read_record(record)) all.try_emplace(name, errors);
    const auto known = table_names(own);
    std::erase_if(all, [&](const auto& entry) {
      return !std::binary_search(known.begin(), known.end(), table_of_entry(entry.first));
    });
    if (record.empty())
      throw InputError({.id = "mlsysim.cli.095",
                        .message = "the record of the shipped tables is written by naming its file",
                        .key = "--record",
                        .found = "no file",
                        .expected = "--record zoo/validation/record.yaml",
                        .hint = "the copy beside the program is replaced by the next build"});
    files::write(record, to_yaml(all), yaml);
  }
  Answer out{render(results, options)};
  if (request.tables.empty()) out.diagnostics = folders.skipped();
  if (!request.check) return out;
  for (const auto& r :
       regressions(read_record(record), results,
                   request.tables.empty() ? RecordScope::all_tables : RecordScope::some_tables)) {
    out.exit = Exit::assertion_failed;
    out.diagnostics +=
        r.what.starts_with("rows") || r.recorded == 0
            ? fmt::format("mlsysim: worse: {}: {}: recorded {}, found {}\n", r.table, r.what, r.recorded,
                          r.found)
            : fmt::format(
                  "mlsysim: worse: {}: {} error: recorded {:.2f} %, found {:.2f} %, tolerance {:.2f} %\n",
                  r.table, r.what, 100 * r.recorded, 100 * r.found, 100 * r.tolerance);
  }
  return out;
}

}  // namespace mlsysim::cli
