#pragma once
/// A path wherever a model is named: a model file or a program.

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/programs/program.hpp>

namespace mlsysim {

/// Whether a path names a model file or a program; what follows a '?' binds sizes of a program.
[[nodiscard]] bool names_model(std::string_view path);
/// Reads either. @throws InputError
[[nodiscard]] ModelFile model_of_path(const std::string& path, const ProgramOptions& options = {});
/// A program as an entry of a zoo. @throws InputError that lists what is open
[[nodiscard]] ModelFile program_model(const Program& program);

}  // namespace mlsysim
