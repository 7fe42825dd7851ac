#pragma once
/// One accelerator or processor, as its data sheet describes it: rates, memories, links, power and price.
///
/// Absent values are filled from `device_class`, see specs/device_class.hpp. Bandwidths of links are one way.
/// Example: the zoo's H100 has 80 GiB at 3.35 TB/s. `rate_at` gives 989 TFLOP/s at bf16 and 1979 TFLOP/s at
/// fp8, and throws for fp4, which the device does not have.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/efficiency.hpp>
#include <mlsysim/units/quantity.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

struct DeviceClass;
struct Entry;
struct HardwareNode;
template <> struct ObjectType<DeviceClass> { static constexpr std::string_view name = "device_class"; };
template <> struct ObjectType<HardwareNode> { static constexpr std::string_view name = "hardware"; };

/// Arithmetic rate for each number format; absent where the device has none.
struct RatePerPrecision {
  static constexpr std::span<const std::string_view> slot_names = Choices<Precision>::names;
  std::array<std::optional<ComputeRate<>>, kPrecisions> slots{};

  [[nodiscard]] const std::optional<ComputeRate<>>& operator[](Precision p) const {
    return slots[static_cast<std::size_t>(p)];
  }
  std::optional<ComputeRate<>>& operator[](Precision p) { return slots[static_cast<std::size_t>(p)]; }
  [[nodiscard]] bool empty() const;
  /// Names of the formats that have a rate.
  [[nodiscard]] std::vector<std::string> names() const;
};

/// Arithmetic units. Dense rates of the matrix engine, rates that need 2:4 sparsity, and rates outside it.
struct ComputeCore {
  RatePerPrecision dense;
  RatePerPrecision sparse;
  RatePerPrecision vector;
  RatePerPrecision dense_fp16_accumulate;  ///< matrix rate with sums in fp16
  Precision default_precision = Precision::fp16;
  std::optional<double> units;              ///< SMs, compute units or cores
  std::optional<Frequency<>> clock;         ///< boost clock
  std::optional<Frequency<>> matrix_clock;  ///< clock of the matrix engine where it differs
  std::optional<double> matrix_rows;        ///< rows of one matrix instruction: 1 without a matrix engine
  std::optional<double> vector_ratio;       ///< vector rate over the peak, where no vector rate is known

  /// Dense rate at the default precision [FLOP/s]. @throws InputError when the core has no rate at all
  [[nodiscard]] ComputeRate<> peak_flops() const;

  template <class C = ComputeCore> static constexpr auto fields() {
    return rows(
        field(&C::dense, "dense", "FLOP/s", "dense peak rate of each precision").defaulted("absent"),
        field(&C::sparse, "sparse", "FLOP/s", "peak rate with 2:4 structured sparsity").defaulted("absent"),
        field(&C::vector, "vector", "FLOP/s", "peak rate outside the matrix engine").defaulted("absent"),
        field(&C::dense_fp16_accumulate, "dense_fp16_accumulate", "FLOP/s", "dense rate with sums in fp16")
            .defaulted("absent"),
        field(&C::default_precision, "default_precision", "", "precision meant when none is named")
            .defaulted("fp16"),
        field(&C::units, "units", "", "streaming multiprocessors, compute units or cores")
            .positive()
            .of_each_unit()
            .sum_of_parts(),
        field(&C::clock, "clock", "GHz", "boost clock").positive(),
        field(&C::matrix_clock, "matrix_clock", "GHz", "clock of the matrix engine, if another").positive(),
        field(&C::matrix_rows, "matrix_rows", "", "rows of one matrix instruction")
            .at_least(1)
            .of_each_unit(),
        field(&C::vector_ratio, "vector_ratio", "",
              "vector rate over the peak, where no vector rate is known")
            .within(0.001, 1));
  }
};

/// Slower memory that the device addresses beside its main memory.
struct SecondMemoryTier {
  std::optional<Data<>> capacity;
  std::optional<Bandwidth<>> bandwidth;
  std::string type;

  template <class M = SecondMemoryTier> static constexpr auto fields() {
    return rows(field(&M::capacity, "capacity", "GB", "capacity").positive(),
                field(&M::bandwidth, "bandwidth", "GB/s", "bandwidth").positive(),
                field(&M::type, "type", "", "technology").defaulted("unstated"));
  }
};

