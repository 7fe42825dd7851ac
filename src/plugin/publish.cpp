#include "detail/loaded.hpp"

#include <mlsysim/resolve/standard_registry.hpp>
#include <mlsysim/units/standard_units.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::plugin::detail {
namespace {

/// What is published at the moment, so that nothing is published again without need: tables are kept for
/// ever.
struct Published {
  std::vector<std::string> units, zoo, resolvers;
};
Published& published() {
  static Published state;
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

}  // namespace

void publish(std::vector<Loaded>& plugins, ObjectTable& objects,
             std::vector<std::pair<Loaded, PluginFailure>>& refused) {
  const auto refuse = [&](std::size_t i, const std::exception& error, const char* stage) {
    refused.emplace_back(std::move(plugins[i]), failure_of(error, stage));
    plugins.erase(plugins.begin() + static_cast<std::ptrdiff_t>(i));
  };
  auto& now = published();

  // Units of all plugins come first, so that each may use those of the others whatever the order.
  UnitRegistry units = shipped_units();
  std::vector<std::string> unit_lines;
  for (std::size_t i = 0; i < plugins.size();) {
    try {
      add_units(units, plugins[i].description);
      for (const auto& u : plugins[i].description.units) unit_lines.push_back(unit_line(u));
      ++i;
    } catch (const std::exception& error) {
      refuse(i, error, "register_all");
    }
  }
  if (unit_lines != now.units) publish_units(units);
  now.units = unit_lines;

  const auto contributions = [&](std::size_t count) {
    std::vector<ZooContribution> all;
    for (std::size_t i = 0; i < count; ++i)
      all.insert(all.end(), plugins[i].zoo.begin(), plugins[i].zoo.end());
    return all;
  };
  const auto publish_zoo = [&] {
    const auto lines = [&] {
      std::vector<std::string> out;
      for (const auto& c : contributions(plugins.size()))
        out.push_back(c.origin + "\n" + c.name + "\n" + c.text);
      return out;
    };
    if (lines() == now.zoo) return;
    try {
      publish_contributions(contributions(plugins.size()));
    } catch (const std::exception&) {
      // Somebody's entries are wrong: find out whose, one by one.
      for (std::size_t i = 0; i < plugins.size();) {
        if (plugins[i].zoo.empty()) {
          ++i;
          continue;
        }
        try {
          (void)load_zoo({}, contributions(i + 1));
          ++i;
        } catch (const std::exception& error) {
          refuse(i, error, "zoo");
        }
      }
      publish_contributions(contributions(plugins.size()));
    }
    now.zoo = lines();
  };
  publish_zoo();

  ResolverRegistry registry;
  for (const auto& r : shipped_resolvers().all()) registry.add(r);
  std::vector<std::string> lines;
  const auto before = plugins.size();
  for (std::size_t i = 0; i < plugins.size();) {
    auto& p = plugins[i];
    try {
      if (p.code != nullptr && p.resolvers.empty())
        for (std::size_t k = 0; k < p.description.resolvers.size(); ++k)
          p.resolvers.push_back(std::make_shared<PluginResolver>(
              p.description, std::make_shared<Generation>(p.code, k), objects, p.settings));
      if (p.code != nullptr && p.callbacks.empty())
        for (std::size_t k = 0; k < p.description.callbacks.size(); ++k)
          p.callbacks.push_back(std::make_shared<PluginCallback>(p.code, k, objects));
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
      ++i;
    } catch (const std::exception& error) {
      refuse(i, error, "register_all");
    }
  }
  if (plugins.size() != before) {
    // The units and entries of what was refused go too.
    publish(plugins, objects, refused);
    return;
  }
  if (lines != now.resolvers) publish_resolvers(std::move(registry));
  now.resolvers = std::move(lines);
}

}  // namespace mlsysim::plugin::detail
