#pragma once
/// Evaluates a law at many points: columns of inputs in, one column per result out.
///
///     out[r][p] = law(in[0][p], in[1][p], ...)[r]      for every point p
///
/// A law runs as a compiled tape, any other resolver as one call per point. Numbers are in canonical base
/// units. The code runs on one core. To use threads, split the points and give each thread its own
/// `BatchKernel`. Every point is computed alone, so any split and any block size give the same bytes.
/// Example: Roofline, 10 TFLOP at 1000 TFLOP/s and 2 TB/s: traffic of 10, 20, 40 GB takes 10, 10, 20 ms.

#include <mlsysim/tape/columns.hpp>
#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace mlsysim {

/// One input of a sweep, in the canonical base unit: a value per point, or one value for all.
struct Column {
  std::span<const double> values;
  double constant = 0;
  bool is_constant = true;

  // NOLINTBEGIN(google-explicit-constructor): columns are given as numbers and vectors
  Column(double value) : constant(value) {}
  Column(std::span<const double> each) : values(each), is_constant(false) {}
  Column(const std::vector<double>& each) : Column(std::span<const double>(each)) {}
  // NOLINTEND(google-explicit-constructor)
};

/// Compiled evaluation of a law over columns. For many points the tape is compiled again with the constant
/// inputs folded in. The kernel holds the buffers, so later calls allocate nothing.
///
/// Not thread-safe: one kernel per thread. The entry must outlive it.
class BatchKernel {
 public:
  /// @param results wanted, in their order; empty: all
  explicit BatchKernel(const LawEntry& law, std::vector<std::size_t> results = {});

  /// Evaluates `points` points into `out`, one span of at least `points` numbers per wanted result, without
  /// checks of values.
  /// @throws InputError if the number or length of columns does not fit
  void run(std::span<const Column> in, std::span<const std::span<double>> out, std::size_t points);
  /// Announces that only these inputs will differ from the point. The other inputs are compiled in.
  void vary(std::span<const std::size_t> inputs, std::span<const double> point);
  /// Announces how many points follow with the same constant inputs. Many points make a compilation for them
  /// worthwhile.
  void expect(std::size_t points) { expected_ = points; }
  [[nodiscard]] Method method() const { return law_->is_law() ? Method::exact : Method::scalar_loop; }

 private:
  void run_law(std::span<const Column> in, std::span<const std::span<double>> out, std::size_t points);
  void run_plain(std::span<const Column> in, std::span<const std::span<double>> out,
                 std::size_t points) const;
  [[nodiscard]] Tape wanted_part(std::span<const std::optional<double>> fixed) const;
  const ColumnProgram& program_for(std::span<const Column> in, std::size_t points);

  const LawEntry* law_;
  std::vector<std::size_t> results_;
  std::size_t expected_ = 0;
  std::optional<ColumnProgram> general_, special_;  ///< all inputs vary; constant inputs are folded in
  std::optional<ColumnProgram::Workspace> general_space_, special_space_;
  std::vector<std::optional<double>> kept_, fixed_;  ///< values compiled into `general_` and `special_`
  std::vector<double> spread_;                       ///< constants as columns
};

/// Columns of results with how they were obtained.
struct BatchResult {
  Method method = Method::exact;
  std::vector<std::vector<double>> columns;  ///< one per result, in the order of the entry
};

/// Checks the columns of inputs for finiteness and range. @throws InputError, DomainError naming input and
/// point
void check_columns(const LawEntry& law, std::span<const Column> in, std::size_t points);
/// Checks and evaluates. @throws InputError, DomainError
[[nodiscard]] BatchResult batch(const LawEntry& law, std::span<const Column> in, std::size_t points);

}  // namespace mlsysim
