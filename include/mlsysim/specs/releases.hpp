#pragma once
/// Finds releases of engines by name: "vllm@0.12.0" is release 0.12.0 of vllm.
///
/// The part before '@' is the family, the part behind it the version. An entry without '@' has the version
/// that it states. Aliases such as "tensorrt_llm@0" name releases too. A version of fewer parts stands for
/// all that begin with it: 0.5 for 0.5.8. `release_or_nearest` replaces an unknown release by the newest one
/// before it, or else by the oldest.
/// Example: in the shipped zoo `release_or_nearest(zoo, "vllm@0.12.0")` is the entry vllm@0.12.

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
  std::string stands_in;  ///< says that another release stands in; else empty
};
/// The release of this name, or the newest that is known and not newer, or else the oldest.
/// @throws LookupError naming the families where no release of this one is known
[[nodiscard]] Release release_or_nearest(const Zoo& zoo, std::string_view name);

}  // namespace mlsysim
