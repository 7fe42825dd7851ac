#pragma once
/// Releases of engines by name: "vllm@0.12.0" is release 0.12.0 of vllm.
///
/// An entry is a release of the family before the '@' of its name: of the version behind it, or of the one
/// that it states. Aliases such as "tensorrt_llm@0" name releases too. A version of fewer parts stands for
/// all that begin with them: 0.5 for 0.5.8.

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

class Zoo;
struct ServingEngine;

/// A name in two parts; the version is empty where there is no '@'.
struct ReleaseName {
  std::string_view family, version;
};
[[nodiscard]] ReleaseName release_name(std::string_view name);

/// Names of the releases of a family that are known, e.g. "vllm@0.33.0"; empty where the family is not.
[[nodiscard]] std::vector<std::string> releases_of(const Zoo& zoo, std::string_view family);

/// The release of this name; null where it is not known.
[[nodiscard]] const ServingEngine* find_release(const Zoo& zoo, std::string_view name);

/// An engine for a name.
struct Release {
  const ServingEngine* engine = nullptr;
  std::string stands_in;  ///< a sentence that says so where another release stands in; else empty
};
/// The release of this name, or the newest that is known and not newer, or else the oldest.
/// @throws LookupError naming the families where no release of this one is known
[[nodiscard]] Release release_or_nearest(const Zoo& zoo, std::string_view name);

}  // namespace mlsysim
