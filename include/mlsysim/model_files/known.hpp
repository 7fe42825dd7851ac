#pragma once
/// Models that are one under two names.

#include <mlsysim/model_files/model_file.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mlsysim {

/// One number for the layers or operators of a model, whatever they are called.
[[nodiscard]] std::uint64_t structure_digest(const Workload& workload);
/// What the name of a model hides: models of the zoo with the same layers under other names, and one of the
/// same name with other layers.
[[nodiscard]] std::vector<std::string> notes_on_name(const ModelFile& model, const Zoo& zoo);

}  // namespace mlsysim