/// Memories of the device, nearest last.
struct MemoryHierarchy {
  std::optional<Data<>> capacity;
  std::optional<Bandwidth<>> bandwidth;
  std::string type;
  std::optional<Data<>> sram_capacity;
  std::optional<Bandwidth<>> sram_bandwidth;
  std::optional<Data<>> flash_capacity;
  std::optional<Bandwidth<>> flash_bandwidth;
  std::optional<Data<>> l2_cache;
  std::optional<Data<>> shared_memory_per_unit;
  std::optional<Data<>> register_file_per_unit;
  std::optional<Data<>> last_level_cache;  ///< behind the L2, where there is one
  std::optional<Data<>> usable_capacity;   ///< capacity left for programs, e.g. with ECC on
  SecondMemoryTier second_tier;

  template <class M = MemoryHierarchy> static constexpr auto fields() {
    return rows(
        field(&M::capacity, "capacity", "GiB", "main memory").positive().sum_of_parts(),
        field(&M::bandwidth, "bandwidth", "GB/s", "main memory bandwidth").positive().sum_of_parts(),
        field(&M::type, "type", "", "technology, e.g. HBM3").defaulted("unstated"),
        field(&M::sram_capacity, "sram_capacity", "MB", "on-chip memory that can hold a model").positive(),
        field(&M::sram_bandwidth, "sram_bandwidth", "GB/s", "bandwidth of the on-chip memory").positive(),
        field(&M::flash_capacity, "flash_capacity", "MB", "flash that holds weights").positive(),
        field(&M::flash_bandwidth, "flash_bandwidth", "MB/s", "bandwidth of the flash").positive(),
        field(&M::l2_cache, "l2_cache", "MB", "second-level cache").positive(),
        field(&M::shared_memory_per_unit, "shared_memory_per_unit", "KiB", "scratchpad of one unit")
            .positive(),
        field(&M::register_file_per_unit, "register_file_per_unit", "KiB", "registers of one unit")
            .positive(),
        field(&M::last_level_cache, "last_level_cache", "MB", "cache behind the L2").positive(),
        field(&M::usable_capacity, "usable_capacity", "GiB", "capacity that programs can use").positive(),
        field(&M::second_tier, "second_tier", "", "slower memory beside it").defaulted("absent"));
  }
};

/// Local storage.
struct StorageHierarchy {
  std::optional<Data<>> capacity;
  std::optional<Bandwidth<>> bandwidth;
  std::optional<Time<>> latency;

  template <class S = StorageHierarchy> static constexpr auto fields() {
    return rows(field(&S::capacity, "capacity", "TB", "capacity").positive(),
                field(&S::bandwidth, "bandwidth", "GB/s", "sequential bandwidth").positive(),
                field(&S::latency, "latency", "us", "access latency").non_negative());
  }
};

/// A link of the device. The bandwidth is one way; both directions run at once.
struct IOInterconnect {
  std::string name;
  std::optional<Bandwidth<>> bandwidth;
  std::optional<Time<>> latency;
  std::optional<double>
      peers;  ///< devices among which the links are divided, one each; absent behind a switch

  template <class I = IOInterconnect> static constexpr auto fields() {
    return rows(field(&I::name, "name", "", "name of the link").defaulted("unstated"),
                field(&I::bandwidth, "bandwidth", "GB/s", "one-way bandwidth").positive().sum_of_parts(),
                field(&I::latency, "latency", "us", "one-way latency").non_negative(),
                field(&I::peers, "peers", "", "peers of a full mesh without a switch").at_least(1));
  }
};

struct PowerEnvelope {
  std::optional<Power<>> tdp, tdp_min, tdp_max, idle;
  std::optional<Energy<>> battery_capacity;
  std::optional<Power<>> measured_min, measured_mean, measured_max;  ///< drawn in production

  template <class P = PowerEnvelope> static constexpr auto fields() {
    return rows(field(&P::tdp, "tdp", "W", "thermal design power").positive().sum_of_parts(),
                field(&P::tdp_min, "tdp_min", "W", "lowest configurable limit").positive(),
                field(&P::tdp_max, "tdp_max", "W", "highest configurable limit").positive(),
                field(&P::idle, "idle", "W", "drawn while it holds a context and runs nothing")
                    .positive()
                    .sum_of_parts(),
                field(&P::battery_capacity, "battery_capacity", "J", "battery").positive(),
                field(&P::measured_min, "measured_min", "W", "lowest power measured").positive(),
                field(&P::measured_mean, "measured_mean", "W", "mean power measured").positive(),
                field(&P::measured_max, "measured_max", "W", "highest power measured").positive());
  }

  /// Idle power over TDP, or `usual` where one of them is not stated.
  [[nodiscard]] double idle_share(double usual) const { return idle && tdp ? *idle / *tdp : usual; }
};

