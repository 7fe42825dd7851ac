#include <mlsysim/table/old_names.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

// What the device of a fleet is called where the fleet is given, and where its device is.
constexpr std::string_view kAlone = "hardware.", kInFleet = "fleet.node.accelerator.";

constexpr std::pair<std::string_view, std::string_view> kOld[] = {
    {"device.matrix_rate", "hardware.compute.dense"},
    {"device.vector_rate", "hardware.compute.vector"},
    {"device.wide_ratio", "hardware.compute.wide_ratio"},
    {"links.per_node", "links.level1.peers"},
    {"links.intra_bandwidth", "links.level1.bandwidth"},
    {"links.inter_bandwidth", "links.level2.bandwidth"},
    {"links.intra_latency", "links.level1.latency"},
    {"links.inter_latency", "links.level2.latency"},
    {"links.share", "links.level1.share"},
    {"links.peers", "links.mesh"},
    {"device.units", "hardware.compute.units"},
    {"device.matrix_rows", "hardware.compute.matrix_rows"},
    {"device.matrix_share", "hardware.efficiency.matrix"},
    {"device.vector_share", "hardware.efficiency.vector"},
    {"device.attention_share", "hardware.efficiency.attention"},
    {"device.attention_backward", "hardware.efficiency.attention_backward"},
    {"device.memory_share", "hardware.efficiency.memory"},
    {"device.burst", "hardware.efficiency.burst"},
    {"device.burst_time", "hardware.efficiency.burst_time"},
    {"device.memory_bandwidth", "hardware.memory.bandwidth"},
    {"device.memory_capacity", "hardware.memory.capacity"},
    {"device.tile_m", "hardware.tiles.tile_m"},
    {"device.tile_n", "hardware.tiles.tile_n"},
    {"device.split_depth", "hardware.tiles.split_depth"},
    {"device.attention_tile", "hardware.tiles.attention_tile"},
    {"device.softmax_work", "hardware.tiles.softmax_work"},
    {"device.launch", "hardware.kernels.launch"},
    {"device.wave", "hardware.kernels.wave"},
    {"device.split", "hardware.kernels.split"},
    {"device.attention_launch", "hardware.kernels.attention_launch"},
    {"device.attention_block", "hardware.kernels.attention_block"},
    {"device.attention_rows", "hardware.kernels.attention_rows"},
    {"device.attention_split", "hardware.kernels.attention_split"},
    {"device.issue", "hardware.kernels.issue"},
    {"device.dispatch", "hardware.dispatch_overhead"},
    {"device.host_bandwidth", "hardware.host_link.bandwidth"},
    {"device.tdp", "hardware.power.tdp"},
    {"device.reserve", "conventions.memory_reserve"},
    {"device.fragmentation", "conventions.memory_fragmentation"},
    {"device.layer_overhead", "conventions.textbook_layer_overhead"},
    {"device.activation_share", "conventions.textbook_activation_share"},
    {"device.gradient_bucket", "conventions.gradient_bucket"},
    {"device.idle_fraction", "conventions.idle_fraction"},
    {"conventions.matrix_share", "hardware.efficiency.matrix"},
    {"conventions.matrix_narrow_share", "hardware.efficiency.matrix_narrow"},
    {"conventions.attention_share", "hardware.efficiency.attention"},
    {"conventions.vector_share", "hardware.efficiency.vector"},
    {"conventions.memory_share", "hardware.efficiency.memory"},
    {"conventions.matrix_burst", "hardware.efficiency.burst"},
    {"conventions.burst_time", "hardware.efficiency.burst_time"},
    {"conventions.vector_rate_ratio", "hardware.compute.vector_ratio"},
    {"conventions.tile_m", "hardware.tiles.tile_m"},
    {"conventions.tile_n", "hardware.tiles.tile_n"},
    {"conventions.matrix_rows", "hardware.compute.matrix_rows"},
    {"conventions.split_depth", "hardware.tiles.split_depth"},
    {"conventions.attention_tile", "hardware.tiles.attention_tile"},
    {"conventions.units", "hardware.compute.units"},
    {"conventions.softmax_work", "hardware.tiles.softmax_work"},
    {"conventions.kernel_launch", "hardware.kernels.launch"},
    {"conventions.kernel_wave", "hardware.kernels.wave"},
    {"conventions.kernel_split", "hardware.kernels.split"},
    {"conventions.kernel_issue", "hardware.kernels.issue"},
    {"conventions.dispatch_overhead", "hardware.dispatch_overhead"},
    {"conventions.attention_launch", "hardware.kernels.attention_launch"},
    {"conventions.attention_block", "hardware.kernels.attention_block"},
    {"conventions.attention_rows", "hardware.kernels.attention_rows"},
    {"conventions.attention_split", "hardware.kernels.attention_split"},
    {"conventions.host_bandwidth", "hardware.host_link.bandwidth"},
    {"conventions.attention_backward", "hardware.efficiency.attention_backward"},
    {"conventions.flash1_ratio", "hardware.efficiency.flash1"},
};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> old_names() { return kOld; }

std::vector<std::string> other_names(std::string_view name) {
  std::vector<std::string> out;
  const auto* old =
      std::find_if(std::begin(kOld), std::end(kOld), [&](const auto& p) { return p.first == name; });
  if (old != std::end(kOld)) {
    name = old->second;
    out.emplace_back(name);
  }
  const auto seen_from = [&](std::string_view here, std::string_view there) {
    if (name.starts_with(here)) out.push_back(std::string(there).append(name.substr(here.size())));
  };
  seen_from(kAlone, kInFleet);
  seen_from(kInFleet, kAlone);
  return out;
}

}  // namespace mlsysim
