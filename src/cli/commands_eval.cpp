#include "child_process.hpp"
#include "commands.hpp"
#include "questions.hpp"
#include "reading_notes.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/report/interval_report.hpp>
#include <mlsysim/report/scorecard_report.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace mlsysim::cli {
namespace {

/// A scenario that was asked for, and the plan that it came from, if any.
struct Asked {
  BuiltScenario built;
  std::optional<PlanFile> plan;
};

[[noreturn]] void wrong_targets(std::string found, std::string hint) {
  throw InputError({.id = "mlsysim.cli.001",
                    .message = "the command line does not say what to evaluate",
                    .found = std::move(found),
                    .expected = "a model and what it runs on, or one plan file",
                    .hint = std::move(hint)});
}

void apply(ScenarioBuilder& builder, const ScenarioRequest& request) {
  for (const auto& [field, text] : request.fields) builder.set(field, text);
  if (!request.region.empty()) builder.region(request.region);
}

Asked ask(const ScenarioRequest& request) {
  if (request.targets.size() == 1 && names_a_file(request.targets[0])) {
    Asked out{{}, read_plan(request.targets[0], zoo())};
    apply(out.plan->builder, request);
    out.built = out.plan->build();
    return out;
  }
  if (request.targets.size() != 2)
    wrong_targets(request.targets.size() == 1 ? fmt::format("'{}' alone", request.targets[0])
                                              : fmt::format("{} arguments", request.targets.size()),
                  "e.g. mlsysim eval Llama3_70B H100 --accelerators 8, or mlsysim eval plan.yaml");
  if (names_a_file(request.targets[0]) && holds_a_plan(request.targets[0]))
    wrong_targets(fmt::format("the plan '{}' and '{}'", request.targets[0], request.targets[1]),
                  "a plan stands alone: leave the second out, or change the plan's section 'hardware'");
  if (zoo().find<Workload>(request.targets[0]) == nullptr && !names_a_file(request.targets[0]) &&
      zoo().find<Workload>(request.targets[1]) != nullptr)
    wrong_targets(fmt::format("'{}' before '{}'", request.targets[0], request.targets[1]),
                  fmt::format("the model comes first: {} {}", request.targets[1], request.targets[0]));
  ScenarioBuilder builder(zoo());
  builder.set("workload", request.targets[0]).hardware(request.targets[1]);
  apply(builder, request);
  return {builder.build(), std::nullopt};
}

/// A plan without a mode that the Python package of the same name reads in another way: it trains as soon as
/// there are several accelerators. Empty where both do the same.
std::string mode_note(const Asked& asked) {
  if (!asked.plan || !asked.plan->builder.text_of("mode").empty()) return {};
  Notes quiet;
  const ResolvedScenario r(asked.built.scenario, quiet);
  if (r.accelerators() == 1 || r.mode() == Mode::train) return {};
  return fmt::format(
      "mlsysim: note: the plan has no mode and {} accelerators: {} here, training in the Python package of "
      "the same "
      "name; write mode: {} or mode: train\n",
      r.accelerators(), name_of(r.mode()), name_of(r.mode()));
}

}  // namespace

bool holds_a_plan(const std::string& path) {
  const auto file = files::try_read(path);  // what cannot be read is refused by whoever reads it for good
  std::string_view rest = file.bytes;
  bool workload = false;
  for (std::string_view line; !rest.empty(); rest.remove_prefix(std::min(rest.size(), line.size() + 1))) {
    line = rest.substr(0, rest.find('\n'));
    if (line.starts_with("schema:")) return false;
    workload = workload || line.starts_with("workload:");
    line.remove_prefix(std::min(line.find_first_not_of(" {\t"), line.size()));  // a plan as JSON
    workload = workload || line.starts_with("\"workload\":");
  }
  return workload;
}

BuiltScenario scenario_of(const ScenarioRequest& request) { return ask(request).built; }

