#pragma once
/// The commands of the program, apart from how their arguments are read.

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/engine/service_limit.hpp>
#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/intervals/residual_groups.hpp>
#include <mlsysim/report/render_options.hpp>
#include <mlsysim/specs/usual_request.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {
struct ProgramOptions;
}  // namespace mlsysim

namespace mlsysim::cli {

/// Exit codes; infeasible wins over a failed assertion.
enum class Exit : int { fine = 0, bad_input = 1, infeasible = 2, assertion_failed = 3, interrupted = 130 };

/// The output of a command: the payload for stdout, and diagnostics for stderr.
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
  int interval = 0;  ///< percent of measurements that intervals are to hold; 0: none are asked for
  std::vector<ServiceLimit> limits{};  ///< that times of a request must meet
  bool takes_longest = false;          ///< the longest recorded request is taken as the field max_seq_len
};

/// The zoo of this call: the shipped one and what the user added.
[[nodiscard]] const Zoo& zoo();

[[nodiscard]] Answer eval(const ScenarioRequest& request, const RenderOptions& options);
/// `eval` of a model, else of Llama3_8B, on the accelerators of this machine, as its driver names them.
/// @throws LookupError where no driver names one
[[nodiscard]] Answer audit(ScenarioRequest request, const RenderOptions& options);
/// How a derivation is written.
struct ExplainRequest {
  std::vector<std::string> open;  ///< laws whose every operation is written out
  bool latex = false;
};
/// The last target is the number to derive, where there is one; the others are a scenario or a resolver with
/// its inputs.
[[nodiscard]] Answer explain_metric(ScenarioRequest request, const ExplainRequest& asked,
                                    const RenderOptions& options);

/// The scenario that a request describes. @throws as eval
[[nodiscard]] BuiltScenario scenario_of(const ScenarioRequest& request);

struct SensitivityRequest {
  std::vector<std::string> inputs;
  double step = 0.1;
};
/// The last target is the result.
[[nodiscard]] Answer sensitivity_of(ScenarioRequest request, const SensitivityRequest& asked,
                                    const RenderOptions& options);
struct ExportRequest {
  std::string language = "json", name = "law";  ///< the name is that of the C function
};
/// The last target names the results, separated by commas.
[[nodiscard]] Answer export_program(ScenarioRequest request, const ExportRequest& asked);
struct SolveRequest {
  std::string low, high;             ///< of the free input; empty for its range
  std::vector<ServiceLimit> limits;  ///< one stands for the condition
};
/// The last two targets are the condition and the free input; the last one is the input where a limit is
/// given.
[[nodiscard]] Answer solve_question(ScenarioRequest request, const SolveRequest& asked,
                                    const RenderOptions& options);

/// `with` and `against` are changes to the scenario or resolver, key=value each; the last target is the
/// result.
struct CompareRequest {
  std::vector<std::string> with, against;
};
[[nodiscard]] Answer compare_question(ScenarioRequest request, const CompareRequest& asked,
                                      const RenderOptions& options);

struct UncertaintyRequest {
  std::vector<std::string> uncertain, with;
  std::size_t samples = 4096;
  std::string memory;  ///< that the samples may take, as a quantity; empty for the usual limit
  std::uint64_t seed = 1;
  double coverage = 0.9;
  bool given_only = false;  ///< without the ranges of the zoo
  bool mpi = false;         ///< the ranks of mpirun share the samples
};
/// The last target is the result, or several separated by commas.
[[nodiscard]] Answer uncertainty_of(ScenarioRequest request, const UncertaintyRequest& asked,
                                    const RenderOptions& options);

/// The results that are shown where nobody names one, the main one first: times and rates that the subject
/// has, else its first results.
[[nodiscard]] std::vector<std::string> usual_results(std::span<const FieldInfo> results);

/// A law, model or solver by name with its inputs as key=value, as something to lay a space over.
/// Whether a word is the name of a registered resolver or law.
[[nodiscard]] bool names_a_resolver(const std::string& word);
[[nodiscard]] std::shared_ptr<const Problem> resolver_problem(const std::vector<std::string>& words);

/// A space with objectives and constraints.
struct SearchRequest {
  std::string command;  ///< "sweep", "optimize" or "pareto"
  std::vector<std::string> axes, minimize, maximize, constraints, show;
  std::size_t top = 1;
  std::string histogram, strategy = "automatic", shard, state, rows;
  unsigned threads = 0;
  std::uint64_t evaluations = 20000, seed = 1;  ///< of the heuristic strategies
  bool resume = false, overwrite = false;
  bool anything = false;  ///< also what does not fit in memory
  int interval = 0;       ///< as in ScenarioRequest
};
[[nodiscard]] Answer search(const ScenarioRequest& request, const SearchRequest& asked,
                            const RenderOptions& options);

