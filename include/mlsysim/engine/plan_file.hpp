#pragma once
/// Plan files: a scenario and what must hold of it, in one YAML file.
///
/// Every key feeds a field of the table of Scenario; docs/reference/plan-file.md lists them.

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/engine/scorecard.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class YamlDocument;

/// A bound on a metric of the scorecard.
struct PlanAssertion {
  std::string metric;             ///< "performance.ttft"
  std::string min_text, max_text; ///< as written; empty where there is no such bound
  Location where;
};

/// How an assertion ended.
struct AssertionResult {
  enum class Bound : std::uint8_t { min, max };
  std::string metric;
  Bound bound = Bound::max;
  std::string limit;   ///< "50 ms"
  std::string found;   ///< "81.3 ms"
  bool passed = false;
  std::string note;    ///< how a bare number was read; empty otherwise
};

/// A plan that was read. Its builder takes further texts, which replace those of the file.
struct PlanFile {
  std::string version, name;
  ScenarioBuilder builder;
  std::vector<PlanAssertion> assertions;
  std::shared_ptr<const YamlDocument> document;  ///< for messages that point into the file

  /// The scenario. @throws what ScenarioBuilder::build throws, with line and caret where the file is at fault
  [[nodiscard]] BuiltScenario build() const;
  /// The assertions against a scorecard. @throws what check_assertions throws, with line and caret
  [[nodiscard]] std::vector<AssertionResult> check(const SystemEvaluation& evaluation) const;
};

/// One key of a plan file.
struct PlanKey {
  std::string_view section;  ///< "hardware"; empty for the top level
  std::string_view key;      ///< "name"
  std::string_view field;    ///< of Scenario: "hardware"; empty for "ops.region"
};
[[nodiscard]] std::span<const PlanKey> plan_keys();

/// @throws ErrorList with every problem of the file, each with place and caret; InputError for an unreadable file
[[nodiscard]] PlanFile read_plan(const std::filesystem::path& file, const Zoo& zoo);
/// The same for a text; `name` stands for it in messages.
[[nodiscard]] PlanFile parse_plan(std::string text, std::string name, const Zoo& zoo);
/// Whether a file looks like a plan: a map with `workload` and `hardware` and without a schema line.
/// @throws InputError, ErrorList as `read_plan`
[[nodiscard]] bool is_plan(const std::filesystem::path& file);

/// Compares bounds with the scorecard; both ends are inclusive.
/// @throws LookupError for a metric that there is not, DimensionError for a bound in another dimension
[[nodiscard]] std::vector<AssertionResult> check_assertions(std::span<const PlanAssertion> assertions,
                                                            const SystemEvaluation& evaluation);

/// JSON Schema (draft-07) of plan files.
[[nodiscard]] std::string plan_schema();

}  // namespace mlsysim
