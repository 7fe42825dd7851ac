#include <mlsysim/resolver_api/registry.hpp>

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
  const auto* known = find(info.name);
  if (known != nullptr && known->info().name == info.name)
    throw InputError({.id = "mlsysim.resolve.019",
                      .message = fmt::format("there is already a resolver '{}'", info.name),
                      .key = info.name,
                      .found = fmt::format("one from {} and one from {}", known->info().origin, info.origin),
                      .expected = "names that are unique",
                      .hint = "give one of them another id; nothing replaces a resolver in silence"});
  resolvers_.push_back(std::move(resolver));
  return *resolvers_.back();
}

namespace {

/// Whether `name` is the bare form of "namespace/name".
bool is_bare_form(std::string_view name, std::string_view full) {
  return full.size() > name.size() && full.ends_with(name) && full[full.size() - name.size() - 1] == '/';
}

}  // namespace

std::shared_ptr<const Resolver> ResolverRegistry::share(std::string_view name) const {
  for (const auto& r : resolvers_)
    if (r->info().name == name) return r;
  std::vector<std::string> candidates;
  std::shared_ptr<const Resolver> bare;
  for (const auto& r : resolvers_)
    if (is_bare_form(name, r->info().name)) {
      candidates.push_back(r->info().name);
      bare = r;
    }
  if (candidates.size() == 1) return bare;
  if (candidates.size() > 1)
    throw LookupError({.id = "mlsysim.resolve.041",
                       .message = fmt::format("several resolvers are called '{}'", name),
                       .key = std::string(name),
                       .found = fmt::format("{}", fmt::join(candidates, ", ")),
                       .expected = "a name that means one of them",
                       .hint = "write the name with its namespace"});
  const auto known = names();
  throw LookupError(unknown_name("mlsysim.resolve.020", fmt::format("there is no resolver '{}'", name), name,
                                 known, fmt::format("one of {} registered resolvers", known.size())));
}

const Resolver* ResolverRegistry::find(std::string_view name) const {
  const Resolver* bare = nullptr;
  std::size_t bare_count = 0;
  for (const auto& r : resolvers_) {
    if (r->info().name == name) return r.get();
    if (is_bare_form(name, r->info().name)) {
      bare = r.get();
      ++bare_count;
    }
  }
  return bare_count == 1 ? bare : nullptr;
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
