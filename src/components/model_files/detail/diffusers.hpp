#pragma once
/// Networks of the library diffusers: their weights and the arithmetic of one evaluation.

#include "json.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// A network of a diffusion pipeline.
struct DiffusersNetwork {
  std::string type;                   ///< its class
  double weights = 0, flops = 0;      ///< flops of an evaluation for one output
  double steps = 0, evaluations = 0;  ///< of the pipeline of a denoiser; 0: the network is none
  double text_tokens = 0, text_width = 0;
  double side = 0;               ///< pixels of a square image; 0: another shape
  double width = 0, blocks = 0;  ///< of a U-Net with the levels of its paper; 0: another
  std::string output;            ///< for a note: "an image of 1024 x 1024"
};

/// The class that a configuration of diffusers names; empty for one of another library.
[[nodiscard]] std::string diffusers_class(const Json& config);
/// @throws InputError for a class that is not known and for keys that change one that is
[[nodiscard]] DiffusersNetwork read_diffusers(const Json& config, const std::string& file,
                                              std::vector<std::string>& notes);

}  // namespace mlsysim::detail
