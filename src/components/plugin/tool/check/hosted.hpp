#pragma once
/// A plugin opened as the host opens it, and its resolvers run on sample inputs.

#include "kit.hpp"

#include "../../detail/plugin_resolver.hpp"

namespace mlsysim::plugin::check {

/// The plugin as the host uses it.
struct Hosted {
  std::shared_ptr<KitServices> services = std::make_shared<KitServices>();
  std::shared_ptr<detail::PluginCode> code;
  std::vector<std::unique_ptr<detail::PluginResolver>> resolvers;

  explicit Hosted(const Subject& s, bool isolated = false, IsolationLimits limits = {});
};

/// The result of one run of a resolver as text: exact values, "infeasible: ...", or "error: ...".
[[nodiscard]] std::string bytes_of(Hosted& host, std::size_t i, double scale);

/// Checks every resolver of a plugin; `f(host, i)` says what is wrong with resolver i, or nothing.
template <class F> Result each(const Subject& s, F&& f) {
  Hosted host(s);
  if (host.resolvers.empty()) return skip("it registers no resolver");
  for (std::size_t i = 0; i < host.resolvers.size(); ++i)
    if (auto why = f(host, i); !why.empty()) return fail(host.resolvers[i]->info().name + ": " + why);
  return pass();
}

}  // namespace mlsysim::plugin::check
