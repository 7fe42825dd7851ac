#pragma once
/// The commands of the program, apart from how their arguments are read.

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/report/render_options.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::cli {

/// Exit codes; infeasible wins over a failed assertion.
enum class Exit : int { fine = 0, bad_input = 1, infeasible = 2, assertion_failed = 3, interrupted = 130 };

/// What a command has to say: the payload for stdout, and diagnostics for stderr.
struct Answer {
  std::string payload;
  std::string diagnostics{};
  Exit exit = Exit::fine;
};

/// A question about a scenario: names or a plan, and the options that were given.
struct ScenarioRequest {
  std::vector<std::string> targets;           ///< MODEL HARDWARE, or one plan file
  std::map<std::string, std::string> fields;  ///< of the table of Scenario, as texts
  std::string region;
};

/// The zoo of this call: the shipped one and what the user added.
[[nodiscard]] const Zoo& zoo();

[[nodiscard]] Answer eval(const ScenarioRequest& request, const RenderOptions& options);
/// The last target is the metric, where there is one.
[[nodiscard]] Answer explain_metric(ScenarioRequest request, const RenderOptions& options);

struct SweepRequest {
  std::string model;
  std::vector<std::string> hardware, batch_sizes, precisions;
  std::map<std::string, std::string> fields;  ///< of the table of SingleNodeModel::Inputs
};
[[nodiscard]] Answer sweep(const SweepRequest& request, const RenderOptions& options);

[[nodiscard]] Answer zoo_list(const std::string& kind, const RenderOptions& options);
/// As YAML rather than in the format of the options.
enum class ShowAs : std::uint8_t { report, yaml };
[[nodiscard]] Answer zoo_show(const std::string& name, const std::string& kind, ShowAs as, const RenderOptions& options);
[[nodiscard]] Answer zoo_search(const std::string& words, const RenderOptions& options);
[[nodiscard]] Answer zoo_lint(const std::vector<std::string>& paths, const RenderOptions& options);
[[nodiscard]] Answer schema(const std::string& type);
[[nodiscard]] Answer units_convert(const std::string& quantity, const std::string& unit, const RenderOptions& options);
[[nodiscard]] Answer units_list(const RenderOptions& options);
[[nodiscard]] Answer version(const RenderOptions& options);

[[nodiscard]] Answer resolver_list(const RenderOptions& options);
[[nodiscard]] Answer resolver_show(const std::string& name, const RenderOptions& options);
struct PipelineRequest {
  std::vector<std::string> words;  ///< stages by resolver name (Name or instance:Name), and inputs as key=value
  std::vector<std::string> links;  ///< "A.latency=B.time"
};
[[nodiscard]] Answer pipeline_run(const PipelineRequest& request, const RenderOptions& options);
[[nodiscard]] Answer pipeline_show(const PipelineRequest& request, const std::string& form);

/// What may stand at a place of the command line.
enum class Place : std::uint8_t { none, model, machine, device, grid, datacenter, entry, kind, resolver, schema_type, shell, unit, metric };
/// Names that may stand there, in order.
[[nodiscard]] std::vector<std::string> candidates(Place place);
/// The completion script of a shell. @throws LookupError for another shell
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace mlsysim::cli
