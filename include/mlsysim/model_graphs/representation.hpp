#pragma once
/// Format and version of a program, which a backend must know before it receives the program.

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
