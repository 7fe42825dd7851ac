#pragma once
/// A tape outside of the library: as C source, or as a JSON program that any host can run.
///
/// Both hold what the tape holds and nothing else: no laws, no units at run time. Numbers are in base units
/// (s, B, FLOP, W, USD, ...); the JSON program says what one display unit is in them.
/// docs/reference/exported-programs.md describes the format.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/tape.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Some results of a law as a program in another language. Immutable.
class ExportedProgram {
 public:
  /// @param law      a law, or a scenario (`subject_of(scenario).entry`)
  /// @param results  indices of the results that are wanted, in this order; empty: all
  /// @param point    a value for each input that a host may start from, base unit; empty: none
  /// @throws SolverError for code that was not recorded; InputError for a point of another length
  explicit ExportedProgram(const LawEntry& law, std::span<const std::size_t> results = {},
                           std::span<const double> point = {});

  /// The part of the tape that these results need. Inputs keep the positions of the law.
  [[nodiscard]] const Tape& tape() const { return tape_; }
  [[nodiscard]] std::span<const FieldInfo> inputs() const { return inputs_; }
  [[nodiscard]] std::span<const FieldInfo> results() const { return results_; }

  /// One C function `void NAME(const double* in, double* out)` with the functions that it needs, for C99 and
  /// later and C++.
  ///
  /// It gives the bits that the library gives where both use one libm: nothing is fused or reordered, and a
  /// compiler that is told to (-ffast-math, x87) refuses it. Of a loop with more rounds than its law admits
  /// the results are not numbers.
  /// @param name an identifier of C. @throws InputError where it is none
  [[nodiscard]] std::string c_source(std::string_view name = "law") const;
  /// A JSON object, schema "mlsysim/program@1".
  [[nodiscard]] std::string json() const;

 private:
  LawInfo info_;
  Tape tape_;
  std::vector<FieldInfo> inputs_, results_;
  std::vector<double> point_;
};

}  // namespace mlsysim
