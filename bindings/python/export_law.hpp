#pragma once
/// Exported programs for Python: of laws (bind_recording.cpp) and of subjects (bind_explore.cpp).

#include <mlsysim/tape/law_entry.hpp>

#include <string>
#include <vector>

namespace mlsysim::python {

/// Some results of a law as text. @param language "c" or "json" @param name of the C function
[[nodiscard]] std::string export_law(const LawEntry& law, const std::vector<std::string>& results,
                                     const std::vector<double>& point, const std::string& language,
                                     const std::string& name);

}  // namespace mlsysim::python
