#pragma once
/// Default values for a fabric, a facility or a request that states none, read from zoo/defaults.yaml.
///
/// Each default that a result uses appears in its assumptions. Defaults of devices belong to their
/// `DeviceClass`.
/// Example: `conventions_of(zoo)` of the shipped zoo has a PUE of 1.12 and a memory reserve of 1 GiB per
/// device.

#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/units/shared_text.hpp>

namespace mlsysim {

class Zoo;

/// The file of these defaults, as results and help name it.
inline constexpr SharedText kDefaults = "zoo/defaults.yaml";
/// The class of devices that state none.
inline constexpr std::string_view kDeviceClass = "gpu";
/// The families of kernels that hold where a runtime names none.
inline constexpr std::string_view kProducts = "usual_products", kAttention = "usual_attention",
                                  kCollectives = "usual_collectives", kRecurrences = "usual_recurrences";

/// Library-wide defaults, and the class that supplies defaults of devices.
struct Conventions {
  double textbook_efficiency = 0;  ///< share of the peak rate, textbook fidelity
  double textbook_activation_share =
      0;                           ///< activation traffic of one sample over weight bytes, textbook fidelity
  Time<> textbook_layer_overhead;  ///< software time per layer, textbook fidelity
  double link_share = 0, network_share = 0;
  Time<> collective_launch, collective_hop, collective_sync, switch_start, direct_start, direct_hop,
      direct_second;
  double low_latency_share = 0, copy_ratio = 0, switch_share = 0, pair_share = 0, direct_share = 0;
  Bandwidth<> fabric_bandwidth;
  Time<> intra_latency, inter_latency;
  Data<> network_in_flight;  ///< bytes that a device may have in flight between nodes
  Data<> memory_reserve;
  double memory_fragmentation = 0;
  double gradient_bucket = 0;   ///< gradient bucket over gradients
  Data<> exchange_bucket;       ///< gradients that are exchanged together
  double overlap = 0;           ///< share of a pass under which gradient traffic hides
  double overlap_slowdown = 0;  ///< slowdown of kernels per second of hidden communication
  double idle_fraction = 0;     ///< idle power over TDP
  double pue = 0;
  WaterIntensity<> wue;
  MoneyPerEnergy<> electricity_price;
  double maintenance_share = 0;  ///< of capital cost and year
  double amortization_years = 0;
  double draft_tokens = 0;
  double routing_spread = 0;  ///< standard deviation of the logarithm of an expert's popularity in serving
  Bandwidth<> host_memory_bandwidth;  ///< of a node's host
  double host_stream = 0;             ///< share of it that the host sustains in its own computations
  double chained_floor = 0;  ///< floor of an expert layer inside a captured step, over that of a single one
  const DeviceClass* device_class = nullptr;  ///< of devices that state none
  /// Families whose constants hold where neither runtime nor device states any.
  const KernelFamily *products = nullptr, *attention = nullptr, *collectives = nullptr,
                     *recurrences = nullptr;
  const DeviceClass* devices = nullptr;  ///< values of the caller, which precede those of a device's class

  template <class C = Conventions> static constexpr auto fields() {
    return rows(
        field(&C::textbook_efficiency, "textbook_efficiency", "", "share of the peak arithmetic rate")
            .within(0.001, 1),
        field(&C::textbook_activation_share, "textbook_activation_share", "",
              "activation traffic of a sample over weights")
            .within(0, 10),
        field(&C::textbook_layer_overhead, "textbook_layer_overhead", "us", "software time per layer")
            .non_negative(),
        field(&C::link_share, "link_share", "", "sustained share of a link's bandwidth").within(0.01, 1),
        field(&C::network_share, "network_share", "", "sustained share of a network card's bandwidth")
            .within(0.01, 1),
        field(&C::network_in_flight, "network_in_flight", "MB",
              "bytes of a device that are on their way at once between nodes")
            .positive(),
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
        field(&C::draft_tokens, "draft_tokens", "", "tokens drafted per verification").at_least(1),
        field(&C::routing_spread, "routing_spread", "",
              "standard deviation of the logarithm of an expert's popularity in serving")
            .within(0, 3),
        field(&C::host_memory_bandwidth, "host_memory_bandwidth", "GB/s", "memory of the host of a node")
            .positive(),
        field(&C::host_stream, "host_stream", "",
              "share of the host's memory bandwidth that its own computations sustain")
            .within(0.01, 1),
        field(&C::chained_floor, "chained_floor", "",
              "floor of a layer of experts inside a captured step over that of one replayed alone")
            .within(0, 1),
        field(&C::device_class, "device_class", "", "class of devices that state none").defaulted("gpu"),
        field(&C::products, "products", "", "family of dense products").defaulted("usual_products"),
        field(&C::attention, "attention", "", "family of fused attention").defaulted("usual_attention"),
        field(&C::collectives, "collectives", "", "family of collectives inside a node")
            .defaulted("usual_collectives"),
        field(&C::recurrences, "recurrences", "", "family of linear attention")
            .defaulted("usual_recurrences"),
        field(&C::devices, "devices", "", "the caller's figures of devices, before those of their class")
            .defaulted("none"));
  }
};

template <> struct ObjectType<Conventions> { static constexpr std::string_view name = "conventions"; };

/// Reads the defaults of a zoo: each field from the entry "default.<field name>". `device_class` is the entry
/// kDeviceClass. The kernel families are kProducts, kAttention, kCollectives and kRecurrences.
/// @throws LookupError when one is missing, DimensionError or DomainError when one has another dimension or
/// range
[[nodiscard]] Conventions conventions_of(const Zoo& zoo);

}  // namespace mlsysim
