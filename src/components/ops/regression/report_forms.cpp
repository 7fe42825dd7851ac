#include "ops/regression/report_parts.hpp"

#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/markup.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;
using detail::markup_escaped;

constexpr std::string_view kJunitMark = "<!-- written by mlsysim ci run -->";

Json optional_json(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

Json cells_json(const CiReport& r) {
  Json out = Json::array();
  for (const auto& c : r.run.cells) {
    Json numbers = Json::object();
    for (const auto& n : c.numbers) numbers[n.name] = {{"value", n.value}, {"unit", canonical_unit(n.exps)}};
    out.push_back({{"cell", c.cell.name()},
                   {"model", c.cell.model},
                   {"hardware", c.cell.hardware},
                   {"precision", c.cell.precision},
                   {"pipeline", c.cell.pipeline},
                   {"status", name_of(c.status)},
                   {"reason", c.reason},
                   {"numbers", std::move(numbers)}});
  }
  return out;
}

Json differences_json(const CiReport& r) {
  Json out = Json::array();
  for (const auto& d : r.differences) {
    Json causes = Json::array();
    for (const auto& c : d.causes)
      causes.push_back({{"input", c.input}, {"from", c.from}, {"to", c.to}, {"part", c.part}});
    Json row{{"cell", d.cell},
             {"metric", d.metric},
             {"verdict", name_of(d.verdict)},
             {"before", optional_json(d.before)},
             {"after", optional_json(d.after)},
             {"unit", canonical_unit(d.exps)},
             {"causes", std::move(causes)},
             {"exact", d.exact},
             {"per_year_usd", d.per_year ? Json(*d.per_year / unit::USD) : Json(nullptr)},
             {"words", in_words(d)}};
    out.push_back(std::move(row));
  }
  return out;
}

std::string json_text(const CiReport& r) {
  Json broken = Json::array();
  for (const auto& b : r.run.broken)
    broken.push_back({{"cell", b.cell},
                      {"budget", b.text},
                      {"value", b.value},
                      {"limit", b.limit},
                      {"unit", canonical_unit(b.exps)}});
  const Json out{{"schema", "mlsysim/ci_report@1"},
                 {"commit", r.commit},
                 {"matrix", r.matrix},
                 {"complete", r.run.complete},
                 {"compared", r.compared},
                 {"exit_code", r.exit_code()},
                 {"summary", detail::summary_of(r)},
                 {"notes", r.notes},
                 {"cells", cells_json(r)},
                 {"differences", differences_json(r)},
                 {"broken_budgets", std::move(broken)}};
  return detail::json_document(out, 1);
}

/// The bad differences and broken budgets of a cell, one line each.
std::string faults_of(const CiReport& r, const std::string& cell) {
  std::string out;
  for (const auto& d : r.differences)
    if (d.cell == cell && d.bad()) out += in_words(d) + "\n";
  for (const auto& b : r.run.broken)
    if (b.cell == cell) out += detail::in_words(b) + "\n";
  return out;
}

std::string junit_text(const CiReport& r) {
  std::string cases;
  std::size_t failures = 0, errors = 0, skipped = 0, count = 0;
  const auto add = [&](std::string_view cell, std::string_view group, const std::string& inside) {
    ++count;
    cases += fmt::format("  <testcase name=\"{}\" classname=\"{}\" time=\"0\"", markup_escaped(cell),
                         markup_escaped(group));
    cases += inside.empty() ? "/>\n" : fmt::format(">\n{}  </testcase>\n", inside);
  };
  for (const auto& c : r.run.cells) {
    const auto name = c.cell.name();
    const auto faults = faults_of(r, name);
    std::string inside;
    if (!faults.empty()) {
      ++failures;
      inside = fmt::format("    <failure message=\"{}\">{}</failure>\n",
                           markup_escaped(faults.substr(0, faults.find('\n'))), markup_escaped(faults));
    } else if (c.status == CellStatus::failed) {
      ++errors;
      inside = fmt::format("    <error message=\"{}\"/>\n", markup_escaped(c.reason));
    } else if (c.status == CellStatus::infeasible) {
      ++skipped;
      inside = fmt::format("    <skipped message=\"{}\"/>\n", markup_escaped(c.reason));
    }
    add(name, c.cell.pipeline, inside);
  }
  for (const auto& d : r.differences)
    if (d.verdict == Verdict::gone && d.metric == "status") {
      ++failures;
      add(d.cell, "gone", fmt::format("    <failure message=\"{}\"/>\n", markup_escaped(in_words(d))));
    }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n<testsuites>\n <testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{} </testsuite>\n</testsuites>\n",
      kJunitMark, markup_escaped(r.matrix), count, failures, errors, skipped, cases);
}