Answer eval(const ScenarioRequest& request, const RenderOptions& options) {
  const Asked asked = ask(request);
  auto evaluation = SystemEvaluator::evaluate(asked.built.scenario);
  evaluation.assumptions.insert(evaluation.assumptions.end(), asked.built.assumptions.begin(),
                                asked.built.assumptions.end());
  evaluation.warnings.insert(evaluation.warnings.begin(), asked.built.warnings.begin(),
                             asked.built.warnings.end());
  // Readers see the notes of files on standard error, programs in the answer.
  if (options.format == OutputFormat::json)
    evaluation.warnings.insert(evaluation.warnings.end(), reading_notes().begin(), reading_notes().end());
  std::vector<AssertionResult> assertions;
  if (asked.plan) assertions = asked.plan->check(evaluation);
  std::vector<PlanAssertion> limits;
  for (const auto& limit : request.limits)
    limits.push_back({.metric = fmt::format("performance.{}", limit.result()),
                      .min_text = {},
                      .max_text = AnyQuantity(limit.most).to("ms").str(),
                      .where = {}});
  for (auto& result : check_assertions(limits, evaluation)) assertions.push_back(std::move(result));
  const bool brief = options.format == OutputFormat::text && options.verbosity == Verbosity::brief;
  std::vector<NumberInterval> ranges;
  if (request.interval > 0 || (brief && evaluation.passed_all() && evaluation.fidelity == "operator")) {
    const auto subject = subject_of(asked.built.scenario);
    const auto of = interval_subject(asked.built.scenario);
    ranges = intervals(subject, of, measured_results(subject, of),
                       request.interval > 0 ? request.interval : kUsualLevel,
                       {.samples = request.interval > 0 ? kAskedSamples : kCardSamples});
  }
  Answer out{
      brief ? brief_card(evaluation, options, assertions, ranges) : render(evaluation, options, assertions),
      mode_note(asked)};
  if (request.interval > 0) out.payload = with_intervals(std::move(out.payload), ranges, options);
  std::size_t failed = 0;
  for (const auto& a : assertions) {
    if (!a.note.empty()) out.diagnostics += fmt::format("mlsysim: note: {}\n", a.note);
    if (a.passed) continue;
    ++failed;
    out.diagnostics +=
        fmt::format("mlsysim: assertion failed: {} is {}, the plan asks for {} {}\n", a.metric, a.found,
                    a.bound == AssertionResult::Bound::max ? "at most" : "at least", a.limit);
  }
  if (failed > 0) out.exit = Exit::assertion_failed;
  if (!evaluation.passed_all()) {
    out.exit = Exit::infeasible;
    const bool fits = evaluation.feasibility.status != EvaluationLevel::Status::fail;
    const auto& why = fits ? evaluation.performance : evaluation.feasibility;
    out.diagnostics += fmt::format("mlsysim: infeasible: {}\n", why.summary.str());
  }
  return out;
}

namespace {

/// The accelerators of this machine, as the NVIDIA driver names them.
std::vector<std::string> devices_here() {
  const auto asked = run_child({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"});
  std::vector<std::string> names;
  std::istringstream lines(asked.out);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) names.push_back(line);
  if (asked.status == 0 && !names.empty()) return names;
  throw LookupError({.id = "mlsysim.cli.316",
                     .message = "no accelerator of this machine is found",
                     .found = asked.status == 127 ? std::string("no program nvidia-smi")
                              : names.empty()
                                  ? fmt::format("no device; nvidia-smi ended with {}", asked.status)
                                  : fmt::format("'{}' of nvidia-smi", names.front()),
                     .expected = "an NVIDIA driver that names its devices",
                     .hint = "name the machine: mlsysim eval MODEL HARDWARE"});
}

}  // namespace

Answer audit(ScenarioRequest request, const RenderOptions& options) {
  const auto names = devices_here();
  const auto equal = std::count(names.begin(), names.end(), names.front());
  if (request.targets.empty()) request.targets.emplace_back("Llama3_8B");
  request.targets.push_back(names.front());
  if (equal > 1) request.fields.try_emplace("accelerators", std::to_string(equal));
  auto out = eval(request, options);
  if (const auto others = std::ssize(names) - equal; others > 0)
    out.diagnostics +=
        fmt::format("mlsysim: note: {} other devices of this machine are left out: '{}' is the first\n",
                    others, names.front());
  return out;
}

}  // namespace mlsysim::cli
