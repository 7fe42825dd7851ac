#pragma once
/// Runs a compiled tape on blocks of 64 points: columns of inputs in, columns of results out.
///
///     out[r][p] = tape(in[0][p], in[1][p], ...)[r]
///
/// Every point has the same bits as the law on double. A value that depends on constants alone is computed
/// once. Other values live in slots of 64 doubles, reused after their last reader, so that a block stays in
/// the cache. Divisions by a shared divisor use its reciprocal with two corrections, which give the bits of
/// the division.
/// @cite markstein1990
/// Example: a b + 1 on the columns a = {1, 2, 3} and b = {4, 5, 6} gives {5, 11, 19}.

#include <mlsysim/tape/tape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Points of a block.
inline constexpr std::size_t kBlock = 64;

namespace detail {

/// How a step is computed. A division takes ten times as long as a product. Division by a constant, or by a
/// number that divides several columns, uses the corrected reciprocal.
enum class ColumnWay : std::uint8_t {
  plain,       ///< as its operation says
  reciprocal,  ///< to = 1 / a
  corrected    ///< to = a / b with c = 1 / b
};

/// One operation of a compiled tape: an operand is a slot, or a scalar where its bit in `scalars` is set.
struct ColumnStep {
  TapeOp op = TapeOp::constant;
  ColumnWay way = ColumnWay::plain;
  std::uint8_t scalars = 0;
  std::uint32_t to = 0, a = 0, b = 0, c = 0;
};

/// Whether this machine has a fused multiply-add. Without it a corrected division is slower than a plain one.
[[nodiscard]] bool corrects_divisions();
/// Doubles from one slot to the next. It exceeds a block, because slots 4 KiB apart evict each other. The
/// first double behind the block of a reciprocal says whether every divisor was within the limits below.
inline constexpr std::size_t kSlotStride = kBlock + 8;
/// Limits of a divisor within which no step of a corrected division leaves the normal numbers.
inline constexpr double kLeastDivisor = 1e-50, kMostDivisor = 1e50;

/// Runs steps over a block; one copy for each instruction set.
void run_columns(std::span<const ColumnStep> steps, double* slots, const double* scalars);

}  // namespace detail

/// A tape compiled for blocks. Immutable and safe on any thread; each thread has a workspace of its own.
class ColumnProgram {
 public:
  explicit ColumnProgram(Tape tape);

  [[nodiscard]] const Tape& tape() const { return tape_; }
  [[nodiscard]] std::size_t inputs() const { return tape_.inputs(); }
  [[nodiscard]] std::size_t results() const { return tape_.results(); }

  class Workspace {
   public:
    explicit Workspace(const ColumnProgram& program);

   private:
    friend class ColumnProgram;
    std::vector<double> slots_, scalars_;
    double* base_ = nullptr;
  };

  /// `points` points from columns `in` into columns `out`; any number of them.
  void run(const double* const* in, double* const* out, std::size_t points, Workspace& workspace) const;

  /// Where the block of an input is to be written before `run_filled`: kBlock numbers, with room for seven
  /// more behind them. Null where nothing depends on the input. The caller writes it again for every block.
  [[nodiscard]] double* input(std::size_t i, Workspace& workspace) const;
  /// The first `points` points of a block whose inputs are written.
  void run_filled(double* const* out, std::size_t points, Workspace& workspace) const;

 private:
  void divide_by_scalar(detail::ColumnStep& step, bool corrects);

  Tape tape_;
  std::vector<detail::ColumnStep> steps_;
  std::vector<std::size_t> breaks_;        ///< steps before which a loop is run
  std::vector<std::uint32_t> slot_;        ///< per node its slot or scalar
  std::vector<std::uint8_t> is_scalar_;    ///< per node
  std::vector<std::uint32_t> input_slot_;  ///< per input its slot; kNoSlot where nothing depends on it
  std::vector<std::uint32_t> loops_;       ///< nodes, one a break
  std::vector<double> scalars_;
  std::size_t slots_ = 0;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
};

}  // namespace mlsysim
