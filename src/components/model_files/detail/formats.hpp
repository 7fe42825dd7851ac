#pragma once
/// How a configuration says that tensors are stored.

#include "json.hpp"

#include <mlsysim/specs/workload.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// Fills `workload.formats` from the quantisation of a configuration and what stands beside it.
/// @param config the whole file @param text its text part @param beside hf_quant_config.json, or null
void read_formats(Workload& workload, const Json& config, const Json& text, const Json& beside,
                  const std::string& file, std::vector<std::string>& notes);

/// Whether a pattern of an ignore list names a module: "re:" and a regular expression, a glob, or a name that
/// is the module's or a part of its path.
[[nodiscard]] bool names_module(std::string_view pattern, std::string_view module);

}  // namespace mlsysim::detail
