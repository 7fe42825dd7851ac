// Measuring a machine with the script that PyTorch runs, and what follows from it.

#include "commands_validation.hpp"
#include "run_shown.hpp"

#include "cli/command_agents.hpp"
#include "cli/output.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/validation/calibration_report.hpp>
#include <mlsysim/validation/measure_points.hpp>
#include <mlsysim/validation/report.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kWithoutTorch = 3;  // how the question for PyTorch ends where Python runs and lacks it

// ---- the plan
std::string seconds_text(double s) { return fmt::format("{:.1f} s", s); }

Answer show_plan(const MeasureRequest& request, const RenderOptions& options) {
  const auto& plan = measure_plan();
  const bool cpu = request.on == "cpu";
  const auto points = plan.of(cpu);
  const auto kept = plan.fitting(points, request.deadline, cpu);
  const bool text = options.format == OutputFormat::text;
  std::string out = fmt::format("{} points, the most valuable first; {} of them fit {:g} s on {}\n",
                                points.size(), kept, request.deadline, cpu ? "a CPU core" : "an accelerator");
  Table t{.schema = "mlsysim/measure-plan@1", .title = "points to measure"};
  t.columns = {{"point"}, {"seconds", "s"}, {"identifies"}, {"why"}, {"needs"}, {"fits"}};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& p = *points[i];
    const auto& name = cpu ? p.cpu_name : p.name;
    const auto identifies = p.identifies.empty() ? std::string("not fitted, a check")
                                                 : fmt::format("{}", fmt::join(p.identifies, ", "));
    if (text)
      out += fmt::format("{:3} {:>6}  {}{}{}\n             {}: {}\n", i + 1, seconds_text(p.expected(cpu)),
                         name, p.needs.empty() ? std::string() : fmt::format(" (needs {})", p.needs),
                         i < kept ? "" : "  [dropped]", identifies, p.why);
    t.rows.push_back({name, p.expected(cpu) * unit::s, identifies, p.why, p.needs, i < kept ? "yes" : "no"});
  }
  return {text ? out : render(t, options)};
}

// ---- the interpreter
/// 0 where an interpreter has PyTorch; kWithoutTorch, or 127 where it does not run.
int has_torch(const std::string& python) {
  static constexpr const char* kQuestion =
      "import sys; sys.path.remove(''); import importlib.util; sys.exit(0 if "
      "importlib.util.find_spec('torch') else 3)";
  return run_child({python, "-c", kQuestion}).status;
}

/// Every python3 of PATH, in order.
std::vector<std::string> pythons_of_path() {
  std::vector<std::string> out;
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): read before threads
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const auto file = fs::path(rest.substr(0, colon)) / "python3";
    std::error_code failed;
    if (fs::is_regular_file(file, failed)) out.push_back(file.string());
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return out;
}

std::string python_with_torch(const MeasureRequest& request) {
  std::vector<std::string> all{request.python.empty() ? interpreter() : request.python};
  if (request.python.empty())
    for (auto& file : pythons_of_path()) all.push_back(std::move(file));
  std::string looked_at;
  for (const auto& python : all) {
    const int status = has_torch(python);
    if (status == 0) return python;
    looked_at += fmt::format("{}{} {}", looked_at.empty() ? "" : ", ", python,
                             status == kWithoutTorch ? "without PyTorch" : "that does not run");
  }
  throw InputError({.id = "mlsysim.cli.190",
                    .message = "measuring needs a Python with PyTorch",
                    .key = "--python",
                    .found = looked_at,
                    .expected = "an interpreter that imports torch",
                    .hint = "pip install torch, or name an interpreter: mlsysim measure --python PYTHON"});
}

// ---- measuring
void refuse_used_folder(const MeasureRequest& request) {
  std::error_code failed;
  const auto tables = fs::path(request.out) / "tables";
  for (fs::directory_iterator it(tables, failed), end; !failed && it != end; it.increment(failed))
    if (it->path().extension() == ".csv" && !request.force)
      throw InputError({.id = "mlsysim.cli.191",
                        .message = "the folder holds measured tables already",
                        .key = "--out",
                        .found = it->path().generic_string(),
                        .expected = "a folder without tables",
                        .hint = "name another folder, or replace them with --force"});
}

