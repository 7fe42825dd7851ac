#pragma once
/// Models of diffusers as entries of a zoo.

#include "entry.hpp"
#include "json.hpp"

#include <filesystem>

namespace mlsysim::detail {

/// A single network: a denoiser without text encoder and decoder, or a decoder.
[[nodiscard]] ModelFile network_model(const Json& config, const std::string& name);
/// A folder with a model_index.json and a folder for each part. A part that is not read has the weights that
/// its files list. @throws InputError where no part denoises
[[nodiscard]] ModelFile read_pipeline(const std::filesystem::path& folder);

}  // namespace mlsysim::detail
