#include <mlsysim/validation/page.hpp>

#include "detail/competitors.hpp"
#include "detail/result_text.hpp"

#include <mlsysim/intervals/model_error.hpp>
#include <mlsysim/tape/detail/quantile.hpp>
#include <mlsysim/validation/report.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::string_view kCalibrationsSchema = "mlsysim/validation-calibrations@1";

constexpr std::string_view kTablesHead =
    "# Accuracy of each table\n\n"
    "Written by `mlsysim validate --tables-page`. Errors are |predicted - measured| / measured over the rows "
    "of a table. The bias\n"
    "is their signed mean. Each device has one set of constants: no constant belongs to a model, a table or "
    "a row. `textbook` is\n"
    "the classic formula with half of the peak rate. `roofline` is the larger of work over peak rate and "
    "traffic over peak\n"
    "bandwidth. Both, and the ablations of the terms of the model, cover the rows that the operators answer, "
    "with a count where\n"
    "they answer fewer. Rows that a source leaves ambiguous are left out, with the reason. Samples of large "
    "tables ship with\n"
    "the library. If MLSYSIM_TABLES names the folder of the whole tables, the errors cover all of their "
    "records.\n\n";

constexpr std::string_view kHead =
    "# Accuracy\n\n"
    "Written by `mlsysim validate --page docs/reference/accuracy.md`; CI compares the file. The library "
    "predicts every row of\n"
    "the published measurements that ship with the zoo. The error of a row is |predicted - measured| / "
    "measured. Each device has\n"
    "one set of constants: no constant belongs to a model, a table or a row.\n\n"
    "## Errors by topic\n\n"
    "An error is the median over the tables of a topic of their median errors. `roofline` is the error of "
    "the "
    "larger of work over\n"
    "peak rate and traffic over peak bandwidth. `textbook` is the error of the classic formula with half of "
    "the peak rate. The\n"
    "last column is the share of rows inside the 80 % interval of `--interval 80` if their group (a model, a "
    "shape, a library)\n"
    "is left out of the residuals behind the interval.\n\n"
    "| topic | tables answered | rows | error | roofline | textbook | table with the largest error | 80 % "
    "interval holds |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |\n";

constexpr std::string_view kWholeTables =
    "The rows are those of the whole tables that MLSYSIM_TABLES names, not of the samples that ship.\n\n";

constexpr std::string_view kMore =
    "## More detail\n\n"
    "* `mlsysim validate TABLE` shows one table: the rows left out and the reasons, the ablations, and the "
    "worst rows.\n"
    "* `mlsysim validate --tables-page FILE` writes this for every table, with the fitted constants, the "
    "nearest measured row as a\n"
    "  competitor, and the coverage of the 50, 80 and 95 % intervals. The site has that page: `scripts/site` "
    "builds it.\n"
    "* `mlsysim validate -o csv` writes one line per table.\n"
    "* `MLSYSIM_TABLES=FOLDER` makes these commands read the whole tables instead of the samples.\n"
    "* `zoo/validation/record.yaml` records the errors of each table over the sample and over the whole "
    "table. `mlsysim validate\n"
    "  --check` fails if a table got worse than its tolerance.\n"
    "* [Where predictions are wrong](../explanation/accuracy.md) explains where the larger errors come "
    "from.\n";

constexpr std::size_t kWorstTables = 20;

std::string_view topic_of(const TableResult& r) {
  return std::string_view(r.table->name).substr(0, r.table->name.find('/'));
}

std::string median_cell(std::vector<double> errors) {
  if (errors.empty()) return "-";
  std::sort(errors.begin(), errors.end());
  return detail::percent(detail::quantile(errors, 0.5));
}

/// The line of one topic; of all tables if `topic` is empty.
std::string topic_line(std::span<const TableResult> results, std::string_view topic,
                       std::span<const BandCoverage> coverage) {
  std::vector<double> ours, roofline, textbook;
  std::size_t tables = 0, rows = 0;
  double held = 0, asked = 0;
  const TableResult* worst = nullptr;
  for (const auto& r : results) {
    if (!topic.empty() && topic_of(r) != topic) continue;
    ++tables;
    if (r.errors.rows == 0) continue;
    rows += r.errors.rows;
    ours.push_back(r.errors.median);
    if (r.roofline.rows > 0) roofline.push_back(r.roofline.median);
    if (r.textbook.rows > 0) textbook.push_back(r.textbook.median);
    if (worst == nullptr || r.errors.median > worst->errors.median) worst = &r;
    const auto c = std::ranges::find(coverage, r.table->name, &BandCoverage::table);
    if (c == coverage.end()) continue;
    const auto n = static_cast<double>(c->rows);
    held += n * c->group_out[1];
    asked += n;
  }
  return fmt::format(
      "| {} | {} of {} | {} | {} | {} | {} | {} | {} |\n", topic.empty() ? "all" : topic, ours.size(), tables,
      rows, median_cell(ours), median_cell(roofline), median_cell(textbook),
      worst == nullptr ? std::string("-")
                       : fmt::format("{}: {}", worst->table->name, detail::percent(worst->errors.median)),
      asked > 0 ? fmt::format("{:.0f} %", 100 * held / asked) : "-");
}

