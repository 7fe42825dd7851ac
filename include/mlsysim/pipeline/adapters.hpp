#pragma once
/// Table of objects that other objects imply: a fleet gives its node, and a node gives its accelerator.
///
/// A stage input that nothing else gives is taken from such a chain, the shortest first.
/// Example: `chains_to("hardware")` of the standard table gives node -> hardware, then fleet -> node ->
/// hardware.

#include <mlsysim/reflect/describe.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// One implication: an object under `from` gives the value of key `to`.
struct Adapter {
  std::string from;         ///< key and object type of the source: "fleet"
  std::string to;           ///< key that it gives: "node"
  std::string object_type;  ///< of what it gives
  /// The implied object, or null where this one has none.
  const void* (*get)(const void* object);
};

/// The table of implications. Pipelines use `standard()` unless the builder sets another one.
class AdapterTable {
 public:
  AdapterTable() = default;
  /// fleet: node, fabric, grid, datacenter; node: hardware; datacenter: grid.
  [[nodiscard]] static const AdapterTable& standard();

  AdapterTable& add(Adapter adapter);
  [[nodiscard]] std::span<const Adapter> all() const { return adapters_; }
  /// All chains that end at this key, shortest first, then in order of the table. Chains have no cycles.
  [[nodiscard]] std::vector<std::vector<const Adapter*>> chains_to(std::string_view key) const;

 private:
  std::vector<Adapter> adapters_;
};

/// The key that a name stands for: "model" means "workload" and "runtime" means "engine"; others are
/// themselves.
[[nodiscard]] std::string_view canonical_key(std::string_view name);

}  // namespace mlsysim
