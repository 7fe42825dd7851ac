// Entries of one's own to begin with. Each is checked by a test: `zoo lint` finds nothing in it.

#include "commands.hpp"

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::cli {
namespace {

constexpr std::string_view kHead =
    R"(# Give every figure its source: the kind 'illustrative' stands alone, with a note. A published one has a kind such as
# datasheet, and ref: a key of references.yaml of the zoo, or of one beside this file.
schema: mlsysim/@KIND@@VERSION@
entries:
- name: @NAME@
  source: {kind: illustrative, recorded: @DATE@, note: "what these figures are, and for what"}
)";

struct Template {
  std::string_view kind, version, body;
};

constexpr std::array<Template, 6> kTemplates{{
    {"hardware", "1",
     R"(  category: cloud
  compute:
    dense: {bf16: 500 TFLOP/s, fp8: 1000 TFLOP/s}
    vector: {fp32: 30 TFLOP/s}
    units: 100
    default_precision: bf16
  memory: {capacity: 80 GiB, bandwidth: 3 TB/s, l2_cache: 40 MiB}
  device_link: {bandwidth: 400 GB/s}   # one way, per device
  host_link: {bandwidth: 64 GB/s}
  power: {tdp: 600 W}
  unit_cost: 20000 USD
)"},
    {"model", "2", R"(  architecture: decoder
  max_positions: 32768
  stacks:
  - hidden: 4096
    layers: [{times: 32}]
    mixer: {grouped: {heads: 32, kv_heads: 8, head_dim: 128}}
    feed_forward: {dense: {width: 14336}}
    input: {vocab: 128256}
)"},
    {"node", "1",
     R"(  accelerator: H100                 # a device of the zoo, or of a file that is read beside it
  accelerators_per_node: 8
  intra_node_bandwidth: 450 GB/s    # one way, per device
  nics_per_node: 8
  nic_bandwidth: 400 Gbit/s
)"},
    {"fabric", "1", R"(  topology: fat_tree
  bandwidth: 400 Gbit/s             # one way, per port
  latency: 5 us
  oversubscription: 1
)"},
    {"cluster", "1", R"(  node: DGX_H100
  node_count: 16
  fabric: InfiniBand_NDR
)"},
    {"grid", "1", R"(  carbon_intensity: 300 gCO2e/kWh
)"},
}};

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
  return text;
}

}  // namespace

Answer zoo_new(const std::string& kind, const std::string& name, const std::string& date) {
  for (const auto& t : kTemplates)
    if (t.kind == kind || std::string(t.kind) + "s" == kind) {
      std::string text(kHead);
      text = replaced(std::move(text), "@KIND@", t.kind);
      text = replaced(std::move(text), "@VERSION@", fmt::format("@{}", t.version));
      text = replaced(std::move(text), "@NAME@", name);
      text = replaced(std::move(text), "@DATE@", date);
      return {text + std::string(t.body)};
    }
  std::vector<std::string> kinds;
  for (const auto& t : kTemplates) kinds.emplace_back(t.kind);
  throw InputError("mlsysim.cli.109", "there is no entry of this kind to begin with", "zoo new",
                   fmt::format("'{}'", kind), fmt::format("one of {}", fmt::join(kinds, ", ")),
                   did_you_mean(kind, kinds).empty() ? "mlsysim schema KIND shows the form of every kind"
                                                     : did_you_mean(kind, kinds));
}

}  // namespace mlsysim::cli
