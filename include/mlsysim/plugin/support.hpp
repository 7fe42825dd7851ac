#pragma once
/// Does a backend run a program on a device? Yes, no or maybe, with every reason.

#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/reflect/choice.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mlsysim::plugin {

/// One operator of a program; amounts are those of one execution.
struct ProgramOp {
  std::string name, kind, precision{}, location{};
  double count = 1, work = 0, traffic = 0;  ///< times, FLOP, B
};

/// A program as a list of operators, whatever it was read from.
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
/// Conservative: what is not known to work does not.
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
  double seconds = 0;  ///< what asking cost
};

}  // namespace mlsysim::plugin

namespace mlsysim {
template <> inline constexpr auto names_of<plugin::Verdict> = ChoiceNames{"verdict"};
template <> inline constexpr auto names_of<plugin::ReasonCode> = ChoiceNames{"reason"};
template <> inline constexpr auto names_of<plugin::SupportMode> = ChoiceNames{"mode"};
}  // namespace mlsysim
