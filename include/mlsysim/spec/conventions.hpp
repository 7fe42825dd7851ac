#pragma once
/// The figures that stand in where a device, a fabric or a request says nothing. Their only home is
/// zoo/defaults.yaml; every one that is used shows up in the assumptions of the result.

#include <mlsysim/table/describe.hpp>
#include <mlsysim/units/quantity.hpp>

namespace mlsysim {

class Zoo;

/// Library-wide defaults, read from the zoo by name.
struct Conventions {
  double textbook_efficiency = 0;  ///< share of the peak rate, textbook fidelity
  double textbook_activation_share =
      0;                           ///< activation traffic of one sample over weight bytes, textbook fidelity
  Time<> textbook_layer_overhead;  ///< software time per layer, textbook fidelity
  double matrix_share = 0, matrix_narrow_share = 0, attention_share = 0, vector_share = 0, memory_share = 0,
         link_share = 0;
  double matrix_burst = 0;  ///< gain of short matrix work over the sustained rate
  Time<> burst_time;
  double vector_rate_ratio = 0;  ///< vector rate over the fp16 matrix rate
  double tile_m = 0, tile_n = 0, matrix_rows = 0, split_depth = 0, attention_tile = 0, units = 0;
  Work<> softmax_work;  ///< of one query-key pair, in vector operations
  Time<> kernel_launch, kernel_wave, kernel_split, kernel_issue, dispatch_overhead;
  Time<> attention_launch, attention_block, attention_rows, attention_split;
  Time<> collective_launch, collective_hop, collective_sync, switch_start, direct_start, direct_hop,
      direct_second;
  double low_latency_share = 0, copy_ratio = 0, switch_share = 0, pair_share = 0, direct_share = 0;
  Bandwidth<> host_bandwidth, fabric_bandwidth;
  Time<> intra_latency, inter_latency;
  Data<> memory_reserve;
  double memory_fragmentation = 0;
  double gradient_bucket = 0;     ///< gradient bucket over gradients
  Data<> exchange_bucket;         ///< gradients that wait for each other before they are exchanged
  double overlap = 0;             ///< share of a pass under which gradient traffic hides
  double attention_backward = 1;  ///< rate of the backward pass of fused attention over the forward pass
  double flash1_ratio = 1;        ///< rate of the first generation of fused attention over the present one
  double overlap_slowdown = 0;    ///< slowdown of kernels beside communication, per second of it
  double idle_fraction = 0;       ///< idle power over TDP
  double pue = 0;
  WaterIntensity<> wue;
  MoneyPerEnergy<> electricity_price;
  double maintenance_share = 0;  ///< of capital cost and year
  double amortization_years = 0;
  double draft_tokens = 0;

