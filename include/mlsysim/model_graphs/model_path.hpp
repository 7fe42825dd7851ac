#pragma once
/// Reads a model from any path: a model file, a program, or a file that a plugin reads.
///
/// A '?' after the path binds open sizes of a program: "model.onnx?batch=8".
/// Example: `names_model("m.onnx?batch=8")` is true, `names_model("H100")` is false.

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/model_graphs/program.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Whether a path names a model file or a program.
[[nodiscard]] bool names_model(std::string_view path);
/// Reads either. @throws InputError
[[nodiscard]] ModelFile model_of_path(const std::string& path, const ProgramOptions& options = {});
/// A program as an entry of a zoo. @throws InputError that lists what is open
[[nodiscard]] ModelFile program_model(const Program& program);

/// A reader of models or programs that a plugin brings.
struct OtherReader {
  std::string ending;  ///< of paths: ".acme"; those of the library's own readers stay theirs
  std::string name;    ///< who reads
  /// The text of a zoo file with one model. @throws Error
  std::function<std::string(const std::string& path, std::string_view bytes)> read;
};
/// Replaces all readers of others. Thread-safe.
void publish_readers(std::vector<OtherReader> readers);
[[nodiscard]] bool has_other_reader(std::string_view path);
/// @throws InputError where there is no reader for the path, and what the reader throws
[[nodiscard]] ModelFile read_by_other(const std::string& path);

}  // namespace mlsysim
