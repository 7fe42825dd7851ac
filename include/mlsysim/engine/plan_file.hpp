#pragma once
/// Reads plan files: one YAML file with a scenario and bounds on its results.
///
/// Each key sets a field of Scenario: `parallelism.tp_size` sets tp_size. docs/reference/plan-file.md lists
/// the keys. All problems of a file are reported together, each with line, column and caret.
/// Example: Llama3_70B on 8 H100 in fp8, batch size 16, 2,048 tokens in, 512 out, and the assertion
/// `{metric: performance.itl, max: 25 ms}`: ITL is 11.69 ms, the assertion passes.

#include <mlsysim/engine/plan_assertion.hpp>
#include <mlsysim/engine/scenario_builder.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class YamlDocument;

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

/// @throws ErrorList with every problem of the file, each with place and caret; InputError for an unreadable
/// file
[[nodiscard]] PlanFile read_plan(const std::filesystem::path& file, const Zoo& zoo);
/// Reads the text of a plan. Messages show `name` instead of a path.
[[nodiscard]] PlanFile parse_plan(std::string text, std::string name, const Zoo& zoo);
/// JSON Schema (draft-07) of plan files.
[[nodiscard]] std::string plan_schema();

}  // namespace mlsysim
