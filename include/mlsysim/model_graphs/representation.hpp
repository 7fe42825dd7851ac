#pragma once
/// Format and version of a program, which a backend compares with the versions that it accepts.
///
/// Text without a version is bounded from below by its youngest operator.
/// Example: an ONNX file of opset 6 is "onnx:6". StableHLO text with `stablehlo.tan` is "stablehlo:>1.0.0".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct Program;

/// A representation and what is known of its version.
struct Representation {
  std::string name;               ///< "stablehlo", "mhlo", "hlo", "onnx", "torch.export", "torch_trace"
  std::string version;            ///< that the file states, "1.9.0", "17"; empty: text has none
  std::string newer_than;         ///< a version that lacks one of its operators; empty: none is known to
  std::vector<std::string> late;  ///< those operators with the version: "tan (after 1.0.0)"

  /// "stablehlo:1.9.0", "stablehlo:>1.0.0", "stablehlo".
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] Representation representation_of(const Program& program);
/// Reads the version that a portable artifact states, without its operators; none for other files.
[[nodiscard]] std::optional<Representation> representation_of(std::string_view bytes);

}  // namespace mlsysim
