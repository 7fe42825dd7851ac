#pragma once
/// A family of kernels: the kernels of a library, framework or engine, with constants for each generation of
/// chips.
///
///     time = (floor + switch_cycles) / clock + bytes / (share bandwidth)      for a small kernel
///
/// floor, switch_cycles: cycles of the device's clock. share: of the memory bandwidth.
/// A kind of kernel that a family does not state comes from the family that it `extends`. Cycles and shares
/// are carried unchanged to other generations than the measured one.
/// Example: floor 2600 and switch_cycles 1200 at 1.98 GHz make 1.92 us before any byte moves.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

struct Entry;
struct KernelFamily;
template <> struct ObjectType<KernelFamily> { static constexpr std::string_view name = "kernel_family"; };

/// Kernels of one kind: the cycles of the smallest one, and the share of the bandwidth that large ones reach.
struct KernelRate {
  std::optional<double> floor, share, unit_bytes;

  template <class K = KernelRate> static constexpr auto fields() {
    return rows(
        field(&K::floor, "floor", "", "cycles of the device's clock that the smallest one takes")
            .non_negative(),
        field(&K::share, "share", "", "share of the memory bandwidth that large ones reach").within(0.01, 1),
        field(&K::unit_bytes, "unit_bytes", "", "bytes that a unit moves in a cycle, at most").positive());
  }
};

/// Convolutions as implicit products. See ConvolutionTime.
struct ConvolutionRates {
  std::optional<double> matrix, vector, tile_m, tile_n, group_n, depth_step, memory, floor, wave, split,
      split_depth;

  template <class C = ConvolutionRates> static constexpr auto fields() {
    return rows(
        field(&C::matrix, "matrix", "", "share of what a large product sustains, 16 bits and less")
            .within(0.01, 1),
        field(&C::vector, "vector", "", "share of the dense peak in fp32").within(0.01, 1),
        field(&C::tile_m, "tile_m", "", "output pixels of a tile").at_least(1),
        field(&C::tile_n, "tile_n", "", "output channels of a tile").at_least(1),
        field(&C::group_n, "group_n", "", "least output channels of a tile of a grouped convolution")
            .at_least(1),
        field(&C::depth_step, "depth_step", "", "depth to which a receptive field is padded").at_least(1),
        field(&C::memory, "memory", "", "share of the memory bandwidth").within(0.01, 1),
        field(&C::floor, "floor", "", "cycles of the smallest one").non_negative(),
        field(&C::wave, "wave", "", "cycles of the start and end of a tile").non_negative(),
        field(&C::split, "split", "", "cycles of the kernel that adds up a divided depth").non_negative(),
        field(&C::split_depth, "split_depth", "", "least depth of a part").at_least(1));
  }
};

/// The routed experts of one layer on one generation of chips: choice, order, both products, activation, sum.
/// See expert_product_cost in timing/op_price.hpp.
struct ExpertRates {
  const DeviceClass* generation = nullptr;
  WeightFormat format = WeightFormat::bf16;  ///< in which the experts are stored
  Precision multiplies = Precision::bf16;    ///< in which they are multiplied
  bool tuned = false;                        ///< for shapes that the family has tuned tiles for
  Time<> floor{};
  double share = 1, stream = 1, tile = 64;

  template <class E = ExpertRates> static constexpr auto fields() {
    return rows(field(&E::generation, "generation", "", "class of the devices"),
                field(&E::format, "format", "", "in which the experts are stored"),
                field(&E::multiplies, "multiplies", "", "format of the arithmetic"),
                field(&E::tuned, "tuned", "", "of shapes with tuned tiles, see TunedShapes")
                    .defaulted("of all others"),
                field(&E::floor, "floor", "us", "of the smallest layer, all its kernels, replayed by itself")
                    .non_negative(),
                field(&E::share, "share", "", "share of the peak of that arithmetic").within(0.01, 1),
                field(&E::stream, "stream", "", "memory rate of the products over that of a stream")
                    .within(0.05, 1.5),
                field(&E::tile, "tile", "", "rows of an output tile").at_least(1).counted());
  }
};

/// Shapes of a layer of routed experts for which a library ships tiles tuned on one device: experts that a
/// device holds, and widths of one of them there. All others run with one default tile.
struct TunedShapes {
  const HardwareNode* device = nullptr;
  WeightFormat format = WeightFormat::bf16;  ///< in which the experts are stored
  double experts = 0;
  std::vector<double> widths{};

  template <class S = TunedShapes> static constexpr auto fields() {
    return rows(field(&S::device, "device", "", "on which they were tuned"),
                field(&S::format, "format", "", "in which the experts are stored"),
                field(&S::experts, "experts", "", "experts that a device holds").at_least(1).counted(),
                field(&S::widths, "widths", "", "of one expert on a device"));
  }
};