/// A slice into which the device can be divided.
struct PartitionProfile {
  std::string name;
  std::optional<Data<>> memory;
  std::optional<double> units;

  template <class P = PartitionProfile> static constexpr auto fields() {
    return rows(field(&P::name, "name", "", "name of the profile"),
                field(&P::memory, "memory", "GiB", "memory of the slice").positive(),
                field(&P::units, "units", "", "units of the slice").positive());
  }
};

/// One accelerator or processor.
struct HardwareNode {
  std::string name;
  std::string category;
  std::string vendor;
  std::optional<double> release_year;
  double accelerator_count = 1;
  ComputeCore compute;
  MemoryHierarchy memory;
  StorageHierarchy storage;
  IOInterconnect host_link;
  IOInterconnect device_link;
  PowerEnvelope power;
  std::optional<Money<>> unit_cost, unit_cost_max;
  std::string
      rental;  ///< price of the zoo at which one device is rented for an hour; empty where none is known
  std::optional<Carbon<>> embodied_carbon;
  std::optional<double> die_area_mm2;
  std::optional<Time<>> dispatch_overhead;
  SustainedShare<> efficiency;
  PowerDraw<> draw;
  KernelTimes<> kernels;
  Tiles<> tiles;
  CollectiveTimes collectives;
  std::vector<PartitionProfile> partition_profiles;
  const DeviceClass* device_class = nullptr;  ///< class whose values fill absent ones
  const HardwareNode* same_die = nullptr;     ///< device of the same die, on which kernels were measured
  const HardwareNode* part = nullptr;         ///< the device of which an entry for a rack holds many
  const Entry* entry = nullptr;               ///< the zoo's entry, null for a device made by hand

  template <class H = HardwareNode> static constexpr auto fields() {
    return rows(
        field(&H::name, "name", "", "key of the device"),
        field(&H::category, "category", "", "cloud, workstation, mobile, edge or tiny").defaulted("unstated"),
        field(&H::vendor, "vendor", "", "maker").defaulted("unstated"),
        field(&H::release_year, "release_year", "", "year of release").within(1970, 2100),
        field(&H::accelerator_count, "accelerator_count", "", "dies or cards that this entry stands for")
            .at_least(1)
            .defaulted("1"),
        field(&H::compute, "compute", "", "arithmetic units").defaulted("absent"),
        field(&H::memory, "memory", "", "memories").defaulted("absent"),
        field(&H::storage, "storage", "", "local storage").defaulted("absent"),
        field(&H::host_link, "host_link", "", "link to the host").defaulted("absent"),
        field(&H::device_link, "device_link", "", "link between devices").defaulted("absent"),
        field(&H::power, "power", "", "power limits").defaulted("absent"),
        field(&H::unit_cost, "unit_cost", "USD", "price of one device").non_negative(),
        field(&H::unit_cost_max, "unit_cost_max", "USD", "upper end of the price").non_negative(),
        field(&H::rental, "rental", "", "price of the zoo at which one device is rented")
            .defaulted("not known"),
        field(&H::embodied_carbon, "embodied_carbon", "kgCO2e", "greenhouse gases of manufacture")
            .non_negative(),
        field(&H::die_area_mm2, "die_area_mm2", "", "die area in square millimetres").positive(),
        field(&H::dispatch_overhead, "dispatch_overhead", "us", "fixed time of one invocation")
            .non_negative(),
        field(&H::efficiency, "efficiency", "", "sustained shares, measured").defaulted("absent"),
        field(&H::draw, "draw", "", "dynamic power of the full rates").defaulted("absent"),
        field(&H::kernels, "kernels", "", "fixed times of kernels, measured").defaulted("absent"),
        field(&H::tiles, "tiles", "", "how kernels cut their work").defaulted("absent"),
        field(&H::collectives, "collectives", "", "collectives inside a node, measured").defaulted("absent"),
        field(&H::partition_profiles, "partition_profiles", "", "slices of the device").defaulted("absent"),
        field(&H::device_class, "device_class", "", "whose figures stand in for those not stated")
            .defaulted("gpu"),
        field(&H::same_die, "same_die", "", "device of the same die, on which kernels were measured")
            .defaulted("none"),
        field(&H::part, "part", "", "the device of which a rack holds many").defaulted("none"));
  }
};

/// Dense rate of the device at this precision [FLOP/s].
/// @throws LookupError naming device, precision and the precisions it has, when there is none
[[nodiscard]] ComputeRate<> rate_at(const HardwareNode& hardware, Precision precision);

}  // namespace mlsysim
