#pragma once
/// Basis of a result: inputs that were supplied, defaults and assumptions, warnings, fidelity, verification,
/// time.
///
/// Example: a resolver whose `batch_size` defaults to 1 ("one request at a time") runs without it.
/// `assumptions()` then begins with batch_size, "1", "one request at a time".

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/check.hpp>
#include <mlsysim/resolver_api/notes.hpp>

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// Which fields of an `Inputs` were supplied, by index in its table.
using FieldMask = std::bitset<256>;

/// The report of one run. Texts are written on demand.
class RunReport {
 public:
  std::string resolver;
  std::span<const FieldInfo> inputs;  ///< static, or owned by a resolver that outlives the report
  FieldMask supplied;
  NoteBook notes;
  std::string_view fidelity;      ///< "textbook" or "operator"; empty where the resolver has none
  Verification verification;      ///< of solvers
  std::optional<double> seconds;  ///< when a clock was given

  /// Every default that was used and every assumption that was noted.
  [[nodiscard]] std::vector<Assumption> assumptions() const;
  [[nodiscard]] std::span<const std::string> warnings() const { return notes.warnings; }
  /// All of it as lines of text.
  [[nodiscard]] std::string text() const;
};

/// Fields that were left at their defaults, with the source of each default.
[[nodiscard]] std::vector<Assumption> defaults_used(std::span<const FieldInfo> inputs,
                                                    const FieldMask& supplied);

}  // namespace mlsysim
