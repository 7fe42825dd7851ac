#pragma once
// Where each field of Scenario stands in a plan file, and which modes it has an effect in.

#include <mlsysim/engine/scenario.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace mlsysim::detail {

/// Modes, as bits.
enum Modes : std::uint8_t {
  kInfer = 1,
  kServe = 2,
  kTrain = 4,
  kTogether = kServe | kTrain,
  kAlways = kInfer | kTogether
};

/// One field of Scenario.
struct PlanPlace {
  std::string_view field;
  std::string_view section;  ///< of a plan file; empty for the top level
  Modes modes = kAlways;
  bool keyed = true;   ///< plans have a key for it
  bool draft = false;  ///< speaks of the draft model, and has no effect without one

  [[nodiscard]] bool used_in(Mode mode) const { return (modes & (1U << static_cast<unsigned>(mode))) != 0; }
  /// Key of the field in its section; the field that names the section has the key "name".
  [[nodiscard]] std::string_view key() const { return field == section ? "name" : field; }
};

/// Every field, in the order of a plan file.
[[nodiscard]] std::span<const PlanPlace> plan_places();
/// The place of a field; the table has all of them.
[[nodiscard]] const PlanPlace& plan_place(std::string_view field);

}  // namespace mlsysim::detail
