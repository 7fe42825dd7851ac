#pragma once
/// Parts that all readers of programs share: names, values, refusals with a line, and operator rules.

#include <mlsysim/model_graphs/program.hpp>
#include <mlsysim/units/error.hpp>

#include <deque>
#include <unordered_map>

namespace mlsysim {

struct Program::Names {
  std::deque<std::string> texts;
  std::unordered_map<std::string_view, std::string_view> known;
  std::size_t steps = 0;  ///< that its file still pays for
};

namespace detail {

/// A place in the text of a program.
[[nodiscard]] inline Location place(const std::string& file, std::size_t line, std::size_t column = 0) {
  return {file, static_cast<int>(line), static_cast<int>(column)};
}

/// A view of a text that lives as long as the program.
[[nodiscard]] std::string_view kept(Program& program, std::string_view text);

/// A symbol: its bound value, else its negative number.
[[nodiscard]] std::int64_t size_of_symbol(Program& program, const ProgramOptions& options,
                                          const std::string& name);

/// Sizes and numbers that an operator carries beside its operands.
struct OpAttributes {
  std::vector<std::int64_t> lhs_batch, lhs_contract, rhs_contract, window, kernel, dims;
  double groups = 1;
  double batch_groups = 1;
  double region_flops = 1;  ///< arithmetic of a reduction's body for each value
  std::string_view target;  ///< of a custom call
  // Where the extents of a convolution stand: output features and input features of the kernel.
  int kernel_out = -1, kernel_in = -1;
};

/// Types of an operator's values.
struct OpTypes {
  std::vector<const TensorType*> in, out;
};

enum class Rule : std::uint8_t { counted, free, unknown };
/// Fills in kind, extents and arithmetic of an operator of the HLO family by its bare name.
/// @throws InputError where extents contradict each other
Rule count_hlo(ProgramOp& op, std::string_view name, const OpTypes& types, const OpAttributes& attributes,
               const std::string& file);
/// A product of (batch..., m, k) with (batch..., k, n) from its extents.
void set_product(ProgramOp& op, double rows, double columns, double depth, double copies);

/// Constant where every operand is; weights that only change their form stay weights.
[[nodiscard]] ValueRole role_of(const Program& program, const ProgramOp& op);
/// Numbers the kernels: chains of element-wise operators with what begins or ends them.
void fuse(Program& program);
/// The last touches of every reader: what is open, what runs as one kernel.
void finish(Program& program);

/// A portable artifact (MLIR bytecode): its version is checked, its operators are not read.
/// @throws InputError that says what to give instead
[[noreturn]] Program read_portable(std::string_view bytes, const std::string& name,
                                   const ProgramOptions& options);
/// The graph with the most arithmetic; the others are notes. @throws InputError where there is none
[[nodiscard]] Program largest(std::vector<Program> graphs, const std::string& file);

/// Budget of reading steps for a file: 2^18, and 8 more for each byte. An operator, a value and 64 bytes of
/// names or attributes take one step each. Functions that call others multiply operators; the budget bounds
/// the time and memory for them.
inline constexpr std::size_t kFreeSteps = 1 << 18, kStepsPerByte = 8;
/// Begins to count. @param bytes of the file
void allow_steps(Program& program, std::size_t bytes);
/// Takes steps. @throws InputError where the file pays for no more
void spend(Program& program, std::size_t steps, const std::string& file);
/// Steps of a text that is read again wherever a function is called.
constexpr std::size_t steps_of(std::size_t characters) { return 1 + characters / 64; }
/// A value of the program. @throws InputError where it has more elements than any machine counts
std::uint32_t add_value(Program& program, TensorType type, ValueRole role, const std::string& file);
inline constexpr int kNesting = 64;

}  // namespace detail
}  // namespace mlsysim
