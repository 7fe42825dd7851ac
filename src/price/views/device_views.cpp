// Devices and links as numbers: the only place where a missing figure is replaced, and each replacement is
// noted.
#include <mlsysim/price/views.hpp>

#include <utility>

namespace mlsysim {
namespace {

constexpr SharedText kDefaults = "zoo/defaults.yaml";

/// The value, or the convention (noted).
template <class V>
V or_convention(const std::optional<V>& value, const V& convention, TextRef name, Notes& notes) {
  if (value) return *value;
  notes.assume(name, convention, kDefaults);
  return convention;
}

/// A device that multiplies matrices in fp32 about as fast as in narrower formats does so on its vector
/// units.
bool has_matrix_engine(const ComputeCore& core) {
  return !core.dense[Precision::fp32] || *core.dense[Precision::fp32] < 0.5 * core.peak_flops();
}

ComputeRate<> vector_rate(const HardwareNode& hardware, const Conventions& conventions, Notes& notes) {
  const auto& core = hardware.compute;
  for (const Precision p : {Precision::fp32, Precision::fp16, Precision::int8})
    if (core.vector[p]) return *core.vector[p];
  // Without a matrix engine, and beside one where the rate is well below its rate, dense fp32 is the vector
  // rate.
  if (core.dense[Precision::fp32]) return *core.dense[Precision::fp32];
  const ComputeRate<> peak = core.peak_flops();
  notes.assume("vector_rate_ratio", conventions.vector_rate_ratio, kDefaults);
  return peak * conventions.vector_rate_ratio;
}

void set_rates(Device<>& d, const HardwareNode& hardware, Precision precision, const Conventions& c,
               Notes& notes) {
  const auto& share = hardware.efficiency;
  d.matrix_rate = rate_at(hardware, precision);
  d.vector_rate = vector_rate(hardware, c, notes);
  if (bytes_per_element(precision) <= 1)
    d.matrix_share = or_convention(share.matrix_narrow, c.matrix_narrow_share, "matrix_narrow_share", notes);
  else
    d.matrix_share = or_convention(share.matrix, c.matrix_share, "matrix_share", notes);
  d.memory_share = or_convention(share.memory, c.memory_share, "memory_share", notes);
  d.attention_share = or_convention(share.attention, c.attention_share, "attention_share", notes);
  d.vector_share = c.vector_share;
  d.softmax_work = c.softmax_work;
  notes.assume("vector_share", c.vector_share, kDefaults);
  notes.assume("softmax_work", c.softmax_work, kDefaults);
}

/// Tiles are dealt to units; a device without a unit count has neither waves nor tiles to fill.
void set_tiles(Device<>& d, const HardwareNode& hardware, Precision precision, const Conventions& c,
               Notes& notes) {
  d.units = or_convention(hardware.compute.units, c.units, "units", notes);
  // Without a matrix engine a product is as fine as its rows and columns.
  const bool engine = hardware.compute.units.has_value() && has_matrix_engine(hardware.compute);
  d.matrix_rows =
      engine ? or_convention(hardware.compute.matrix_rows, c.matrix_rows, "matrix_rows", notes) : 1.0;
  d.tile_m = engine ? c.tile_m : 1.0;
  d.tile_n = engine ? c.tile_n : 1.0;
  // Kernels for narrow formats keep a block scale beside the depth and do not split it.
  const bool narrow = bytes_per_element(precision) <= 1;
  d.split_depth = narrow ? 1e9 : c.split_depth;
  d.attention_tile = c.attention_tile;
  if (engine) {
    notes.assume("tile_m", c.tile_m, kDefaults);
    notes.assume("tile_n", c.tile_n, kDefaults);
    if (narrow)
      notes.assume("split_depth", "none", "kernels for narrow formats do not split the depth of a product");
    else
      notes.assume("split_depth", c.split_depth, kDefaults);
    d.wave = or_convention(hardware.kernels.wave, c.kernel_wave, "kernel_wave", notes);
  }
  notes.assume("attention_tile", c.attention_tile, kDefaults);
}

void set_kernels(Device<>& d, const KernelTimes& k, const Conventions& c, Notes& notes) {
  d.launch = or_convention(k.launch, c.kernel_launch, "kernel_launch", notes);
  d.split = or_convention(k.split, c.kernel_split, "kernel_split", notes);
  d.attention_launch = or_convention(k.attention_launch, c.attention_launch, "attention_launch", notes);
  d.attention_block = or_convention(k.attention_block, c.attention_block, "attention_block", notes);
  d.attention_rows = or_convention(k.attention_rows, c.attention_rows, "attention_rows", notes);
  d.attention_split = or_convention(k.attention_split, c.attention_split, "attention_split", notes);
}

/// How kernels are launched, and whether the device runs for a moment or for ever.
void set_execution(Device<>& d, const HardwareNode& hardware, const Conventions& c, Phase phase,
                   std::optional<Execution> execution, Notes& notes) {
  const bool training = phase == Phase::training;
  const Execution mode = execution.value_or(training ? Execution::eager : Execution::graph);
  if (!execution)
    notes.assume("execution", mode,
                 training ? TextRef("training launches kernels one by one")
                          : TextRef("serving replays a captured graph"));
  if (mode == Execution::eager)
    d.issue = or_convention(hardware.kernels.issue, c.kernel_issue, "kernel_issue", notes);
  d.burst_time = hardware.efficiency.burst_time.value_or(c.burst_time);
  if (training) {  // a training run is longer than any burst
    d.attention_backward = c.attention_backward;
    notes.assume("attention_backward", c.attention_backward, kDefaults);
    return;
  }
  d.burst = or_convention(hardware.efficiency.burst, c.matrix_burst, "matrix_burst", notes);
  if (!hardware.efficiency.burst_time) notes.assume("burst_time", c.burst_time, kDefaults);
}

/// Collectives inside a node.
void set_collectives(Links<>& l, const HardwareNode& hardware, const Conventions& c, Notes& notes,
                     Phase phase) {
  const auto& t = hardware.collectives;
  l.share = or_convention(hardware.efficiency.link, c.link_share, "link_share", notes);
  l.peers = hardware.device_link.peers.value_or(1);
  l.launch = or_convention(t.launch, c.collective_launch, "collective_launch", notes);
  l.hop = or_convention(t.hop, c.collective_hop, "collective_hop", notes);
  l.sync = or_convention(t.sync, c.collective_sync, "collective_sync", notes);
  l.low_latency_share = or_convention(t.low_latency_share, c.low_latency_share, "low_latency_share", notes);
  l.copy_ratio = or_convention(t.copy_ratio, c.copy_ratio, "copy_ratio", notes);
  l.pair_share = or_convention(t.pair_share, c.pair_share, "pair_share", notes);
  l.switch_share = or_convention(t.switch_share, c.switch_share, "switch_share", notes);
  if (l.switch_share > 0)
    l.switch_start = or_convention(t.switch_start, c.switch_start, "switch_start", notes);
  if (phase != Phase::prefill && phase != Phase::decode) return;
  l.direct = 1;
  l.direct_start = or_convention(t.direct_start, c.direct_start, "direct_start", notes);
  l.direct_hop = or_convention(t.direct_hop, c.direct_hop, "direct_hop", notes);
  l.direct_second = or_convention(t.direct_second, c.direct_second, "direct_second", notes);
  l.direct_share = or_convention(t.direct_share, c.direct_share, "direct_share", notes);
}

}  // namespace

Device<> device_view(const HardwareNode& hardware, Precision precision, const Conventions& c, Notes& notes,
                     Phase phase, std::optional<Execution> execution) {
  Device<> d;
  set_rates(d, hardware, precision, c, notes);
  const MemoryLevel level = memory_level(hardware, Data<>());
  d.memory_bandwidth = hardware.memory.bandwidth.value_or(level.bandwidth);
  d.memory_capacity = level.capacity;
  // The context of a framework is a habit of big machines: it never takes more than a twentieth of a small
  // one.
  d.reserve = min(c.memory_reserve, d.memory_capacity * 0.05);
  d.fragmentation = c.memory_fragmentation;
  notes.assume("memory_reserve", d.reserve, kDefaults);
  notes.assume("memory_fragmentation", d.fragmentation, kDefaults);
  set_tiles(d, hardware, precision, c, notes);
  set_kernels(d, hardware.kernels, c, notes);
  set_execution(d, hardware, c, phase, execution, notes);
  d.dispatch = or_convention(hardware.dispatch_overhead, c.dispatch_overhead, "dispatch_overhead", notes);
  d.host_bandwidth = or_convention(hardware.host_link.bandwidth, c.host_bandwidth, "host_bandwidth", notes);
  d.tdp = hardware.power.tdp.value_or(Power<>());
  d.idle_fraction = c.idle_fraction;
  return d;
}

void set_matrix_share(Device<>& device, std::optional<double> share) {
  if (!share) return;
  device.matrix_share = *share;
  device.burst = 0;
}

Links<> links_view(const HardwareNode& hardware, double devices, const Conventions& c, Notes& notes,
                   Phase phase) {
  Links<> l;
  l.per_node = devices;
  std::optional<Bandwidth<>> link = hardware.device_link.bandwidth;
  if (!link) link = hardware.host_link.bandwidth;
  l.intra_bandwidth = or_convention(link, c.host_bandwidth, "intra_bandwidth", notes);
  l.intra_latency = or_convention(hardware.device_link.latency, c.intra_latency, "intra_latency", notes);
  l.inter_bandwidth = c.fabric_bandwidth;
  l.inter_latency = c.inter_latency;
  if (devices > 1) notes.assume("per_node", devices, "all devices taken to share one node");
  set_collectives(l, hardware, c, notes, phase);
  return l;
}

Links<> links_view(const Fleet& fleet, const Conventions& c, Notes& notes, Phase phase) {
  const Node& node = *fleet.node;
  const HardwareNode& hardware = *node.accelerator;
  Links<> l;
  l.per_node = node.accelerators_per_node;
  std::optional<Bandwidth<>> inside = node.intra_node_bandwidth;
  if (!inside) inside = hardware.device_link.bandwidth;
  if (!inside) inside = hardware.host_link.bandwidth;
  l.intra_bandwidth = or_convention(inside, c.host_bandwidth, "intra_bandwidth", notes);
  l.intra_latency = or_convention(hardware.device_link.latency, c.intra_latency, "intra_latency", notes);
  std::optional<Bandwidth<>> port;
  std::optional<Time<>> latency;
  double oversubscription = 1;
  if (fleet.fabric != nullptr) {
    port = fleet.fabric->bandwidth;
    latency = fleet.fabric->latency;
    oversubscription = fleet.fabric->oversubscription;
  }
  const Bandwidth<> per_port = or_convention(port, c.fabric_bandwidth, "fabric_bandwidth", notes);
  const double ports = node.nics_per_node ? *node.nics_per_node / node.accelerators_per_node : 1.0;
  if (!node.nics_per_node)
    notes.assume("nics_per_node", node.accelerators_per_node, "one adapter for each device");
  // The slower of adapter and fabric port; a device's share of the node's adapters.
  const Bandwidth<> adapter = node.nic_bandwidth ? min(*node.nic_bandwidth, per_port) : per_port;
  l.inter_bandwidth = adapter * ports / oversubscription;
  l.inter_latency = or_convention(latency, c.inter_latency, "inter_latency", notes);
  if (fleet.count > 1)
    notes.assume("all_reduce", "the faster of ring and double binary tree between nodes",
                 "sanders2009twotree");
  set_collectives(l, hardware, c, notes, phase);
  return l;
}

}  // namespace mlsysim
