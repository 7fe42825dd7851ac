#pragma once
/// A tape on blocks of points: columns of numbers in, columns out, at the speed of the machine.
///
/// A block is 64 points. Every point computes exactly what a law on double computes, bit for bit. What hangs on constants
/// alone is a scalar, and the values of the others live in slots that are used again as soon as nobody needs them, so that a
/// block stays in the cache.

#include <mlsysim/tape/tape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlsysim {

/// Points of a block.
inline constexpr std::size_t kBlock = 64;

namespace detail {

/// One operation of a compiled tape: an operand is a slot, or a scalar where its bit in `scalars` is set.
struct ColumnStep {
  TapeOp op = TapeOp::constant;
  std::uint8_t scalars = 0;
  std::uint32_t to = 0, a = 0, b = 0, c = 0;
};

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

 private:
  void run_block(const double* const* in, double* const* out, std::size_t at, std::size_t points, Workspace& workspace) const;

  Tape tape_;
  std::vector<detail::ColumnStep> steps_;
  std::vector<std::size_t> breaks_;        ///< steps before which a loop is run
  std::vector<std::uint32_t> slot_;        ///< per node its slot or scalar
  std::vector<std::uint8_t> is_scalar_;    ///< per node
  std::vector<std::uint32_t> input_slot_;  ///< per input its slot; kNoSlot where nothing hangs on it
  std::vector<std::uint32_t> loops_;       ///< nodes, one a break
  std::vector<double> scalars_;
  std::size_t slots_ = 0;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
};

}  // namespace mlsysim
