#pragma once
/// Plan files: a scenario and what must hold of it, in one YAML file.
///
/// Every key feeds a field of the table of Scenario; docs/reference/plan-file.md lists them.

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
/// The same for a text; `name` stands for it in messages.
[[nodiscard]] PlanFile parse_plan(std::string text, std::string name, const Zoo& zoo);
/// JSON Schema (draft-07) of plan files.
[[nodiscard]] std::string plan_schema();

}  // namespace mlsysim