/// Runs the script. @return whether it came to its end; it does not where it is interrupted
bool measured(const MeasureRequest& request, const RenderOptions& options) {
  refuse_used_folder(request);
  std::vector<std::string> words{python_with_torch(request),
                                 measure_script().string(),
                                 "--no-next",
                                 "--out",
                                 request.out,
                                 "--deadline",
                                 fmt::format("{}", request.deadline)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--device", request.on);
  add("--hardware", request.hardware);
  add("--points", request.points);
  if (request.force) words.emplace_back("--force");
  if (options.verbosity == Verbosity::verbose) words.emplace_back("--verbose");
  const auto ended = run_shown(words);
  if (ended.signal == SIGINT || ended.signal == SIGTERM ||
      ended.status == static_cast<int>(Exit::interrupted))
    return false;
  if (ended.status != 0 || ended.signal != 0)
    throw SolverError({.id = "mlsysim.cli.192",
                       .message = "measuring failed",
                       .found = ended.signal != 0
                                    ? fmt::format("measure.py was ended by signal {}", ended.signal)
                                    : fmt::format("measure.py ended with {}", ended.status),
                       .expected = "tables of this machine",
                       .hint = "the lines above say why; --verbose shows each point"});
  return true;
}

// ---- what follows
/// A row of a check: measured, and predicted with the constants of the entry and with the fitted ones.
struct Check {
  std::string name, unit;
  double measured = 0, predicted = 0, calibrated = 0;
  const Measurand* measurand = nullptr;
};

std::vector<Check> checks_of(const std::vector<MeasuredTable>& tables, const Calibration& fit) {
  std::vector<Check> out;
  const Constants fitted(conventions_of(zoo()), fit.changes());
  for (const auto& table : tables) {
    const auto before = validate(table, zoo(), Depth::ours, nullptr, 0);
    const auto after = validate(table, zoo(), Depth::ours, &fitted, 0);
    for (const auto& row : before.rows)
      for (const auto& same : after.rows)
        if (same.row == row.row)
          out.push_back({fmt::format("{}, {}", table.name, table.label(row.row)),
                         std::string(table.measurand->unit()), row.measured, row.predicted, same.predicted,
                         table.measurand});
  }
  return out;
}

std::string checks_text(const std::vector<Check>& checks, const RenderOptions& options) {
  Table t{.schema = "mlsysim/measure-checks@1", .title = "your machine: predicted, measured"};
  t.columns = {{"check"}, {"measured"}, {"predicted"}, {"error"}, {"calibrated"}, {"error after"}};
  const auto error = [](double predicted, double measured) {
    return fmt::format("{:+.0f} %", 100 * (predicted / measured - 1));
  };
  for (const auto& c : checks)
    t.rows.push_back({c.name, shown_value(c.measured, *c.measurand), shown_value(c.predicted, *c.measurand),
                      error(c.predicted, c.measured), shown_value(c.calibrated, *c.measurand),
                      error(c.calibrated, c.measured)});
  return render(t, options);
}

Json checks_json(const std::vector<Check>& checks) {
  Json out = Json::array();
  for (const auto& c : checks)
    out.push_back({{"check", c.name},
                   {"unit", c.unit},
                   {"measured", c.measured},
                   {"predicted", c.predicted},
                   {"calibrated", c.calibrated}});
  return out;
}

Answer concluded(const MeasureRequest& request, const RenderOptions& options) {
  const fs::path out = request.out;
  const auto machine = Json::parse(files::read(out / "machine.json", "a JSON file"));
  const std::string hardware = machine.at("hardware");
  auto paths = request.zoo;
  paths.push_back((out / "zoo").string());
  add_zoo_paths(paths);
  // Kernels of a decision may say too little of a machine that the zoo does not know: their tables stay.
  if (!request.points.empty() &&
      (zoo().find<HardwareNode>(hardware) == nullptr || machine.at("fitted").empty()))
    return {fmt::format(
        "{} kernels were measured; their tables are in {}/tables. They describe no machine: name one of "
        "the zoo with --hardware, or measure the plan without --points.\n",
        machine.at("points").get<int>(), request.out)};
  if (zoo().find<HardwareNode>(hardware) == nullptr)
    throw InputError(
        {.id = "mlsysim.cli.193",
         .message = "too few points were measured to describe this machine",
         .key = hardware,
         .found = fmt::format("{} of {} points in {} s", machine.at("points").get<int>(),
                              machine.at("planned").get<int>(), machine.at("elapsed_s").get<double>()),
         .expected = "a matrix product and a stream through memory",
         .hint = "stop other programs, or give more time: --deadline 240; --force replaces the tables"});
  std::vector<MeasuredTable> tables;
  for (const std::string name : machine.at("fitted"))
    tables.push_back(load_table_file(out / "tables" / (name + ".yaml")));
  std::vector<MeasuredTable> checked;
  for (const std::string name : machine.at("checks"))
    checked.push_back(load_table_file(out / "tables" / (name + ".yaml")));
  CalibrationOptions how;
  how.any_rows = request.force;
  Calibration fit = calibrate("device", hardware, tables, zoo(), how);
  check_systems(fit, checked, zoo());
  const auto checks = checks_of(checked, fit);
  auto refusal = request.force ? std::string() : refusal_of(fit);
  const auto entry = (out / "calibrated.yaml").string();
  const auto today = fmt::format(
      "{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  const auto overlay = overlay_of(fit, zoo(), today);
  const auto exit = refusal.empty() ? Exit::fine : Exit::assertion_failed;
  if (refusal.empty())
    files::write(
        entry, overlay,
        {.replace = request.force ? files::Replace::any : files::Replace::own, .mark = "fitted to "});
  if (options.format == OutputFormat::json)
    return {detail::json_document(Json({{"schema", "mlsysim/measure@1"},
                                        {"entry", refusal.empty() ? Json(entry) : Json()},
                                        {"machine", machine},
                                        {"calibration", Json::parse(render(fit, options))},
                                        {"checks", checks_json(checks)}})),
            std::move(refusal), exit};
  if (options.format == OutputFormat::csv) return {render(fit, options), std::move(refusal), exit};
  auto text = render(fit, options);
  if (options.verbosity == Verbosity::verbose) text += "\n" + overlay;
  if (!checks.empty())
    text += "\nyour machine: measured, predicted with the prior and with the fit\n" +
            checks_text(checks, options);
  if (!refusal.empty()) return {text, std::move(refusal), exit};
  text += fmt::format(
      "\nThe device entry {}_calibrated is in {}. To use it:\n"
      "  mlsysim eval Llama3_8B {}_calibrated --zoo {} --zoo {}\n",
      hardware, entry, hardware, paths.back(), entry);
  return {text};
}

}  // namespace

Answer measure_machine(MeasureRequest& request, const RenderOptions& options) {
  if (request.plan) return show_plan(request, options);
  // The command may be run a second time, with plugins: what was measured stays.
  if (!request.measured && !measured(request, options))
    return {"", "mlsysim: interrupted; rows measured so far are in " + request.out + "/tables\n",
            Exit::interrupted};
  request.measured = true;
  return concluded(request, options);
}

}  // namespace mlsysim::cli
