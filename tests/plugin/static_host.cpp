/// A host that was made before all tables ends after them, and withdraws what it published: nothing that it
/// needs has died.

#include "plugin_support.hpp"

#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/units/unit_registry.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace mlsysim;

/// What is known to everybody: numbers, which outlive every table.
struct Known {
  std::size_t resolvers = 0, units = 0, entries = 0;
  bool readers = false;
  bool operator==(const Known&) const = default;
};
Known known() {
  return {ResolverRegistry::standard().names().size(), UnitRegistry::standard().units().size(),
          standard_zoo().entries().size(), has_other_reader("a.acmeops")};
}

Known at_first;

/// Made before the host, so it ends after it.
struct Last {
  ~Last() {
    const auto now = known();
    if (now == at_first) return;
    std::fprintf(stderr,
                 "left behind: of %zu resolvers %zu, of %zu units %zu, of %zu entries %zu, readers %d\n",
                 at_first.resolvers, now.resolvers, at_first.units, now.units, at_first.entries, now.entries,
                 now.readers);
    std::_Exit(1);
  }
} last;

plugin::PluginHost host(closed({kBuild + "/plugins/acme_efficiency/mlsysim-plugin-acme-efficiency.so",
                                kBuild + "/plugins/acme_npu/mlsysim-plugin-acme-npu.so",
                                kBuild + "/plugins/acme_reader/mlsysim-plugin-acme-reader.so", kHello}));

}  // namespace

int main() {
  at_first = known();
  const auto report = host.load_all();
  const auto now = known();
  if (report.loaded.size() == 4 && now.resolvers > at_first.resolvers && now.units > at_first.units &&
      now.entries > at_first.entries && now.readers && !at_first.readers)
    return 0;
  std::fputs("the plugins brought less than they should\n", stderr);
  return 1;
}
