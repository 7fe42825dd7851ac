#pragma once
/// Models that are one under two names.

#include <mlsysim/model_files/model_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mlsysim {

/// One number for the layers or operators of a model, whatever they are called.
[[nodiscard]] std::uint64_t structure_digest(const Workload& workload);
/// Models of a zoo with these layers or operators, stated the same way.
[[nodiscard]] std::vector<std::string> models_alike(const Workload& workload, const Zoo& zoo);

}  // namespace mlsysim
