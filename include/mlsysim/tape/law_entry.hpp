#pragma once
/// A law or resolver at run time: its texts, its fields, its function on doubles and, for a law, its tape.
///
/// All tools work on entries, so they are compiled once and not once per law. `entry_of<Law>()` and
/// `plain_entry(resolver, inputs)` in tape/register.hpp make entries.
/// Example: `entry_of<Roofline>()` has 4 inputs and 3 results. At 1e13 FLOP, 4e10 B, 1e15 FLOP/s and 2e12 B/s
/// it gives time 0.02 s, compute 0.01 s and memory 0.02 s.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/law.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class Tape;
struct TapeReduction;

/// An erased law. Numbers are in the canonical base units, in the order of `inputs` and `results`.
///
/// The functions of a law are pure and safe on any thread; those of a plain entry are as its resolver is.
struct LawEntry {
  LawInfo info;
  std::vector<FieldInfo> inputs;
  std::vector<FieldInfo> results;
  std::shared_ptr<const void> self;  ///< fixed state: a plain resolver, or the categories of a scenario

  void (*evaluate)(const void* self, const double* in, double* out) = nullptr;
  /// Evaluates one point and returns the reason where the point has no result, else an empty text. Null where
  /// every point has a result.
  std::string (*attempt)(const void* self, const double* in, double* out) = nullptr;
  /// The tape of a law, which lives as long as `self` and the program; null for code that was not recorded.
  const Tape& (*recorded)(const void* self) = nullptr;
  /// A part of that tape, where it comes straight from another law; null: it is taken from the tape.
  Tape (*narrowed)(const void* self, const TapeReduction& known) = nullptr;

  /// Whether there is a tape: derivatives, bounds and derivations are then exact, else differences, samples
  /// and none.
  [[nodiscard]] bool is_law() const { return recorded != nullptr; }
  /// @pre is_law()
  [[nodiscard]] const Tape& tape() const { return recorded(self.get()); }
  /// The part of the tape that remains where inputs are fixed. @pre is_law()
  [[nodiscard]] Tape part(const TapeReduction& known) const;

  /// Index of an input. @throws LookupError naming near misses
  [[nodiscard]] std::size_t input(std::string_view name) const;
  /// Index of a result. @throws LookupError naming near misses
  [[nodiscard]] std::size_t result(std::string_view name) const;
  /// Evaluates one point without checks. @throws InputError if the number of inputs differs
  [[nodiscard]] std::vector<double> operator()(std::span<const double> in) const;
};

/// Checks number, finiteness and range of the inputs of one point. @throws InputError, DomainError
void check_inputs(const LawEntry& law, std::span<const double> in);
/// Checks, then evaluates. @throws InputError, DomainError
[[nodiscard]] std::vector<double> evaluate_checked(const LawEntry& law, std::span<const double> in);

/// Admissible range of a field in the canonical base unit; infinite where there is no limit.
struct FieldRange {
  double low;
  double high;
  bool open_low;
};
[[nodiscard]] FieldRange base_range(const FieldInfo& field);

namespace detail {
/// @throws DimensionError if a target has another dimension than the result
void check_goal(const FieldInfo& result, const Exponents& target);
}  // namespace detail

}  // namespace mlsysim