  static constexpr auto fields() {
    using C = Conventions;
    return rows(
        field(&C::textbook_efficiency, "textbook_efficiency", "", "share of the peak arithmetic rate")
            .within(0.001, 1),
        field(&C::textbook_activation_share, "textbook_activation_share", "",
              "activation traffic of a sample over weights")
            .within(0, 10),
        field(&C::textbook_layer_overhead, "textbook_layer_overhead", "us", "software time per layer")
            .non_negative(),
        field(&C::matrix_share, "matrix_share", "", "sustained share of the dense matrix rate")
            .within(0.01, 1),
        field(&C::matrix_narrow_share, "matrix_narrow_share", "", "the same for formats of 8 bits and less")
            .within(0.01, 1),
        field(&C::matrix_burst, "matrix_burst", "", "gain of short matrix work over the sustained rate")
            .within(0, 1),
        field(&C::burst_time, "burst_time", "ms", "matrix work after which half of the gain is left")
            .positive(),
        field(&C::attention_share, "attention_share", "",
              "sustained share of the matrix rate in fused attention")
            .within(0.01, 1),
        field(&C::vector_share, "vector_share", "", "sustained share of the vector rate").within(0.01, 1),
        field(&C::memory_share, "memory_share", "", "sustained share of the memory bandwidth")
            .within(0.01, 1),
        field(&C::link_share, "link_share", "", "sustained share of a link's bandwidth").within(0.01, 1),
        field(&C::vector_rate_ratio, "vector_rate_ratio", "", "vector rate over half-precision matrix rate")
            .within(0.001, 1),
        field(&C::tile_m, "tile_m", "", "rows of an output tile").at_least(1),
        field(&C::tile_n, "tile_n", "", "columns of an output tile").at_least(1),
        field(&C::matrix_rows, "matrix_rows", "", "rows of one matrix instruction").at_least(1),
        field(&C::split_depth, "split_depth", "", "least depth of a part of a split product").at_least(1),
        field(&C::attention_tile, "attention_tile", "", "rows of queries, and keys, of one attention step")
            .at_least(1),
        field(&C::units, "units", "", "units over which tiles are dealt").at_least(1),
        field(&C::softmax_work, "softmax_work", "FLOP", "softmax of one pair, in vector operations")
            .non_negative(),
        field(&C::kernel_launch, "kernel_launch", "us", "start and end of one kernel").non_negative(),
        field(&C::kernel_wave, "kernel_wave", "us", "start and end of an output tile").non_negative(),
        field(&C::kernel_split, "kernel_split", "us", "adding up the parts of a split product")
            .non_negative(),
        field(&C::kernel_issue, "kernel_issue", "us", "host time to launch one kernel without a graph")
            .non_negative(),
        field(&C::attention_launch, "attention_launch", "us", "start and end of one attention call")
            .non_negative(),
        field(&C::attention_block, "attention_block", "us", "fixed time of a block of queries")
            .non_negative(),
        field(&C::attention_rows, "attention_rows", "us", "rows of a full block, in and out").non_negative(),
        field(&C::attention_split, "attention_split", "us", "adding up the parts of split keys")
            .non_negative(),
        field(&C::collective_launch, "collective_launch", "us", "start and end of one collective")
            .non_negative(),
        field(&C::collective_hop, "collective_hop", "us", "one step of the low-latency protocol")
            .non_negative(),
        field(&C::collective_sync, "collective_sync", "us", "start of the bulk protocol").non_negative(),
        field(&C::switch_start, "switch_start", "us", "start of a reduction in the switch").non_negative(),
        field(&C::direct_start, "direct_start", "us", "start of an engine's one-shot all-reduce")
            .non_negative(),
        field(&C::direct_hop, "direct_hop", "us", "each further rank of it").non_negative(),
        field(&C::direct_second, "direct_second", "us", "its second phase").non_negative(),
        field(&C::low_latency_share, "low_latency_share", "", "share of the link, low-latency protocol")
            .within(0.001, 1),
        field(&C::copy_ratio, "copy_ratio", "", "local copy rate over link bandwidth").positive(),
        field(&C::switch_share, "switch_share", "", "share of the link, reduction in the switch")
            .within(0, 1),
        field(&C::pair_share, "pair_share", "", "share of the link to one peer, low-latency all-to-all")
            .within(0.0001, 1),
        field(&C::direct_share, "direct_share", "", "share of the link, an engine's all-reduce")
            .within(0.001, 1),
        field(&C::dispatch_overhead, "dispatch_overhead", "us", "fixed time of one invocation")
            .non_negative(),
        field(&C::host_bandwidth, "host_bandwidth", "GB/s", "host link, one way").positive(),
        field(&C::fabric_bandwidth, "fabric_bandwidth", "GB/s", "network between nodes, one way, per port")
            .positive(),
        field(&C::intra_latency, "intra_latency", "us", "start-up of a message inside a node").non_negative(),
        field(&C::inter_latency, "inter_latency", "us", "start-up of a message between nodes").non_negative(),
        field(&C::memory_reserve, "memory_reserve", "GiB", "memory held by context and framework")
            .non_negative(),
        field(&C::memory_fragmentation, "memory_fragmentation", "", "share of allocated memory lost")
            .within(0, 1),
        field(&C::gradient_bucket, "gradient_bucket", "", "communication buffer over gradients").within(0, 1),
        field(&C::exchange_bucket, "exchange_bucket", "MiB", "gradients that are exchanged together")
            .non_negative(),
        field(&C::overlap, "overlap", "", "share of a pass that hides gradient traffic").within(0, 1),
        field(&C::attention_backward, "attention_backward", "",
              "rate of the backward pass of fused attention over the forward pass")
            .within(0.1, 1),
        field(&C::flash1_ratio, "flash1_ratio", "", "rate of the first fused attention over the present one")
            .within(0.1, 1),
        field(&C::overlap_slowdown, "overlap_slowdown", "", "slowdown of kernels beside communication")
            .within(0, 1),
        field(&C::idle_fraction, "idle_fraction", "", "idle power over TDP").within(0, 1),
        field(&C::pue, "pue", "", "facility energy over IT energy").at_least(1),
        field(&C::wue, "wue", "L/kWh", "water per IT energy").non_negative(),
        field(&C::electricity_price, "electricity_price", "USD/kWh", "price of electricity").non_negative(),
        field(&C::maintenance_share, "maintenance_share", "", "yearly maintenance over capital cost")
            .within(0, 1),
        field(&C::amortization_years, "amortization_years", "", "years of straight-line depreciation")
            .positive(),
        field(&C::draft_tokens, "draft_tokens", "", "tokens drafted per verification").at_least(1));
  }
};

template <> struct ObjectType<Conventions> { static constexpr std::string_view name = "conventions"; };

/// Reads the defaults of a zoo: each field from the figure "default.<field name>". Their home is
/// zoo/defaults.yaml.
/// @throws LookupError when one is missing, DimensionError or DomainError when one has another dimension or
/// range
[[nodiscard]] Conventions conventions_of(const Zoo& zoo);

}  // namespace mlsysim
