#pragma once
/// Resolvers whose code may be exchanged while the process runs, as that of a plugin.

#include <mlsysim/resolver_api/resolver.hpp>

namespace mlsysim::detail {

/// A resolver whose code may be exchanged. A struct of inputs keeps the code that was current when it was
/// made.
class Exchangeable {
 public:
  Exchangeable(const Exchangeable&) = delete;
  Exchangeable& operator=(const Exchangeable&) = delete;
  virtual ~Exchangeable() = default;
  /// As `construct_inputs`, but with the code that other inputs of this resolver hold on to: a sweep of many
  /// points makes many structs, and all of them are to run one version.
  virtual void construct_inputs_like(const void* others, void* memory) const = 0;

 protected:
  Exchangeable() = default;
};

/// Makes inputs of any resolver that run the same code as others of it.
inline void construct_inputs_like(const Resolver& resolver, const void* others, void* memory) {
  if (const auto* exchangeable = dynamic_cast<const Exchangeable*>(&resolver); exchangeable != nullptr)
    exchangeable->construct_inputs_like(others, memory);
  else
    resolver.construct_inputs(memory);
}

}  // namespace mlsysim::detail