/// A table below its title, where it has rows.
std::string html_section(const Table& t) {
  if (t.rows.empty()) return {};
  return fmt::format("<h2>{}</h2>\n{}", markup_escaped(t.title), detail::html_table(t));
}

std::string html_text(const CiReport& r) {
  // No script, no font, nothing from elsewhere: it can be archived and opened anywhere.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<style>body{{font:15px/1.5 sans-serif;margin:2em;color:#111;background:#fff}}"
      "table{{border-collapse:collapse}}td,th{{border:1px solid #767676;padding:.2em .6em;text-align:left}}"
      ".n{{text-align:right}}</style></head><body>\n<h1>{0}</h1>\n<p>{1}</p>\n<p>commit "
      "{2}</p>\n{3}{4}{5}{6}{7}</body></html>\n",
      markup_escaped("Predictions of " + r.matrix), markup_escaped(detail::summary_of(r)),
      markup_escaped(r.commit), html_section(detail::differences_table(r)),
      html_section(detail::budgets_table(r)), html_section(detail::troubles_table(r)),
      html_section(detail::numbers_table(r)), html_section(detail::breaks_table(r)));
}

std::string gitlab_text(const CiReport& r) {
  Json out = Json::array();
  const auto add = [&](const std::string& cell, const std::string& check, const std::string& what) {
    out.push_back({{"description", fmt::format("{}: {}", cell, what)},
                   {"check_name", check},
                   {"fingerprint", fmt::format("{:016x}", detail::fnv1a(cell + "\n" + check))},
                   {"severity", "major"},
                   {"location", {{"path", r.matrix}, {"lines", {{"begin", 1}}}}}});
  };
  for (const auto& d : r.differences)
    if (d.bad()) add(d.cell, d.metric, in_words(d));
  for (const auto& b : r.run.broken) add(b.cell, b.text, detail::in_words(b));
  for (const auto& c : r.run.cells)
    if (c.status == CellStatus::failed) add(c.cell.name(), "failed", c.reason);
  return detail::json_document(out, 1);
}

std::string tables_text(const CiReport& r, const RenderOptions& options) {
  const bool markdown = options.format == OutputFormat::markdown;
  auto out = markdown ? fmt::format("## Predictions of {}\n\n{}\n\n", r.matrix, detail::summary_of(r))
                      : detail::summary_of(r) + "\n\n";
  std::vector<Table> tables{detail::differences_table(r), detail::budgets_table(r),
                            detail::troubles_table(r)};
  // Where nothing is compared, or all of it is asked for, the numbers themselves are the answer.
  if (!r.compared || options.verbosity == Verbosity::verbose) {
    tables.push_back(detail::numbers_table(r));
    tables.push_back(detail::breaks_table(r));
  }
  for (const auto& t : tables)
    if (!t.rows.empty()) out += render(t, options) + "\n";
  return out;
}

}  // namespace

std::string_view mark_of(CiForm form) {
  constexpr std::array<std::string_view, Choices<CiForm>::names.size()> kMarks{
      " infeasible, ",
      "## Predictions of ",
      "\"schema\": \"mlsysim/ci_report@1\"",
      "model,hardware,precision,pipeline,status",
      kJunitMark,
      "<title>Predictions of ",
      "\"check_name\": "};
  return kMarks[static_cast<std::size_t>(form)];
}

std::string render(const CiReport& r, CiForm form, const RenderOptions& options) {
  auto how = options;
  switch (form) {
    case CiForm::json:
      return json_text(r);
    case CiForm::junit:
      return junit_text(r);
    case CiForm::html:
      return html_text(r);
    case CiForm::gitlab:
      return gitlab_text(r);
    case CiForm::csv:
      how.format = OutputFormat::csv;
      return render(detail::numbers_table(r), how);
    case CiForm::markdown:
      how.format = OutputFormat::markdown;
      return tables_text(r, how);
    case CiForm::text:
      break;
  }
  how.format = OutputFormat::text;
  return tables_text(r, how);
}

}  // namespace mlsysim
