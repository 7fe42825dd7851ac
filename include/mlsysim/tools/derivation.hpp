#pragma once
/// Derivations: where a number comes from, as data and as text.

#include <mlsysim/tools/law_entry.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class Trace;

/// No record, no node, no value.
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A number of a record with where it came from.
struct DerivedValue {
  std::string name;
  std::string_view unit;  ///< display unit of the field
  Exponents exps{};
  double value = 0;       ///< canonical base unit
  std::size_t record = kNone;  ///< record whose result (or input) this number is; kNone for anything else
  bool from_input = false;     ///< it is an input of that record, handed on
  std::size_t field = 0;       ///< index of that result or input
};

/// One operation inside an opened law.
struct DerivedNode {
  std::string_view op;        ///< "multiply", "max", ...; "input", "constant" or "law_result" for leaves
  std::vector<std::size_t> operands;  ///< nodes of the derivation
  double value = 0;
  std::string name;           ///< given by `named`, or the field name of a leaf; may be empty
  std::size_t record = kNone;  ///< record that a leaf belongs to
};

/// One law call.
struct DerivedRecord {
  const LawInfo* law = nullptr;
  std::size_t parent = kNone;  ///< record of the enclosing call
  int depth = 0;
  std::vector<DerivedValue> inputs;
  std::vector<DerivedValue> results;
  std::vector<std::size_t> roots;  ///< per result its node, for an opened law; else empty
};

/// A trace, read back with names and units.
struct Derivation {
  std::vector<DerivedRecord> records;  ///< in order of calls; 0 is the outermost
  std::vector<DerivedNode> nodes;
};

/// Reads a trace back.
[[nodiscard]] Derivation read_trace(const Trace& trace);

/// Runs a law with tracing.
/// @param open ids of laws whose every operation is recorded
/// @throws InputError, DomainError; SolverError for a resolver that is not a law
[[nodiscard]] Derivation derive(const LawEntry& law, std::span<const double> in,
                                std::span<const std::string> open = {});

/// The derivation as text: per call the law, its equation and source, inputs and results with units; for opened laws the
/// named intermediates and the expression with numbers.
[[nodiscard]] std::string to_text(const Derivation& derivation);

}  // namespace mlsysim
