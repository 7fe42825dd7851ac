#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/reading_notes.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_graphs/program.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <filesystem>

namespace mlsysim::cli {
namespace {

constexpr std::uint64_t kLongest = 1 << 20;  // bytes of a file that may be a launch

LaunchFormat format_of(const std::string& word) {
  if (const auto format = choice_of<LaunchFormat>(word)) return *format;
  const std::vector<std::string> names(Choices<LaunchFormat>::names.begin(),
                                       Choices<LaunchFormat>::names.end());
  auto facts =
      unknown_name("mlsysim.cli.111", fmt::format("there is no launch format '{}'", word), word, names);
  if (facts.hint.empty()) facts.hint = "choose one of them";
  throw LookupError(std::move(facts));
}

/// A word with a space is a command line; others are files.
bool is_command(const std::string& word) { return word.find_first_of(" \t\n") != std::string::npos; }

LaunchQuestion question_of(const ScenarioRequest& request, const LaunchRequest& asked) {
  LaunchQuestion q;
  q.fields = request.fields;
  if (!asked.format.empty()) q.format = format_of(asked.format);
  std::error_code none;
  if (is_command(asked.from) && !std::filesystem::exists(asked.from, none)) {
    q.text = asked.from;
    q.folder = ".";
  } else {
    q.text = files::read(asked.from, "a launch of an engine", kLongest);
    q.name = asked.from;
    q.folder = std::filesystem::path(asked.from).parent_path();
    if (q.folder.empty()) q.folder = ".";
  }
  return q;
}

/// Text for standard error: the count of used flags, then a line for each other flag and each note.
std::string findings_text(const Launch& launch) {
  std::size_t used = 0;
  for (const auto& f : launch.findings) used += f.use == FlagUse::used;
  auto out = fmt::format("mlsysim: {} of {} flags are used\n", used, launch.findings.size());
  for (const auto& f : launch.findings)
    if (f.use != FlagUse::used)
      out += fmt::format("mlsysim: {}: {} {}: {}\n", name_of(f.use), f.flag, f.value, f.what);
  for (const auto& note : launch.notes) out += fmt::format("mlsysim: note: {}\n", note);
  return out;
}

Table findings_table(const Launch& launch) {
  Table table{.schema = "mlsysim/launch@1",
              .title = fmt::format("{} {}", name_of(launch.format), launch.version),
              .columns = {{"use"}, {"flag"}, {"value"}, {"what"}, {"line"}}};
  for (const auto& f : launch.findings)
    table.rows.push_back({name_of(f.use), f.flag, f.value, f.what,
                          f.where.line > 0 ? Table::Cell(static_cast<double>(f.where.line)) : Table::Cell()});
  for (const auto& note : launch.notes) table.rows.push_back({"note", "", "", note, {}});
  return table;
}

}  // namespace

bool is_launch(const std::string& word) {
  std::error_code none;
  if (!std::filesystem::exists(word, none)) return is_command(word);
  if (std::filesystem::is_directory(word, none) || is_program_file(word)) return false;
  const auto bytes = files::try_read(word, kLongest);
  if (bytes.fault != files::ReadFault::none) return false;
  const std::string_view text = bytes.bytes;
  const bool script = word.ends_with(".sh") || text.starts_with("#!");
  // The reader of launches refuses a YAML file that no reader takes.
  const bool foreign =
      (word.ends_with(".yaml") || word.ends_with(".yml")) && text.find("schema:") == std::string_view::npos;
  return script || foreign || launch_format(bytes.bytes, word).has_value();
}

Answer launch_import(const ScenarioRequest& request, const LaunchRequest& asked,
                     const RenderOptions& options) {
  const auto launch = read_launch(question_of(request, asked), zoo());
  (void)launch.build(zoo());  // a plan that is not taken is refused here, not when it is used
  Answer out;
  if (options.format != OutputFormat::text) {
    out.payload = render(findings_table(launch), options);
    return out;
  }
  out.payload = launch_plan(launch);
  out.diagnostics = findings_text(launch);
  return out;
}

Answer launch_export(const ScenarioRequest& request, const LaunchRequest& asked) {
  const auto built = scenario_of(request);
  const auto launch = export_launch(built.scenario, format_of(asked.to), asked.checkpoint);
  Answer out{launch.text};
  for (const auto& lost : launch.not_carried)
    out.diagnostics += fmt::format("mlsysim: note: {} has no flag for {}\n", asked.to, lost);
  return out;
}

namespace {

/// The words of `fit`: a launch or plan alone is --from; a model and a machine are a scenario.
void take_fit_words(ScenarioRequest& request, LaunchRequest& asked) {
  auto& words = request.targets;
  if (asked.from.empty() && words.size() == 1 && !request.fields.contains("workload") &&
      (words[0].find(' ') != std::string::npos || is_launch(words[0]) || names_a_file(words[0])))
    asked.from = std::exchange(words, {}).front();
  if (asked.from.empty())
    for (const char* field : {"workload", "hardware"})
      if (const auto given = request.fields.extract(field); !given.empty())
        words.insert(field == std::string_view("workload") ? words.begin() : words.end(), given.mapped());
  if (asked.from.empty() ? words.size() == 2 : words.empty()) return;
  throw InputError(
      {.id = "mlsysim.cli.253",
       .message = "it is not clear what should fit",
       .key = "fit",
       .found = fmt::format("{} word(s){}", words.size(), asked.from.empty() ? "" : " beside --from"),
       .expected = "MODEL HARDWARE, or a launch or plan alone",
       .hint = "e.g. mlsysim fit Llama3_70B 8xH100, or mlsysim fit --from 'vllm serve ...'"});
}

}  // namespace

Answer launch_fit(ScenarioRequest request, LaunchRequest asked, const RenderOptions& options) {
  take_fit_words(request, asked);
  Fit fit;
  std::optional<Launch> launch;
  std::error_code none;
  const bool file = std::filesystem::exists(asked.from, none);
  const auto bytes = file ? files::try_read(asked.from, kLongest) : files::FileBytes{};
  const bool yaml = asked.from.ends_with(".yaml") || asked.from.ends_with(".yml");
  if (asked.from.empty()) {
    fit = fit_of(scenario_of(request));
  } else if (file && yaml && asked.format.empty() && bytes.bytes.find("workload") != std::string::npos &&
             !launch_format(bytes.bytes, asked.from)) {
    auto plan = read_plan(asked.from, zoo());
    for (const auto& [field, text] : request.fields) plan.builder.set(field, text);
    fit = fit_of(plan.build());
  } else {
    launch = read_launch(question_of(request, asked), zoo());
    fit = fit_of(*launch, zoo());
  }
  Table table{.schema = "mlsysim/fit@1",
              .title = fit.fits ? "fits" : "does not fit",
              .columns = {{"part"}, {"what"}, {"bytes"}, {"size", "GB"}},
              .footer = options.format == OutputFormat::text ? std::string() : fit.summary};
  for (const auto& i : fit.items) table.rows.push_back({i.part, i.what, i.bytes / unit::B, i.bytes});
  for (const auto& c : fit.changes)
    table.rows.push_back({"change", fmt::format("{}: {}", c.change, c.effect), {}, {}});
  const bool programs = options.format != OutputFormat::text;
  if (launch && programs) {
    for (const auto& f : launch->findings)
      if (f.use != FlagUse::used)
        table.rows.push_back({name_of(f.use), fmt::format("{} {}: {}", f.flag, f.value, f.what), {}, {}});
  }
  if (programs)
    for (const auto& notes : {fit.notes, reading_notes()})
      for (const auto& note : notes) table.rows.push_back({"note", note, {}, {}});
  Answer out{verdict_first(fit.fits, fit.summary, table, options)};
  if (launch)
    out.diagnostics = findings_text(*launch);
  else
    for (const auto& note : fit.notes) out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  if (!fit.fits) {
    out.exit = Exit::infeasible;
    out.diagnostics += fmt::format("mlsysim: infeasible: {}\n", fit.summary);
  }
  return out;
}

}  // namespace mlsysim::cli
