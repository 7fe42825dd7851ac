#pragma once
/// Registry of resolvers by name, in order of registration. Tests and plugins make registries of their own.
///
/// Reading is thread-safe, adding is not.
/// Example: `ResolverRegistry::standard().at("ServingModel")` is the shipped model. A misspelled name such as
/// "RequiredBandwithSolver" throws LookupError with "did you mean 'RequiredBandwidthSolver'?".

#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/resolver_api/typed_resolver.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Resolvers with unique names.
class ResolverRegistry {
 public:
  ResolverRegistry() = default;
  ResolverRegistry(ResolverRegistry&&) = default;
  ResolverRegistry& operator=(ResolverRegistry&&) = default;

  /// The resolvers that ship, made at first use. Defined beside them, in the catalogue.
  [[nodiscard]] static const ResolverRegistry& standard();

  /// Adds a resolver type; a law is instantiated for every scalar at once.
  template <class R> const Resolver& add(R resolver = R{}) {
    auto erased = make_resolver(std::move(resolver));
    (void)erased->law();
    return add(std::shared_ptr<const Resolver>(std::move(erased)));
  }
  /// Adds a resolver. @throws InputError when the name is empty or taken
  const Resolver& add(std::shared_ptr<const Resolver> resolver);
  const Resolver& add(std::unique_ptr<Resolver> resolver) {
    return add(std::shared_ptr<const Resolver>(std::move(resolver)));
  }

  /// The resolver of this name, or null.
  [[nodiscard]] const Resolver* find(std::string_view name) const;
  /// The resolver of this name. @throws LookupError with near misses
  [[nodiscard]] const Resolver& at(std::string_view name) const;
  /// The resolver of this name, with shared ownership. @throws LookupError with near misses
  [[nodiscard]] std::shared_ptr<const Resolver> share(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return resolvers_.size(); }
  /// Names in order of registration; of one tier where given.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> names(Tier tier) const;
  [[nodiscard]] std::span<const std::shared_ptr<const Resolver>> all() const { return resolvers_; }
  /// Names of the resolvers that have an output bound to this key.
  [[nodiscard]] std::vector<std::string> producers_of(std::string_view key) const;
  /// The first field bound to this key among all inputs and outputs; null when no field has the key.
  [[nodiscard]] const FieldInfo* key_field(std::string_view key) const;

 private:
  std::vector<std::shared_ptr<const Resolver>> resolvers_;
};

}  // namespace mlsysim
