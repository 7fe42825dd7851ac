#pragma once
/// Answer of a plugin backend to the question whether it runs a program on a device: yes, no or maybe, with
/// reasons.
///
/// A reason has a code, the operator, the number of its occurrences, a place in the source and a hint. In
/// conservative mode, an operator that is not known to work counts as unsupported.
/// Example: the backend of plugins/acme_npu/npu.cpp answers no to a bf16 program with a convolution, with the
/// reason unknown_op and the hint "rewrite it as a product".

#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mlsysim::plugin {

/// One operator of a program. Work and traffic are per execution.
struct ProgramOp {
  std::string name, kind, precision{}, location{};
  double count = 1, work = 0, traffic = 0;  ///< times, FLOP, B
};

/// A program as a list of operators.
struct Program {
  std::string name;
  std::string format = "operators";  ///< or a representation with its version: "stablehlo:1.9.0"
  std::string precision;
  std::vector<ProgramOp> ops;
  double memory = 0;  ///< needed on one device [B]; 0: not known
  /// The format of the source file, with its version where known: "stablehlo:1.9.0", "stablehlo:>1.0.0",
  /// "onnx:17". Empty: the program does not come from a file.
  std::string source{};
};

enum class Verdict : std::uint8_t { no, yes, maybe };
enum class ReasonCode : std::uint8_t {
  unknown_op,
  unsupported_type,
  unsupported_shape_dynamic,
  unsupported_attr,
  custom_call_unknown,
  memory,
  version,
  other
};
/// How unknown cases count.
enum class SupportMode : std::uint8_t { conservative, aggressive };

struct SupportReason {
  ReasonCode code = ReasonCode::other;
  std::string op;
  double count = 1;
  std::string location, hint;
};

struct SupportAnswer {
  Verdict verdict = Verdict::maybe;
  std::vector<SupportReason> reasons;
  std::int32_t effort_used = 0;
  SupportMode mode = SupportMode::conservative;
  double seconds = 0;  ///< time of the query
};

}  // namespace mlsysim::plugin

namespace mlsysim {
template <> inline constexpr auto names_of<plugin::Verdict> = ChoiceNames{"verdict"};
template <> inline constexpr auto names_of<plugin::ReasonCode> = ChoiceNames{"reason"};
template <> inline constexpr auto names_of<plugin::SupportMode> = ChoiceNames{"mode"};
}  // namespace mlsysim
