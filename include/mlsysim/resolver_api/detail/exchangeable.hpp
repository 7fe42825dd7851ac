#pragma once
/// Resolvers whose code may be replaced while the process runs, as a reloaded plugin's.
///
/// A struct of inputs keeps the version of the code that was current when the struct was made.
/// Example: a sweep makes its first inputs with version 1 of a plugin. Inputs made by `construct_inputs_like`
/// run version 1 too, even if version 2 has been loaded since.

#include <mlsysim/resolver_api/resolver.hpp>

namespace mlsysim::detail {

/// Interface of a resolver with replaceable code.
class Exchangeable {
 public:
  Exchangeable(const Exchangeable&) = delete;
  Exchangeable& operator=(const Exchangeable&) = delete;
  virtual ~Exchangeable() = default;
  /// Makes inputs in `memory` that run the same version as `others`, so that one sweep uses one version.
  virtual void construct_inputs_like(const void* others, void* memory) const = 0;

 protected:
  Exchangeable() = default;
};

/// Calls the resolver's own function, or `construct_inputs` where the code cannot be replaced.
inline void construct_inputs_like(const Resolver& resolver, const void* others, void* memory) {
  if (const auto* exchangeable = dynamic_cast<const Exchangeable*>(&resolver); exchangeable != nullptr)
    exchangeable->construct_inputs_like(others, memory);
  else
    resolver.construct_inputs(memory);
}

}  // namespace mlsysim::detail