std::string topics(std::span<const TableResult> results) {
  std::string out;
  std::vector<std::string_view> seen;
  const auto coverage = ErrorBook::standard().coverage();
  for (const auto& r : results)
    if (std::ranges::find(seen, topic_of(r)) == seen.end()) {
      seen.push_back(topic_of(r));
      out += topic_line(results, seen.back(), coverage);
    }
  return out + topic_line(results, "", coverage) + "\n";
}

std::string largest_errors(std::span<const TableResult> results) {
  std::vector<const TableResult*> answered;
  std::vector<std::string_view> none;
  std::size_t under_half = 0;
  for (const auto& r : results) {
    if (r.errors.rows == 0) {
      none.push_back(r.table->name);
      continue;
    }
    answered.push_back(&r);
    if (2 * (r.records - detail::left_out_rows(r)) < r.table->data.rows()) ++under_half;
  }
  std::ranges::stable_sort(answered, std::ranges::greater{},
                           [](const TableResult* r) { return r->errors.median; });
  std::string out =
      "## Tables with the largest errors\n\n"
      "| table | rows | median | mean | p90 | bias | roofline |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (std::size_t i = 0; i < std::min(kWorstTables, answered.size()); ++i) {
    const auto& e = answered[i]->errors;
    const auto& roofline = answered[i]->roofline;
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", answered[i]->table->name, e.rows,
                       detail::percent(e.median), detail::percent(e.mean), detail::percent(e.p90),
                       detail::percent(e.bias, true),
                       roofline.rows > 0 ? detail::percent(roofline.median) : std::string("-"));
  }
  return out +
         fmt::format(
             "\n{} of {} tables answer less than half of their records. {} tables have no answer to any "
             "row: {}.\n\n",
             under_half, answered.size(), none.size(),
             none.empty() ? "-" : fmt::format("{}", fmt::join(none, ", ")));
}

/// Aims of the tables that state one, two a line; what is missed is bold.
std::string aims(std::span<const TableResult> results) {
  std::vector<std::string> cells;
  std::size_t reached = 0;
  for (const auto& r : results) {
    if (r.table->aim <= 0 || r.errors.rows == 0) continue;
    const bool met = r.errors.median <= r.table->aim;
    reached += met ? 1U : 0U;
    const auto found = detail::percent(r.errors.median);
    cells.push_back(fmt::format(" {} | {} | {} |", r.table->name, detail::percent(r.table->aim),
                                met ? found : "**" + found + "**"));
  }
  if (cells.empty()) return {};
  std::string out = fmt::format(
      "## Aims\n\nMedian errors that the laws are meant to reach, stated in the definitions of {} tables; {} "
      "reach "
      "theirs. Whole tables and\ngroups left out are in [the notes](../../zoo/validation/residuals.md).\n\n"
      "| table | aim | reached | table | aim | reached |\n| --- | ---: | ---: | --- | ---: | ---: |\n",
      cells.size(), reached);
  const std::size_t half = (cells.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i)
    out +=
        fmt::format("|{}{}\n", cells[i], i + half < cells.size() ? cells[i + half] : std::string(" | | |"));
  return out + "\n";
}

/// Constants of each device and engine that come from a fit rather than from a data sheet or the priors of
/// zoo/defaults.yaml.
std::string fitted_constants(const Zoo& zoo) {
  std::string out =
      "## Fitted constants\n\n| device or engine | figures | of them fitted or measured | names |\n| --- | "
      "---: | ---: | --- |\n";
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    if (device->entry == nullptr) continue;
    std::vector<std::string> names;
    for (const auto& f : device->entry->figures) {
      const auto group = f.path.substr(0, f.path.find('.'));
      if (group == "efficiency" || group == "draw" || group == "kernels" || group == "collectives")
        names.push_back(f.path);
    }
    if (!names.empty())
      out += fmt::format("| {} | {} | {} | {} |\n", device->name, device->entry->figures.size(), names.size(),
                         fmt::join(names, ", "));
  }
  for (const ServingEngine* engine : zoo.all<ServingEngine>()) {
    if (engine->entry == nullptr) continue;
    std::vector<std::string> names;
    for (const auto& f : engine->entry->figures)
      if (engine->entry->source_of(f.path).kind == SourceKind::fit) names.push_back(f.path);
    if (!names.empty())
      out += fmt::format("| {} | {} | {} | {} |\n", engine->name, engine->entry->figures.size(), names.size(),
                         fmt::join(names, ", "));
  }
  return out +
         "\nA device that is not listed is predicted from its data sheet and the priors of its class.\n\n";
}