/// The lists of a sweep. Each is an axis of the space of scenarios.
struct SweepRequest {
  std::string model;
  std::vector<std::string> hardware, batch_sizes, precisions, rates, devices;
};
[[nodiscard]] Answer sweep(const SweepRequest& request, ScenarioRequest scenario, SearchRequest asked,
                           const RenderOptions& options);

/// A model file as a file of the zoo.
/// A program, and what its file leaves open.
struct ProgramRequest {
  std::string path, device, precision, graph;  ///< all but the path may be empty
  std::vector<std::string> dims, trips, weights;
  bool force = false;
  double batch_size = 1;
  int depth = 3;  ///< of the modules that a graph shows
};
[[nodiscard]] ProgramOptions options_of(const ProgramRequest& request);
/// Operators by time on a device, by multiply-adds without one; or the graph of its modules.
[[nodiscard]] Answer program_show(const ProgramRequest& request, const RenderOptions& options);

/// A model or a program as a file of the zoo.
[[nodiscard]] Answer model_import(const ProgramRequest& request);
/// A launch: a command line in one word, or a file.
struct LaunchRequest {
  std::string from, format, to, checkpoint;
};
/// Whether a word is a launch rather than a model: a command line, or a file of an engine.
[[nodiscard]] bool is_launch(const std::string& word);
/// A launch as a plan, and what became of its flags.
[[nodiscard]] Answer launch_import(const ScenarioRequest& request, const LaunchRequest& asked,
                                   const RenderOptions& options);
/// The launch of a scenario.
[[nodiscard]] Answer launch_export(const ScenarioRequest& request, const LaunchRequest& asked);
/// Whether a launch, a plan or a model on a machine fits: exit code, memory by item, changes that fit.
[[nodiscard]] Answer launch_fit(ScenarioRequest request, LaunchRequest asked, const RenderOptions& options);

struct MemoryRequest {
  std::string model, device;  ///< the device may be empty
  std::string engine = "none", precision, kv_precision;
  double context = UsualRequest::tokens, requests = 1, tensor_parallel = 1, expert_parallel = 1;
  std::string accelerators;                      ///< that share the model; empty: as the other two say
  std::string memory_fraction, kv_cache_memory;  ///< that the engine takes; empty: its own rule
};
[[nodiscard]] Answer memory(const MemoryRequest& request, const RenderOptions& options);

[[nodiscard]] Answer zoo_list(const std::string& kind, const RenderOptions& options);
/// As YAML rather than in the format of the options.
enum class ShowAs : std::uint8_t { report, yaml };
[[nodiscard]] Answer zoo_show(const std::string& name, const std::string& kind, ShowAs as,
                              const RenderOptions& options);
[[nodiscard]] Answer zoo_search(const std::string& words, const RenderOptions& options);
/// An entry of one's own to begin with, which lints clean. @param date of its source, yyyy-mm-dd
[[nodiscard]] Answer zoo_new(const std::string& kind, const std::string& name, const std::string& date);
[[nodiscard]] Answer zoo_lint(const std::vector<std::string>& paths, const RenderOptions& options);
[[nodiscard]] Answer schema(const std::string& type);
[[nodiscard]] Answer units_convert(const std::string& quantity, const std::string& unit,
                                   const RenderOptions& options);
[[nodiscard]] Answer units_list(const RenderOptions& options);
[[nodiscard]] Answer version(const RenderOptions& options);

[[nodiscard]] Answer resolver_list(const RenderOptions& options);
[[nodiscard]] Answer resolver_show(const std::string& name, const RenderOptions& options);
struct PipelineRequest {
  std::vector<std::string>
      words;  ///< stages by resolver name (Name or instance:Name), and inputs as key=value
  std::vector<std::string> links;  ///< "A.latency=B.time"
  bool fail_fast = false;          ///< nothing runs behind the first stage without an answer
};
[[nodiscard]] Answer pipeline_run(const PipelineRequest& request, const RenderOptions& options);
[[nodiscard]] Answer pipeline_show(const PipelineRequest& request, const std::string& form);

struct CompareMeasuredRequest {
  std::string against;    ///< CSV file of measurements, or the definition of a table
  std::string measurand;  ///< what the CSV file measures
};
[[nodiscard]] Answer compare_measured(const CompareMeasuredRequest& request, const RenderOptions& options);
/// Errors of predictions of these measurements, by device, engine and model.
[[nodiscard]] std::vector<ResidualGroup> measured_groups(const CompareMeasuredRequest& request);

/// Kind of word at a place of the command line; shell completion lists its candidates.
enum class Place : std::uint8_t {
  none,
  model,
  machine,
  device,
  engine,
  grid,
  datacenter,
  entry,
  kind,
  resolver,
  schema_type,
  shell,
  unit,
  metric
};
/// Names that may stand there, in order.
[[nodiscard]] std::vector<std::string> candidates(Place place);
/// The completion script of a shell. @throws LookupError for another shell
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace mlsysim::cli
