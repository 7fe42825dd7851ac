#include "detail/loaded.hpp"

#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/resolver_api/detail/standard_registry.hpp>
#include <mlsysim/units/standard_units.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::plugin::detail {
namespace {

/// Texts of all that is published. Only a change is published again, since tables are never freed.
struct Published {
  std::vector<std::string> units, zoo, resolvers;
};
/// It never dies: a host that is static may end after every other static object.
Published& published() {
  static auto& state = *new Published;
  return state;
}

void add_units(UnitRegistry& table, const PluginDescription& d) {
  UnitRegistry next = table;
  for (const auto& u : d.units) {
    const auto base = next.parse_unit(u.base);
    UnitDef def{u.symbol, base.exps, u.multiplier * base.mul, u.divisor * base.div, u.decimal_prefixes,
                "",       u.meaning};
    for (const auto& known : next.units())
      if (known.symbol == def.symbol && !(known == def) &&
          (known.mul * def.div != def.mul * known.div || !(known.exps == def.exps)))
        fail(MLS_ALREADY_EXISTS,
             {.id = "mlsysim.plugin.090",
              .message = fmt::format("the unit '{}' of '{}' exists with another meaning", u.symbol, d.name),
              .key = u.symbol,
              .found = fmt::format("{} / {} of {}", u.multiplier, u.divisor, u.base),
              .expected = fmt::format("{} / {} base units", known.mul, known.div),
              .hint = "choose another symbol"},
             d.name, "register_all");
    next.add(def);
  }
  table = std::move(next);
}

std::string unit_line(const UnitDescription& u) {
  return fmt::format("{} {} {} {} {}", u.symbol, u.base, u.decimal_prefixes, u.multiplier, u.divisor);
}

/// Plugins about to be published; what cannot be taken is moved out with the reason.
class Publication {
 public:
  Publication(std::vector<Loaded>& plugins, ObjectTable& objects,
              std::vector<std::pair<Loaded, PluginFailure>>& refused)
      : plugins_(plugins), objects_(objects), refused_(refused) {}

  void units() {
    // Units of all plugins come first, so that each may use those of the others whatever the order.
    UnitRegistry units = shipped_units();
    std::vector<std::string> lines;
    keep_those("register_all", [&](std::size_t i) {
      add_units(units, plugins_[i].description);
      for (const auto& u : plugins_[i].description.units) lines.push_back(unit_line(u));
    });
    if (lines != published().units) publish_units(units);
    published().units = std::move(lines);
  }

  void zoo() {
    if (zoo_lines() == published().zoo) return;
    try {
      publish_contributions(contributions(plugins_.size()));
    } catch (const std::exception&) {
      // The entries of some plugin are wrong: add the plugins one by one to find out whose.
      keep_those("zoo", [&](std::size_t i) {
        if (!plugins_[i].zoo.empty()) (void)load_zoo({}, contributions(i + 1));
      });
      publish_contributions(contributions(plugins_.size()));
    }
    published().zoo = zoo_lines();
  }

  /// Importers whose format is an ending read files of that ending wherever a model is named. The first
  /// plugin that has an ending keeps it.
  void readers() {
    std::vector<OtherReader> all;
    for (const auto& p : plugins_)
      for (std::size_t k = 0; k < p.description.converters.size(); ++k) {
        const auto& c = p.description.converters[k];
        if (p.code == nullptr || c.direction != MLS_IMPORTER || !c.format.starts_with('.')) continue;
        all.push_back({.ending = c.format,
                       .name = c.name,
                       .read = [code = p.code, k](const std::string& path, std::string_view bytes) {
                         SolveContext context;
                         MlsCall call;
                         call.context = &context;
                         return code->convert(k, path, bytes, nullptr, call);
                       }});
      }
    publish_readers(std::move(all));
  }

  /// @return false when a plugin was refused; then nothing is published
  [[nodiscard]] bool resolvers() {
    ResolverRegistry registry;
    for (const auto& r : shipped_resolvers().all()) registry.add(r);
    std::vector<std::string> lines;
    const auto before = plugins_.size();
    keep_those("register_all", [&](std::size_t i) { add_resolvers(plugins_[i], registry, lines); });
    if (plugins_.size() != before) return false;
    if (lines != published().resolvers) publish_resolvers(std::move(registry));
    published().resolvers = std::move(lines);
    return true;
  }

 private:
  /// Calls `use(i)` for every plugin, and refuses those for which it throws.
  template <class Use> void keep_those(const char* stage, Use&& use) {
    for (std::size_t i = 0; i < plugins_.size();) {
      try {
        use(i);
        ++i;
      } catch (const std::exception& error) {
        refused_.emplace_back(std::move(plugins_[i]), failure_of(error, stage));
        plugins_.erase(plugins_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  /// Entries of the first `count` plugins.
  [[nodiscard]] std::vector<ZooContribution> contributions(std::size_t count) const {
    std::vector<ZooContribution> all;
    for (std::size_t i = 0; i < count; ++i)
      all.insert(all.end(), plugins_[i].zoo.begin(), plugins_[i].zoo.end());
    return all;
  }
  [[nodiscard]] std::vector<std::string> zoo_lines() const {
    std::vector<std::string> out;
    for (const auto& c : contributions(plugins_.size()))
      out.push_back(c.origin + "\n" + c.name + "\n" + c.text);
    return out;
  }

  void add_resolvers(Loaded& p, ResolverRegistry& registry, std::vector<std::string>& lines) {
    if (p.code != nullptr && p.resolvers.empty())
      for (std::size_t k = 0; k < p.description.resolvers.size(); ++k)
        p.resolvers.push_back(std::make_shared<PluginResolver>(
            p.description, std::make_shared<Generation>(p.code, k), objects_, p.settings));
    if (p.code != nullptr && p.callbacks.empty())
      for (std::size_t k = 0; k < p.description.callbacks.size(); ++k)
        p.callbacks.push_back(std::make_shared<PluginCallback>(p.code, k, objects_));
    for (const auto& r : p.resolvers)
      if (const auto* known = registry.find(r->info().name);
          known != nullptr && known->info().name == r->info().name)
        fail(MLS_ALREADY_EXISTS,
             {.id = "mlsysim.plugin.091",
              .message = fmt::format("'{}' is there already", r->info().name),
              .key = r->info().name,
              .found = fmt::format("one from {} and one from {}", known->info().origin, p.name()),
              .expected = "names that are unique",
              .hint = "nothing replaces a resolver in silence"},
             p.name(), "register_all");
    for (const auto& r : p.resolvers) {
      registry.add(std::shared_ptr<const Resolver>(r));
      lines.push_back(fmt::format("{}@{}", r->info().name, fmt::ptr(r.get())));
    }
  }

  std::vector<Loaded>& plugins_;
  ObjectTable& objects_;
  std::vector<std::pair<Loaded, PluginFailure>>& refused_;
};

}  // namespace

void publish(std::vector<Loaded>& plugins, ObjectTable& objects,
             std::vector<std::pair<Loaded, PluginFailure>>& refused) {
  Publication publication(plugins, objects, refused);
  do {
    publication.units();
    publication.zoo();
    // Without a plugin that was refused for its resolvers, its units and entries go too.
  } while (!publication.resolvers());
  publication.readers();
}

}  // namespace mlsysim::plugin::detail
