#pragma once
/// Errors of the library: what is wrong, what was found and expected, where, and what to do.
///
/// The facts are fields, so that programs need not read the message. Infeasible, not converged or "does not
/// fit" are values in results, never exceptions.
/// Example: id "mlsysim.unit.003", message "m", found "f", expected "e", hint "h" at line 3, column 7 of
/// a.yaml render as "a.yaml:3:7: m; found f, expected e; h [mlsysim.unit.003]".

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A place in an input text. `line` and `column` count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  [[nodiscard]] std::string text() const;
};

/// Why there is no full answer: a closed list. mlsysim/resolver_api/break_reason.hpp has the names.
enum class BreakReason : std::uint8_t {
  missing_field,
  missing_stage_input,
  unit_error,
  unsupported_precision,
  unsupported_op,
  dynamic_shape,
  infeasible_memory,
  infeasible_constraint,
  no_solution,
  out_of_domain,
  unknown_hardware,
  unknown_model,
  version_mismatch,
  plugin_error,
  timeout,
  numeric,
  approximation,
  budget_exceeded,
  internal,
  unknown_name,
  invalid_input
};

/// The parts of an error, held as fields so that programs need not read the message.
struct ErrorFacts {
  std::string id{};                     ///< stable identifier, e.g. "mlsysim.unit.003"
  std::string message{};                ///< what is wrong, one sentence, without place or advice
  std::string key{};                    ///< name of the offending input, field or entry; may be empty
  std::string found{};                  ///< what was found; may be empty
  std::string expected{};               ///< what was expected; may be empty
  std::string hint{};                   ///< what to do; may be empty
  Location where{};                     ///< where in an input text
  std::string excerpt{};                ///< the source line with a caret below; may be empty
  std::optional<BreakReason> reason{};  ///< where it is unset, the type of the error says it
};

/// Facts that several errors of one id share. A throw adds its own: `throw InputError(kFault.with({.found =
/// "x"}))`.
struct Fault {
  std::string_view id;
  std::string_view message{}, key{}, expected{}, hint{};
  std::optional<BreakReason> reason{};

  /// @returns these facts; where `own` states a fact, that one
  [[nodiscard]] ErrorFacts with(ErrorFacts own) const;
};

/// Base of all errors that the library throws.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorFacts facts);
  /// The facts in the order of their declaration.
  Error(std::string id, std::string message, std::string key, std::string found, std::string expected,
        std::string hint = {}, Location where = {}, std::optional<BreakReason> reason = {});
  Error(const Fault& fault, std::string message, std::string key, std::string found, std::string expected,
        std::string hint = {});

  [[nodiscard]] const ErrorFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::string& id() const noexcept { return facts_.id; }
  /// Frames such as "while loading zoo/hardware/nvidia.yaml", innermost first.
  [[nodiscard]] const std::vector<std::string>& context() const noexcept { return context_; }
  /// Adds a frame; used while the error travels outwards.
  void add_context(std::string frame);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  void render();
  ErrorFacts facts_;
  std::vector<std::string> context_;
  std::string text_;
};

// One subtype per kind of mistake; all construct from ErrorFacts.
#define MLSYSIM_ERROR(NAME)   \
  class NAME : public Error { \
   public:                    \
    using Error::Error;       \
  };
/// A unit or number text that cannot be read.
MLSYSIM_ERROR(UnitError)
/// A quantity of one dimension where another is due.
MLSYSIM_ERROR(DimensionError)
/// An input of the wrong kind, form or file.
MLSYSIM_ERROR(InputError)
/// A name that is not there, or is ambiguous.
MLSYSIM_ERROR(LookupError)
/// A value outside the domain of a law.
MLSYSIM_ERROR(DomainError)
/// A pipeline that cannot be built or run.
MLSYSIM_ERROR(PipelineError)
/// A solver that was asked something it cannot answer.
MLSYSIM_ERROR(SolverError)
/// A plugin that cannot be trusted or used.
MLSYSIM_ERROR(PluginError)
#undef MLSYSIM_ERROR

/// Several errors of one input (all problems of a file at once).
class ErrorList : public Error {
 public:
  /// @param title what was being read, e.g. "zoo/hardware/nvidia.yaml: 3 problems"
  ErrorList(ErrorFacts title, std::vector<ErrorFacts> problems);
  [[nodiscard]] const std::vector<ErrorFacts>& problems() const noexcept { return problems_; }

 private:
  std::vector<ErrorFacts> problems_;
};

/// One error as text: "file:line:col: message; found ..., expected ...; hint [id]".
[[nodiscard]] std::string render(const ErrorFacts& facts);

}  // namespace mlsysim