/// Dense products on one generation of chips in one format of arithmetic.
struct ProductRates {
  const DeviceClass* generation = nullptr;
  Precision multiplies = Precision::bf16;
  double share = 1, stream = 1;
  std::optional<double> unit_bytes{};  ///< that a unit of the device reads in a cycle of its clock at most

  template <class P = ProductRates> static constexpr auto fields() {
    return rows(field(&P::generation, "generation", "", "class of the devices"),
                field(&P::multiplies, "multiplies", "", "format of the arithmetic"),
                field(&P::share, "share", "", "share of the peak of that arithmetic").within(0.01, 1),
                field(&P::stream, "stream", "", "memory rate of the products over that of a stream")
                    .within(0.05, 1.5),
                field(&P::unit_bytes, "unit_bytes", "",
                      "bytes that a unit of the device reads in a cycle of its clock at most")
                    .positive());
  }
};

/// One launch of a chain of linear attention: arrays that it reads and writes, each of a 16-bit value for a
/// token and place.
struct ChainLaunch {
  std::string name;
  double keys = 0, wide_keys = 0, values = 0, squares = 0, cells = 0;
  bool in_order = false;

  template <class L = ChainLaunch> static constexpr auto fields() {
    return rows(
        field(&L::name, "name", "", "what it computes"),
        field(&L::keys, "keys", "", "arrays as wide as a key, one for each key head")
            .non_negative()
            .defaulted("none"),
        field(&L::wide_keys, "wide_keys", "", "as wide as a key, one for each value head")
            .non_negative()
            .defaulted("none"),
        field(&L::values, "values", "", "as wide as a value").non_negative().defaulted("none"),
        field(&L::squares, "squares", "", "as wide as a chunk, one for each value head")
            .non_negative()
            .defaulted("none"),
        field(&L::cells, "cells", "", "states, one for each chunk and value head")
            .non_negative()
            .defaulted("none"),
        field(&L::in_order, "in_order", "", "passes from chunk to chunk").defaulted("all chunks at once"));
  }
};

/// Constants of a chain of linear attention on one generation of chips, times in cycles of the device's
/// clock.
struct RecurrenceRates {
  const DeviceClass* generation = nullptr;
  double launch = 0, row = 0, step = 0, stream = 1, states = 0;

  template <class R = RecurrenceRates> static constexpr auto fields() {
    return rows(
        field(&R::generation, "generation", "", "class of the devices"),
        field(&R::launch, "launch", "", "cycles of a launch with hardly any work").non_negative(),
        field(&R::row, "row", "", "cycles of a token of the first chunk: rows of a triangular solve")
            .non_negative()
            .defaulted("none"),
        field(&R::step, "step", "", "cycles in which the state passes one chunk")
            .non_negative()
            .defaulted("none"),
        field(&R::stream, "stream", "", "memory rate of the chain over that of a stream").within(0.05, 1.5),
        field(&R::states, "states", "", "times that the state of a sequence crosses the memory")
            .non_negative()
            .defaulted("none"));
  }
};

/// Kernels of linear attention of one rule: the convolution, prompts or steps. See RecurrenceTime.
struct RecurrenceChain {
  Recurrence rule = Recurrence::none;
  bool decoding = false;
  double chunk = 1, columns = 128;
  std::vector<ChainLaunch> launches{};
  std::vector<RecurrenceRates> rates{};

  template <class C = RecurrenceChain> static constexpr auto fields() {
    return rows(
        field(&C::rule, "rule", "", "the convolution, or the rule of the state"),
        field(&C::decoding, "decoding", "", "steps of decoding").defaulted("prompts"),
        field(&C::chunk, "chunk", "", "tokens of a chunk; a sequence is padded to whole ones")
            .at_least(1)
            .counted()
            .defaulted("no chunks"),
        field(&C::columns, "columns", "", "columns of a state in one block")
            .at_least(1)
            .counted()
            .defaulted("128"),
        field(&C::launches, "launches", "", "launches of the chain")
            .defaulted(
                "of the family that it extends; one, with the traffic of the operator, where that has none"),
        field(&C::rates, "rates", "", "constants by generation; the first that fits"));
  }
};

/// Constants of products, attention or collectives under the paths of a device's figures. They hold on a
/// generation of chips; without one, on single devices.
struct GenerationConstants {
  const DeviceClass* generation = nullptr;
  std::vector<std::string> devices;  ///< on which they were measured
  SustainedShare<> efficiency;
  KernelTimes<> kernels;
  Tiles<> tiles;
  CollectiveTimes collectives;
  std::vector<FigureRule> rules;

