#pragma once
/// The hook through which an optional component reads files of models and programs as a zoo.
///
/// Without the component, `read_model_file` throws, and file endings alone name a model.
/// Example: `names_model_file("x.onnx")` is true with or without the component.

#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Functions of the component that reads files of models and programs.
struct ModelReader {
  /// Whether a path names a model or a program.
  bool (*names_model)(std::string_view path) = nullptr;
  /// Whether a word ends like a program, so that it is a path and no name of an entry.
  bool (*names_program)(std::string_view word) = nullptr;
  /// A zoo that holds the model alone. @param notes values that were defaulted, left out or not understood
  /// @throws InputError
  Zoo (*read)(const std::string& path, std::vector<std::string>& notes) = nullptr;
};

/// Sets the reader. A component does so before main() begins.
void set_model_reader(const ModelReader& reader);
/// Whether there is a reader, and it takes this path.
[[nodiscard]] bool names_model_file(std::string_view path);
/// Whether a word is the path of a program or of a file that a plugin reads.
[[nodiscard]] bool names_program_file(std::string_view word);
/// Takes the notes of every file that is read; null takes none. The program sets it once, before it reads.
using ModelNotes = void (*)(const std::string& path, const std::vector<std::string>& notes);
void set_model_notes(ModelNotes with);
/// Reads a model or a program. @throws InputError, also where no reader is there
[[nodiscard]] Zoo read_model_file(const std::string& path);

}  // namespace mlsysim
