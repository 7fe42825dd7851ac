#pragma once
// Schemas of what the component ops reads and writes: it defines them, or where it is not built
// absent/ops.cpp does.

#include <string>

namespace mlsysim {

[[nodiscard]] std::string event_schema();
[[nodiscard]] std::string observability_schema();
[[nodiscard]] std::string explain_schema();

}  // namespace mlsysim