  template <class G = GenerationConstants> static constexpr auto fields() {
    return rows(
        field(&G::generation, "generation", "", "class of the devices").defaulted("the devices alone"),
        field(&G::devices, "devices", "", "on which they were measured").defaulted("none"),
        field(&G::efficiency, "efficiency", "", "sustained shares").defaulted("absent"),
        field(&G::kernels, "kernels", "", "fixed times of kernels").defaulted("absent"),
        field(&G::tiles, "tiles", "", "how kernels cut their work").defaulted("absent"),
        field(&G::collectives, "collectives", "", "collectives inside a node").defaulted("absent"),
        field(&G::rules, "rules", "", "constants that follow from figures of the device").defaulted("none"));
  }
};

/// A family of kernels with its constants.
struct KernelFamily {
  std::string name;
  const KernelFamily* extends = nullptr;
  KernelRate elementwise, strided, copy, concatenate, gather, norm, layer_norm, norm_backward, batch_norm,
      batch_norm_training, reduce, softmax, sort, pool, fused;
  std::optional<double> switch_cycles, cached_reads, register_row;
  std::optional<Time<>> gap;
  ConvolutionRates convolution;
  std::vector<ExpertRates> experts{};
  std::vector<TunedShapes> tuned{};
  std::vector<GenerationConstants> generations{};
  std::optional<double> carried;  ///< factor within which they hold on another device of a generation
  std::vector<ProductRates> products{};
  std::vector<RecurrenceChain> recurrences{};
  const Entry* entry = nullptr;

  template <class K = KernelFamily> static constexpr auto fields() {
    return rows(
        field(&K::name, "name", "", "key of the family"),
        field(&K::extends, "extends", "", "family whose constants hold where none are stated")
            .defaulted("none"),
        field(&K::elementwise, "elementwise", "", "whole arrays, value by value").defaulted("absent"),
        field(&K::strided, "strided", "", "views that are not contiguous, and broadcasts")
            .defaulted("absent"),
        field(&K::copy, "copy", "", "copies of whole arrays").defaulted("absent"),
        field(&K::concatenate, "concatenate", "", "two arrays into one").defaulted("absent"),
        field(&K::gather, "gather", "", "rows of a table").defaulted("absent"),
        field(&K::norm, "norm", "", "root mean square norms").defaulted("absent"),
        field(&K::layer_norm, "layer_norm", "", "layer norms").defaulted("absent"),
        field(&K::norm_backward, "norm_backward", "", "gradients of norms").defaulted("absent"),
        field(&K::batch_norm_training, "batch_norm_training", "",
              "batch norms with the statistics of the batch")
            .defaulted("absent"),
        field(&K::batch_norm, "batch_norm", "", "batch norms with fixed statistics").defaulted("absent"),
        field(&K::reduce, "reduce", "", "sums and maxima").defaulted("absent"),
        field(&K::softmax, "softmax", "", "softmax over rows longer than register_row").defaulted("absent"),
        field(&K::sort, "sort", "", "sorting, top-k and scans").defaulted("absent"),
        field(&K::pool, "pool", "", "pooling over windows").defaulted("absent"),
        field(&K::fused, "fused", "", "generated kernels that do the work of a chain").defaulted("absent"),
        field(&K::switch_cycles, "switch_cycles", "",
              "cycles that a kernel takes longer after another one than after itself")
            .non_negative(),
        field(&K::cached_reads, "cached_reads", "",
              "part of the reads that costs nothing where the array fits half of the L2 cache")
            .within(0, 1),
        field(&K::register_row, "register_row", "", "values of a row that softmax keeps in registers")
            .at_least(1),
        field(&K::gap, "gap", "us", "time that a kernel takes longer outside a captured graph")
            .non_negative(),
        field(&K::convolution, "convolution", "", "convolutions").defaulted("absent"),
        field(&K::products, "products", "", "dense products").defaulted("absent"),
        field(&K::recurrences, "recurrences", "", "linear attention").defaulted("absent"),
        field(&K::experts, "experts", "", "routed experts of a layer, by generation and format")
            .defaulted("none"),
        field(&K::tuned, "tuned", "", "shapes of experts with tuned tiles").defaulted("none"),
        field(&K::generations, "generations", "", "constants by generation and device").defaulted("none"),
        field(&K::carried, "carried", "",
              "factor within which a constant holds on a device of the generation that was not measured")
            .at_least(1));
  }
};

/// Whether constants were measured on a device or on one of the same die. False for a device made by hand.
[[nodiscard]] bool measured_on(const GenerationConstants& constants, const HardwareNode& device);

}  // namespace mlsysim
