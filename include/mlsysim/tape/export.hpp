#pragma once
/// Exports a tape as C source or as a JSON program, so that a host can run it without the library.
///
/// The program holds the operations that the wanted results need. It has no calls of laws and converts no
/// units. Numbers are in base units (s, B, FLOP, W, USD). The JSON states the scale of each display unit.
/// docs/reference/exported-programs.md describes the format.
/// Example: the time of Roofline in C is `n6 = n4 < n5 ? n5 : n4` with `n4 = n0 / n2` and `n5 = n1 / n3`.

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
  /// It gives the bits of the library where both use the same libm. Nothing is fused or reordered, and the
  /// source refuses to compile with -ffast-math or x87 arithmetic. A loop with more rounds than its law
  /// admits gives NaN.
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
