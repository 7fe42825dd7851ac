#include <mlsysim/resolve/registry.hpp>

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

namespace mlsysim {

const Resolver& ResolverRegistry::add(std::shared_ptr<const Resolver> resolver) {
  const auto& info = resolver->info();
  if (info.name.empty())
    throw InputError({.id = "mlsysim.resolve.018",
                      .message = "a resolver needs a name",
                      .found = "an empty name",
                      .expected = "a name such as 'SingleNodeModel'"});
  if (const auto* known = find(info.name))
    throw InputError({.id = "mlsysim.resolve.019",
                      .message = fmt::format("there is already a resolver '{}'", info.name),
                      .key = info.name,
                      .found = fmt::format("one from {} and one from {}", known->info().origin, info.origin),
                      .expected = "names that are unique",
                      .hint = "give one of them another id; nothing replaces a resolver in silence"});
  resolvers_.push_back(std::move(resolver));
  return *resolvers_.back();
}

std::shared_ptr<const Resolver> ResolverRegistry::share(std::string_view name) const {
  for (const auto& r : resolvers_)
    if (r->info().name == name) return r;
  const auto known = names();
  throw LookupError({.id = "mlsysim.resolve.020",
                     .message = fmt::format("there is no resolver '{}'", name),
                     .key = std::string(name),
                     .found = fmt::format("'{}'", name),
                     .expected = fmt::format("one of {} registered resolvers", known.size()),
                     .hint = did_you_mean(name, known)});
}

const Resolver* ResolverRegistry::find(std::string_view name) const {
  for (const auto& r : resolvers_)
    if (r->info().name == name) return r.get();
  return nullptr;
}

const Resolver& ResolverRegistry::at(std::string_view name) const { return *share(name); }

std::vector<std::string> ResolverRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& r : resolvers_) out.push_back(r->info().name);
  return out;
}

std::vector<std::string> ResolverRegistry::names(Tier tier) const {
  std::vector<std::string> out;
  for (const auto& r : resolvers_)
    if (r->info().tier == tier) out.push_back(r->info().name);
  return out;
}

std::vector<std::string> ResolverRegistry::producers_of(std::string_view key) const {
  std::vector<std::string> out;
  for (const auto& r : resolvers_)
    if (const auto* f = find_field(r->outputs(), key); f != nullptr && f->shared)
      out.push_back(r->info().name);
  return out;
}

const FieldInfo* ResolverRegistry::key_field(std::string_view key) const {
  for (const auto& r : resolvers_)
    for (const auto fields : {r->inputs(), r->outputs()})
      if (const auto* f = find_field(fields, key); f != nullptr && f->shared) return f;
  return nullptr;
}

}  // namespace mlsysim
