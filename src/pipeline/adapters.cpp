#include <mlsysim/pipeline/adapters.hpp>

#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/system.hpp>

#include <algorithm>

namespace mlsysim {

namespace {

template <class From, auto Member> const void* follow(const void* object) {
  return static_cast<const From*>(object)->*Member;
}

}  // namespace

const AdapterTable& AdapterTable::standard() {
  static const AdapterTable table = [] {
    AdapterTable t;
    t.add({"fleet", "node", "node", &follow<Fleet, &Fleet::node>});
    t.add({"fleet", "fabric", "fabric", &follow<Fleet, &Fleet::fabric>});
    t.add({"fleet", "grid", "grid", &follow<Fleet, &Fleet::grid>});
    t.add({"fleet", "datacenter", "datacenter", &follow<Fleet, &Fleet::datacenter>});
    t.add({"node", "hardware", "hardware", &follow<Node, &Node::accelerator>});
    t.add({"datacenter", "grid", "grid", &follow<Datacenter, &Datacenter::grid>});
    return t;
  }();
  return table;
}

AdapterTable& AdapterTable::add(Adapter adapter) {
  adapters_.push_back(std::move(adapter));
  return *this;
}

std::vector<std::vector<const Adapter*>> AdapterTable::chains_to(std::string_view key) const {
  std::vector<std::vector<const Adapter*>> chains;
  for (const auto& a : adapters_)
    if (a.to == key) chains.push_back({&a});
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (const auto& a : adapters_) {
      if (a.to != chains[i].front()->from || a.from == key) continue;
      const bool seen = std::any_of(chains[i].begin(), chains[i].end(),
                                    [&](const Adapter* b) { return b->from == a.from; });
      if (seen) continue;
      auto longer = chains[i];
      longer.insert(longer.begin(), &a);
      chains.push_back(std::move(longer));
    }
  }
  std::stable_sort(chains.begin(), chains.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return chains;
}

std::string_view canonical_key(std::string_view name) {
  return name == "model" ? "workload" : name == "runtime" ? "engine" : name;
}

}  // namespace mlsysim
