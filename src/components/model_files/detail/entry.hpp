#pragma once
/// The entry of a zoo that a model file becomes.

#include <mlsysim/model_files/model_file.hpp>

namespace mlsysim::detail {

/// An empty model with a name made of that of its file. @param what kind of file it was
[[nodiscard]] ModelFile start_entry(const std::string& name, std::string_view what);

}  // namespace mlsysim::detail