std::string cross_validation(std::span<const Calibration> calibrations) {
  std::string out =
      "## Groups left out\n\nThe constants of a device or engine are fitted again without one group of rows, "
      "and "
      "predict that group. An interval\n"
      "combines the covariance of the constants and the scatter of the rows, scaled by the errors on groups "
      "that their fit had not\n"
      "seen. Its coverage is counted over the rows of a group with the scale of the other groups.\n\n"
      "| device or engine | tables | rows | median, in the sample | median, left out | mean, left out | 50 % "
      "intervals hold | 80 % | 95 % |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& c : calibrations) {
    const auto apart = [&](double share) {
      return c.groups.empty() ? std::string("-") : detail::percent(share);
    };
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", c.name, fmt::join(c.tables, ", "),
                       c.rows, detail::percent(c.after.median), apart(c.left_out.median),
                       apart(c.left_out.mean), apart(c.coverage_left_out(0.5)),
                       apart(c.coverage_left_out(0.8)), apart(c.coverage_left_out(0.95)));
  }
  return out + "\n";
}

/// How intervals hold where something is left out of the residuals behind them, and how wide they are.
std::string strata() {
  std::string out =
      "## Intervals where something is left out\n\n"
      "Share of the rows inside the 80 % interval of `--interval 80`, and the median factor from its middle "
      "to its "
      "ends, if groups are left out of the\nresiduals behind it: the group itself; all of its device, which "
      "is then "
      "predicted with the figures of its class; all of its release of an\nengine, family of kernels or "
      "table; all "
      "with its kind of link between devices.\n\n"
      "| quantity | group | device | software | kind of link |\n| --- | ---: | ---: | ---: | ---: |\n";
  const auto cell = [](const StratumCoverage::Kept& k) {
    return k.rows == 0 ? std::string("-")
                       : fmt::format("{:.0f} % (x {:.2f})", 100 * k.held, std::exp(k.half));
  };
  for (const auto& s : ErrorBook::standard().strata())
    out += fmt::format("| {} | {} | {} | {} | {} |\n", s.stratum, cell(s.group), cell(s.device),
                       cell(s.software), cell(s.link));
  return out + "\n";
}

}  // namespace

std::vector<CalibrationCheck> read_calibration_checks(const std::filesystem::path& file) {
  const auto document =
      YamlDocument::read(file.empty() ? zoo_directory() / "validation" / "calibrations.yaml" : file);
  std::vector<ErrorFacts> problems;
  const auto fault = [&](const YamlValue& at, std::string message, std::string expected) {
    problems.push_back(document.placed({.id = "mlsysim.validation.095",
                                        .message = std::move(message),
                                        .found = at.describe(),
                                        .expected = std::move(expected)},
                                       at));
  };
  std::vector<CalibrationCheck> out;
  const auto& root = document.root();
  const YamlValue *schema = root.find("schema"), *list = root.find("calibrations");
  if (schema == nullptr || schema->text != kCalibrationsSchema)
    fault(root, "the file has another schema", std::string(kCalibrationsSchema));
  if (list == nullptr || list->kind != YamlValue::Kind::sequence)
    fault(root, "'calibrations' is missing", "a list of {device: a device, tables: [names]}");
  else
    for (const auto& item : list->items) {
      const YamlValue *device = item.find("device"), *engine = item.find("engine"),
                      *tables = item.find("tables");
      if ((device == nullptr) == (engine == nullptr) || tables == nullptr ||
          tables->kind != YamlValue::Kind::sequence) {
        fault(item, "a calibration needs a device or an engine, and its tables",
              "{device: a device, tables: [names]}");
        continue;
      }
      CalibrationCheck check{
          device != nullptr ? "device" : "engine", device != nullptr ? device->text : engine->text, {}, {}};
      for (const auto& t : tables->items) check.tables.push_back(t.text);
      if (const YamlValue* constants = item.find("constants"); constants != nullptr)
        for (const auto& c : constants->items) check.constants.push_back(c.text);
      out.push_back(std::move(check));
    }
  if (problems.empty()) return out;
  const auto title = fmt::format("{}: {} problems", document.file(), problems.size());
  throw ErrorList({.id = "mlsysim.validation.096", .message = title}, std::move(problems));
}

std::string accuracy_page(std::span<const TableResult> results, std::span<const Calibration> calibrations) {
  std::string out(kHead);
  if (!whole_tables().empty()) out.insert(out.find("## Errors by topic"), kWholeTables);
  out += topics(results);
  out += aims(results);
  out += largest_errors(results);
  out += strata();
  if (!calibrations.empty()) out += cross_validation(calibrations);
  out += kMore;
  return out;
}

std::string accuracy_tables_page(std::span<const TableResult> results,
                                 std::span<const Calibration> calibrations, const Zoo& zoo) {
  std::string out(kTablesHead);
  out += fitted_constants(zoo);
  if (!calibrations.empty()) out += cross_validation(calibrations);
  out += honest_columns(results, calibrations, zoo);
  out += render(results, {.format = OutputFormat::markdown});
  return out;
}

}  // namespace mlsysim
