#pragma once
/// Builds a Scenario from field texts. Plan files, the command line and Python keywords share this path.
///
/// A later text for a field replaces the earlier one. A field without effect in the mode is refused.
/// Example: `set("seq_len", "1024")`, then `set("seq_len", "4096")` gives 4096 tokens.
/// `set("zero_stage", "1")` in mode serve throws InputError.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/units/error.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class Zoo;

/// A Scenario together with everything that it points to.
struct BuiltScenario {
  Scenario scenario;
  std::vector<Assumption> assumptions;  ///< made while names were turned into objects
  std::vector<std::string> warnings;    ///< what stands in for what was named
  std::shared_ptr<const void> keep;     ///< owns files that were loaded and fleets that were made
};

/// Collects the fields of a Scenario as texts.
class ScenarioBuilder {
 public:
  explicit ScenarioBuilder(const Zoo& zoo);
  [[nodiscard]] const Zoo& zoo() const { return *zoo_; }

  /// A field of the table of Scenario; "hardware" also takes what `hardware` does.
  /// @throws LookupError for a field that there is not, with near misses
  ScenarioBuilder& set(std::string_view field, std::string_view text, const Location& where = {});
  /// Sets the hardware: a device, node, pod or cluster of the zoo, or a YAML file with one of these.
  ScenarioBuilder& hardware(std::string_view text, const Location& where = {}) {
    return set("hardware", text, where);
  }
  /// A grid or a facility.
  ScenarioBuilder& region(std::string_view text, const Location& where = {});

  /// Reads one text at once and forgets it, so that a caller can collect faults. @throws as `build`
  void check(std::string_view field, std::string_view text, const Location& where = {}) const;
  /// Reads the text of a region at once and forgets it.
  void check_region(std::string_view text, const Location& where = {}) const;

  /// The text that a field was given; empty when it was not.
  [[nodiscard]] std::string_view text_of(std::string_view field) const;

  /// Reads all texts.
  /// @throws what FieldReader::read throws; InputError for counts that contradict the hardware and for fields
  ///         without an effect
  [[nodiscard]] BuiltScenario build() const;

 private:
  struct Text {
    std::string text;
    Location where;
  };
  const Zoo* zoo_;
  std::map<std::string, Text, std::less<>> texts_;
  Text region_;
};

/// Fields of Scenario that have an effect in a mode, in the order of a plan file.
[[nodiscard]] std::vector<std::string_view> fields_used_in(Mode mode);

}  // namespace mlsysim
