#pragma once
/// Finds models that have one structure under several names, by a digest of their layers or operators.
///
/// The digest (64-bit FNV-1a) covers architecture, layers and operators, and leaves out names and formats.
/// Example: `models_alike` of DeepSeek_V3_2 gives DeepSeek_V3_2 and DeepSeek_V3_2_NVFP4.

#include <mlsysim/model_files/model_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mlsysim {

/// The digest of the layers or operators of a model.
[[nodiscard]] std::uint64_t structure_digest(const Workload& workload);
/// Models of a zoo whose entries state equal layers or operators.
[[nodiscard]] std::vector<std::string> models_alike(const Workload& workload, const Zoo& zoo);

}  // namespace mlsysim
