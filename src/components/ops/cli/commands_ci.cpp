#include "cli/commands_ci.hpp"

#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/export/commit.hpp>
#include <mlsysim/ops/export/metrics.hpp>
#include <mlsysim/ops/regression/metrics.hpp>
#include <mlsysim/ops/regression/state.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/whole.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

namespace mlsysim::cli {
namespace {

constexpr std::string_view kBaselineMark = "# Accepted predictions and the figures that they rest on";
constexpr int kUnusable = 2, kNotWritten = 5;  // exit codes

/// A command whose refusals end with the code of a matrix that cannot be used.
template <class F> Answer usable(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    return {.payload = {}, .diagnostics = error_text(error), .exit = static_cast<Exit>(kUnusable)};
  }
}

std::string commit_of(const CiRequest& request) {
  return current_commit(request.commit, std::filesystem::current_path());
}

Annotations annotations_of(const std::string& name) {
  if (name != "automatic") return choice_of<Annotations>(name).value_or(Annotations::none);
  const char* github = std::getenv("GITHUB_ACTIONS");
  return github != nullptr && std::string_view(github) == "true" ? Annotations::github : Annotations::none;
}

struct WantedReport {
  CiForm form;
  std::filesystem::path file;
};
/// A report of the run before is replaced, a file of somebody else is not.
files::WriteHow how_to_write(const CiRequest& request, CiForm form) {
  return {.replace = request.force ? files::Replace::any : files::Replace::own,
          .mark = mark_of(form),
          .nothing = form == CiForm::gitlab ? "[]\n" : ""};
}
std::vector<WantedReport> wanted_reports(const CiRequest& request) {
  std::vector<WantedReport> out;
  for (const auto& text : request.reports) {
    const auto equals = text.find('=');
    const auto form = choice_of<CiForm>(text.substr(0, std::min(equals, text.size())));
    if (equals == std::string::npos || !form || equals + 1 == text.size())
      throw InputError("mlsysim.ci.019", "a report cannot be read", "report", fmt::format("'{}'", text),
                       fmt::format("FORM=FILE, FORM one of {}", fmt::join(Choices<CiForm>::names, ", ")),
                       "e.g. --report junit=predictions.xml");
    out.push_back({*form, text.substr(equals + 1)});
    files::check_target(out.back().file, how_to_write(request, *form));
  }
  return out;
}

/// Runs the matrix, from where an earlier run was stopped if it is to go on, and keeps what is finished of
/// one that is stopped.
CiRun run_from_state(const CiRequest& request, const CiMatrix& matrix, const std::string& commit,
                     const Accepted& accepted, std::vector<std::string>& notes) {
  const InterruptScope listening;
  CiHow how{.threads = request.jobs,
            .cancel = &InterruptScope::token(),
            .damage = request.strict ? Damage::refused : Damage::counted};
  const files::WriteHow own{.replace = files::Replace::own, .mark = "mlsysim/ci_state@", .mode = 0600};
  std::optional<files::Lock> lock;
  std::string key;
  if (!request.state.empty()) {
    files::check_target(request.state, own);
    lock.emplace(request.state);
    key = state_key(matrix, zoo(), commit);
  }
  if (request.resume && std::filesystem::exists(request.state))
    how.known = read_state(files::read(request.state, "the state of ci run"), request.state, key);
  // The parts of a difference and the breaks of a record are asked of the cell itself.
  how.again = [&](const CellResult& c) { return !c.cell.records.empty() || differs(matrix, c, accepted); };
  auto run = run_matrix(matrix, zoo(), how);
  if (request.state.empty()) return run;
  if (run.complete) {
    std::filesystem::remove(request.state);
  } else {
    files::write(request.state, state_text(run, key), own);
    notes.push_back(fmt::format("stopped after {} of {} cells, which {} holds; --resume goes on with them",
                                run.cells.size(), matrix.cells.size(), request.state));
  }
  return run;
}

CiReport report_of(const CiRequest& request, const CiMatrix& matrix) {
  CiReport report{.commit = commit_of(request), .matrix = request.matrix, .notes = matrix.notes};
  const bool there = std::filesystem::exists(matrix.baseline);
  Accepted accepted;
  if (!request.no_baseline && there) accepted = read_baseline(matrix.baseline);
  report.run = run_from_state(request, matrix, report.commit, accepted, report.notes);
  report.compared = !request.no_baseline && there;
  if (report.compared)
    report.differences = differences(matrix, report.run, accepted);
  else if (!request.no_baseline)
    report.notes.push_back(fmt::format("there is no baseline {}; mlsysim ci accept {} writes it",
                                       matrix.baseline.string(), request.matrix));
  return report;
}

CiForm form_of(OutputFormat format) { return choice_of<CiForm>(name_of(format)).value_or(CiForm::text); }

/// Writes what was asked for; what cannot be written is told, and everything else is written all the same.
void write_all(const CiRequest& request, const CiReport& report, const std::vector<WantedReport>& wanted,
               Answer& out) {
  const auto attempt = [&](auto&& f) {
    try {
      f();
    } catch (const Error& error) {
      out.diagnostics += error_text(error);
      // Before "worse", which is printed all the same: who reads 1 may trust that everything is stored.
      if (out.exit == Exit::fine || out.exit == static_cast<Exit>(1))
        out.exit = static_cast<Exit>(kNotWritten);
    }
  };
  for (const auto& w : wanted)
    attempt([&] { files::write(w.file, render(report, w.form), how_to_write(request, w.form)); });
  if (!request.history.empty() && !report.run.complete)
    out.diagnostics += "mlsysim: note: the history takes whole runs; nothing was stored\n";
  else if (!request.history.empty())
    attempt([&] {
      CiHistory(request.history, CiHistory::Open::write)
          .put(report.commit, static_cast<std::int64_t>(time_given(request.time) / 1'000'000'000),
               report.run.cells);
    });
}

}  // namespace

Answer ci_run(const CiRequest& request, const RenderOptions& options) {
  return usable([&] {
    const auto wanted = wanted_reports(request);
    const auto exports = ci_exports(request.sending);
    const auto matrix = read_matrix(request.matrix, zoo());
    const auto report = report_of(request, matrix);
    Answer out{.payload = render(report, form_of(options.format), options),
               .exit = static_cast<Exit>(report.exit_code())};
    for (const auto& n : report.notes) out.diagnostics += fmt::format("mlsysim: note: {}\n", n);
    out.diagnostics += annotations(report, annotations_of(request.annotate));
    write_all(request, report, wanted, out);
    ci_send(request.sending, exports, report, matrix, time_given(request.time), out);
    return out;
  });
}

Answer ci_accept(const CiRequest& request) {
  return usable([&] {
    const auto matrix = read_matrix(request.matrix, zoo());
    const files::WriteHow how{.replace = request.force ? files::Replace::any : files::Replace::own,
                              .mark = kBaselineMark};
    files::check_target(matrix.baseline, how);
    const auto run = run_matrix(matrix, zoo(), {.threads = request.jobs});
    files::write(matrix.baseline, baseline_text(run), how);
    std::size_t failed = 0;
    for (const auto& c : run.cells) failed += c.status == CellStatus::failed ? 1 : 0;
    Answer out{fmt::format("{}: {} cells accepted\n", matrix.baseline.string(), run.cells.size())};
    if (failed > 0)
      out.diagnostics =
          fmt::format("mlsysim: warning: {} of them failed, which is what was accepted\n", failed);
    return out;
  });
}

Answer ci_trend(const CiHistoryRequest& request, const RenderOptions& options) {
  return usable([&]() -> Answer {
    const CiHistory history(request.history, CiHistory::Open::read);
    if (request.openmetrics)
      return {open_metrics_text(history_metrics(history, request.metric, request.cell, zoo()))};
    if (request.cell.empty()) {
      const auto trend = history.trend(request.metric);
      Table t{.schema = "mlsysim/ci_trend@1",
              .title = request.metric + " over commits",
              .columns = {{"cell"},
                          {"commits"},
                          {"first", trend.unit},
                          {"last", trend.unit},
                          {"change"},
                          {"lowest", trend.unit},
                          {"highest", trend.unit}}};
      for (const auto& r : trend.rows) {
        const auto number = [&](double x) { return Table::Cell(Value(x), trend.exps); };
        t.rows.push_back({r.cell, static_cast<double>(r.commits), number(r.first), number(r.last),
                          r.first != 0 ? Table::Cell(r.last / r.first - 1) : Table::Cell(), number(r.low),
                          number(r.high)});
      }
      return {render(t, options)};
    }
    const auto [unit, exps] = history.unit_of(request.metric);
    Table t{.schema = "mlsysim/ci_points@1",
            .title = fmt::format("{} of {}", request.metric, request.cell),
            .columns = {{"commit"}, {"time", "", "s since 1970"}, {request.metric, unit}}};
    for (const auto& p : history.points(request.metric, request.cell))
      t.rows.push_back({p.commit, fmt::format("{}", p.time), Table::Cell(Value(p.value), exps)});
    return {render(t, options)};
  });
}

Answer ci_prune(const CiPruneRequest& request, const RenderOptions& options) {
  return usable([&]() -> Answer {
    PruneLimits limits{.keep = request.keep};
    if (!request.older_than.empty()) {
      const auto age = AnyQuantity::parse(request.older_than).as<dim::time>();
      limits.before = static_cast<std::int64_t>(time_given(request.time) / 1'000'000'000) -
                      detail::whole<std::int64_t>(age / unit::s);
    }
    if (!request.matrix.empty()) {
      limits.cells.emplace();
      for (const auto& cell : read_matrix(request.matrix, zoo()).cells) limits.cells->push_back(cell.name());
    }
    const bool groups = !request.push.empty();
    if (!groups && request.history.empty())
      throw InputError("mlsysim.ci.026", "nothing is there to prune", "prune", "neither --history nor --push",
                       "one of them", "e.g. --history predictions.sqlite");
    if (groups ? !limits.cells : !limits.keep && !limits.before && !limits.cells)
      throw InputError(
          "mlsysim.ci.025", "nothing says what goes", "prune", "no limit",
          groups ? "--matrix" : "--keep, --older-than or --matrix",
          groups ? "groups that the matrix does not fill go" : "e.g. --keep 500 --older-than '180 day'");
    if (groups) return ci_prune_groups(request, options);
    CiHistory history(request.history, CiHistory::Open::change);
    const auto gone = history.prune(limits, request.dry_run);
    Table t{.schema = "mlsysim/ci_prune@1",
            .title = request.dry_run ? "What would go" : "What went",
            .columns = {{"what"}, {"name"}}};
    for (const auto& name : gone.commits) t.rows.push_back({"commit", name});
    for (const auto& name : gone.cells) t.rows.push_back({"cell", name});
    t.footer =
        fmt::format("{} numbers {}; {} commits stay", gone.numbers, request.dry_run ? "would go" : "went",
                    history.commits().size() - (request.dry_run ? gone.commits.size() : 0));
    return {render(t, options)};
  });
}

Answer ci_bisect(const CiHistoryRequest& request, const RenderOptions& options) {
  return usable([&]() -> Answer {
    const CiHistory history(request.history, CiHistory::Open::read);
    const auto [unit, exps] = history.unit_of(request.metric);
    const auto better = choice_of<Better>(request.better);
    const auto found =
        first_bad(history.points(request.metric, request.cell), better ? *better : better_by_dimension(exps),
                  request.relative, request.good, request.bad);
    if (!found) return {"no commit is worse\n"};
    Table t{.schema = "mlsysim/ci_bisect@1",
            .title = fmt::format("{} of {}", request.metric, request.cell),
            .columns = {{"which"}, {"commit"}, {request.metric, unit}}};
    t.rows.push_back({"last good", found->good.commit, Table::Cell(Value(found->good.value), exps)});
    t.rows.push_back({"first bad", found->bad.commit, Table::Cell(Value(found->bad.value), exps)});
    t.footer = fmt::format("{} stored commits were looked at", found->between_stored);
    return {render(t, options), {}, static_cast<Exit>(1)};
  });
}

}  // namespace mlsysim::cli
