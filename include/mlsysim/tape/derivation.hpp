#pragma once
/// Derivations: how a result follows from its inputs, as data and as text.
///
/// A record is one call of a law, with its inputs, results, equation and source. A law that is opened is also
/// read operation by operation, as nodes. `slice` keeps what one result depends on. Values are in base units.
/// Example: Roofline opened at 10 TFLOP, 40 GB, 1000 TFLOP/s and 2 TB/s gives 1 record with 7 nodes. Its text
/// says "memory = traffic / bandwidth = 4e10 / 2e12 = 0.02" and "-> time = 20 ms".

#include <mlsysim/tape/law_entry.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// No record, no node, no value.
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A number of a record with where it came from.
struct DerivedValue {
  std::string name;
  std::string_view unit;  ///< display unit of the field
  Exponents exps{};
  double value = 0;            ///< canonical base unit
  std::size_t record = kNone;  ///< record whose result (or input) this number is; kNone for anything else
  bool from_input = false;     ///< it is an input of that record, handed on
  std::size_t field = 0;       ///< index of that result or input
  std::size_t node = kNone;    ///< operation of an opened law that made it; kNone for anything else
};

/// One operation inside an opened law.
struct DerivedNode {
  std::string_view op;  ///< "multiply", "max", ...; "input", "constant" or "law_result" for leaves
  std::vector<std::size_t> operands;  ///< nodes of the derivation
  double value = 0;
  std::string name;  ///< given by `named`, or the field name of a leaf; may be empty
  std::size_t record =
      kNone;              ///< record that a leaf belongs to; kNone for an input that was handed in by name
  std::size_t field = 0;  ///< of a leaf: index of that record's input or result
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

/// A tape at one point, read back with names and units.
struct Derivation {
  std::vector<DerivedRecord> records;  ///< in order of calls; 0 is the outermost
  std::vector<DerivedNode> nodes;
  std::shared_ptr<const LawInfo> own;  ///< owner of `law` where no static LawInfo exists
};

/// All calls of laws at one point.
/// @param open ids of laws whose every operation is read
/// @throws InputError, DomainError; SolverError for a resolver that is not a law
[[nodiscard]] Derivation derive(const LawEntry& law, std::span<const double> in,
                                std::span<const std::string> open = {});

/// All calls of laws at a point that is not checked.
[[nodiscard]] Derivation read_calls(const LawEntry& law, std::span<const double> in);

/// Everything that one result of the outermost law depends on, and nothing else.
///
/// The outermost law must have been opened. A choice keeps the side that was taken. Terms of zero and factors
/// of one are left out. Other results of the law become named intermediates. Names that occur twice are
/// numbered. Empty `nodes` and no inputs mean that the result depends on nothing that varies.
/// @param result index of the result
[[nodiscard]] Derivation slice(const Derivation& whole, std::size_t result);

/// Opens the law, derives and slices in one call, and reads only the nodes that the result depends on. The
/// point is not checked.
[[nodiscard]] Derivation derive_result(const LawEntry& law, std::span<const double> in, std::size_t result,
                                       std::span<const std::string> open = {});

/// How often a law that is called many times is written out.
enum class Repeats : std::uint8_t {
  shown,   ///< every call
  counted  ///< the first call, then the results of all others on one line
};

/// The derivation as text: per call the law, its equation and source, inputs and results with units; for
/// opened laws the named intermediates and the expression with numbers.
[[nodiscard]] std::string to_text(const Derivation& derivation, Repeats repeats = Repeats::shown);
/// The derivation for a page: a heading, a table of inputs and the expressions of each call.
[[nodiscard]] std::string to_markdown(const Derivation& derivation, Repeats repeats = Repeats::shown);

namespace detail {
/// Records that are written out; with `counted`, those whose results go on one line by law: {law, records}.
struct WrittenRecords {
  std::vector<std::size_t> full;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> further;
};
[[nodiscard]] WrittenRecords written_records(const Derivation& derivation, Repeats repeats);
/// Named operations that a record's results and the inputs of the written calls inside it are made of,
/// operands first, then the results; each with its name.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> equations_of(
    const Derivation& derivation, std::size_t record, std::span<const std::size_t> written);
/// An operation of `record` as text, with names and with numbers.
[[nodiscard]] std::pair<std::string, std::string> expressions_of(const Derivation& derivation,
                                                                 std::size_t node, std::size_t record);
/// A number with its unit.
[[nodiscard]] std::string shown_value(const DerivedValue& value);
}  // namespace detail

}  // namespace mlsysim
