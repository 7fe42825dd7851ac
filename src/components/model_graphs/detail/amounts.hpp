#pragma once
/// Counts the bytes that each operator of a program moves, unfused and fused.

#include "builder.hpp"

namespace mlsysim::detail {

/// Bytes of one execution. Views do nothing.
struct OpAmounts {
  double reads = 0, writes = 0;              ///< activations, floating point
  double fused_reads = 0, fused_writes = 0;  ///< of them, to and from memory where chains are fused
  double weights = 0;                        ///< weights read
  double stored = 0, stored_elements = 0;    ///< of them, weights that no operator before read
  double others = 0, fused_others = 0;       ///< integers and truth values, read and written
  double alive = 0;                          ///< activations that are held while it runs
};
/// One for each operator.
[[nodiscard]] std::vector<OpAmounts> amounts_of(const Program& program);
/// Whether the operator does anything.
[[nodiscard]] bool works(const ProgramOp& op);

}  // namespace mlsysim::detail
