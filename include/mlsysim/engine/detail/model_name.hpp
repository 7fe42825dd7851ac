#pragma once
/// Maps a checkpoint name of a model hub or an engine to a zoo entry and to the number formats it states.
///
/// Matching ignores case, the publisher, most separators, and endings such as "Instruct" or "GGUF". It keeps
/// separators between digits: "opt-1.3b" is not "opt-13b".
/// Example: "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8" gives Llama3_8B with weight format fp8.

#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// The zoo entry and the formats that the name of a checkpoint states.
struct ModelName {
  std::string entry;                        ///< of the zoo, or a file; empty where the name is not known
  std::string weight_format, cache_format;  ///< that an ending states; empty where it states none
  bool as_published = false;       ///< the file holds the formats of the entry, whatever it is called
  std::string checkpoint;          ///< parts of its own name without formats: "llama 3 8b instruct"
  std::vector<std::string> notes;  ///< what was assumed
};
/// The model of a name as engines know it. An ending that states a format is dropped and handed on; an ending
/// that states a version is part of the name, as versions may differ in their shapes.
/// @param gguf the files are llama.cpp's, also where the name does not say so
[[nodiscard]] ModelName model_of(std::string_view name, const Zoo& zoo, bool gguf = false);
/// Whether `checkpoint` of a ModelName is the checkpoint of this name, or a fine-tuned copy of it:
/// "Llama-3-8B" names "llama 3 8b instruct", "Llama-3-8B-Instruct" does not name "llama 3 8b".
[[nodiscard]] bool names_checkpoint(std::string_view name, std::string_view checkpoint);
/// Words about the beginning of an unknown name: "'Llama-3-8B' is Llama3_8B, and what '262k' changes is not
/// known; ". Empty where no beginning of it is the name of a model.
[[nodiscard]] std::string known_beginning(std::string_view name, const Zoo& zoo);
/// The kind of the head that proposes tokens, where a name states one: eagle of "yuhuili/EAGLE3-Qwen3-32B".
/// Empty for other names.
[[nodiscard]] std::string_view head_in(std::string_view name);

}  // namespace mlsysim::detail
