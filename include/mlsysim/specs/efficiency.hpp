#pragma once
/// Sustained shares of peak rates and fixed times of kernels and collectives: parameters that no data sheet
/// has.
///
///     rate of products     = matrix * dense peak          (matrix_narrow for formats of 8 bits and less)
///     rate of a stream     = memory * memory bandwidth
///     bytes of a product   move at product_stream * memory * memory bandwidth
///
/// Each parameter belongs to a device and a class of operators, never to a model or a shape. A device states
/// those that were measured on it. Others come from its part or its class, see timing/fill.hpp. Over
/// `Numeric<T>` these tables are the inputs of laws, so a row added here reaches files, Python, sweeps and
/// laws at once.
/// Example: a share `memory` of 0.9 on an H100 with 3.35 TB/s sustains 3.02 TB/s.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/hold.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>

namespace mlsysim {

/// Shares of the data-sheet rates that well-tuned kernels sustain.
template <class H = Stated> struct SustainedShare {
  typename H::number matrix = H::from(1);         ///< products of 16 bits and wider, sustained without limit
  typename H::number matrix_narrow = H::from(1);  ///< products of 8 bits and narrower
  typename H::number grouped = H::from(1);    ///< grouped products of experts over one product of equal work
  typename H::number attention = H::from(1);  ///< products inside fused attention, softmax apart
  typename H::number attention_backward = H::from(1);  ///< rate of backward attention over forward attention
  typename H::number flash2 = H::from(1);              ///< rate of FlashAttention-2 over the present kernels
  typename H::number flash1 = H::from(1);              ///< rate of the first FlashAttention over the second
  typename H::number vector = H::from(1);              ///< element-wise kernels, of the vector rate
  typename H::number memory = H::from(1), link = H::from(1);
  /// Rates at which products and attention move their bytes, over that of a stream.
  typename H::number product_stream = H::from(1), product_stream_narrow = H::from(1),
                     product_stream_four = H::from(1), attention_stream = H::from(1),
                     latent_stream = H::from(1);
  typename H::number burst = H::from(0);  ///< gain of short work over the sustained matrix rate
  typename H::template quantity<dim::time> burst_time =
      H::template quantity_from<dim::time>(1);  ///< matrix work after which half of the gain is left

  static constexpr auto fields() {
    using E = SustainedShare;
    return rows(
        field(&E::matrix, "matrix", "", "share of the dense matrix rate, for ever").within(0.001, 1),
        field(&E::matrix_narrow, "matrix_narrow", "", "the same for formats of 8 bits and less")
            .within(0.001, 1),
        field(&E::grouped, "grouped", "", "rate of the grouped products of experts over that of one product")
            .within(0.05, 1),
        field(&E::attention, "attention", "", "share of the matrix rate in fused attention, softmax apart")
            .within(0.001, 1),
        field(&E::attention_backward, "attention_backward", "",
              "rate of the backward pass of fused attention over the forward pass")
            .within(0.1, 1),
        field(&E::flash2, "flash2", "", "rate of fused attention of 2023 over the present one")
            .within(0.1, 1),
        field(&E::flash1, "flash1", "", "rate of the first fused attention over that of 2023").within(0.1, 1),
        field(&E::vector, "vector", "", "share of the vector rate, element by element").within(0.001, 1),
        field(&E::memory, "memory", "", "share of the memory bandwidth").within(0.001, 1),
        field(&E::link, "link", "", "share of the link bandwidth").within(0.001, 1),
        field(&E::product_stream, "product_stream", "", "memory rate of a product over that of a stream")
            .within(0.1, 1.5),
        field(&E::product_stream_narrow, "product_stream_narrow", "", "the same for formats of 8 bits")
            .within(0.1, 1.5),
        field(&E::product_stream_four, "product_stream_four", "", "the same for formats of 4 bits")
            .within(0.1, 1.5),
        field(&E::attention_stream, "attention_stream", "",
              "memory rate of fused attention over that of a stream")
            .within(0.1, 1.5),
        field(&E::latent_stream, "latent_stream", "", "the same of attention on latents").within(0.1, 1.5),
        field(&E::burst, "burst", "", "gain of short matrix work over the sustained rate").within(0, 1),
        field(&E::burst_time, "burst_time", "ms", "matrix work after which half of the gain is left")
            .positive());
  }
};

/// Dynamic power at full rates, relative to the range from idle to full power. See OperatorLoad.
template <class H = Stated> struct PowerDraw {
  typename H::number work = H::from(0), traffic = H::from(0), resident = H::from(0);

  static constexpr auto fields() {
    using P = PowerDraw;
    return rows(field(&P::work, "work", "",
                      "dynamic power of the full matrix rate over what lies between idle and full power")
                    .within(0, 20),
                field(&P::traffic, "traffic", "", "the same of the full memory bandwidth").within(0, 5),
                field(&P::resident, "resident", "", "the same of a kernel, whatever it computes or moves")
                    .within(0, 5));
  }
};

/// Fixed times of kernels. See MatmulTime and AttentionTime.
template <class H = Stated> struct KernelTimes {
  typename H::template quantity<dim::time> launch{}, wave{}, split{};
  typename H::template quantity<dim::time> attention_launch{}, attention_block{}, attention_rows{},
      attention_split{};
  typename H::template quantity<dim::time> attention_step{};                ///< least time of a step of keys
  typename H::template quantity<dim::time> prompt_block{}, prompt_rows{};   ///< of blocks of several tokens
  typename H::template quantity<dim::time> latent_block{}, latent_split{};  ///< on latents (MLA)
  typename H::template quantity<dim::time> chosen_block{}, chosen_step{};  ///< on latents that an index chose
  typename H::template quantity<dim::time> search{};                       ///< of the highest values of a row
  typename H::template quantity<dim::time> issue{};  ///< host time to launch one kernel without a graph

  static constexpr auto fields() {
    using K = KernelTimes;
    return rows(
        field(&K::launch, "launch", "us", "start and end of one kernel, back to back").non_negative(),
        field(&K::wave, "wave", "us", "start and end of an output tile").non_negative().of_each_unit(),
        field(&K::split, "split", "us", "adding up the parts of a product whose depth is split")
            .non_negative(),
        field(&K::attention_launch, "attention_launch", "us", "start and end of one attention call")
            .non_negative(),
        field(&K::attention_block, "attention_block", "us", "fixed time of a block of queries")
            .non_negative()
            .of_each_unit(),
        field(&K::attention_rows, "attention_rows", "us", "rows of a full block, in and out")
            .non_negative()
            .of_each_unit(),
        field(&K::attention_split, "attention_split", "us", "adding up the parts of split keys")
            .non_negative()
            .of_each_unit(),
        field(&K::attention_step, "attention_step", "us", "least time of a step of 64 KiB of keys and values")
            .non_negative()
            .of_each_unit(),
        field(&K::prompt_block, "prompt_block", "us", "attention_block where a sequence has several queries")
            .non_negative()
            .of_each_unit(),
        field(&K::prompt_rows, "prompt_rows", "us", "attention_rows where a sequence has several queries")
            .non_negative()
            .of_each_unit(),
        field(&K::latent_block, "latent_block", "us", "fixed time of a block of attention on latents")
            .non_negative()
            .of_each_unit(),
        field(&K::latent_split, "latent_split", "us", "attention_split of attention on latents")
            .non_negative()
            .of_each_unit(),
        field(&K::chosen_block, "chosen_block", "us", "latent_block where each token chose its entries")
            .non_negative()
            .of_each_unit(),
        field(&K::chosen_step, "chosen_step", "us", "least time of a step of 128 chosen entries")
            .non_negative()
            .of_each_unit(),
        field(&K::search, "search", "us", "search of a row for its highest values")
            .non_negative()
            .of_each_unit(),
        field(&K::issue, "issue", "us", "host time to launch one kernel without a graph; 0 in one")
            .non_negative());
  }
};

/// How kernels cut products and attention for the units of a device.
template <class H = Stated> struct Tiles {
  typename H::number tile_m = H::from(1), tile_n = H::from(1);  ///< output tile of a matrix product
  typename H::number split_depth = H::from(1);    ///< least depth of a part where a depth is split
  typename H::number four_bit_tile = H::from(1);  ///< rows and columns of a tile, formats of 4 bits
  typename H::number attention_tile = H::from(1);
  typename H::number prompt_tile = H::from(1);   ///< query rows of a block where a sequence has several
  typename H::number prompt_group = H::from(1);  ///< heads of a group that such a block takes at most
  typename H::template quantity<dim::work> softmax_work{};  ///< of one query-key pair

  static constexpr auto fields() {
    using S = Tiles;
    return rows(
        field(&S::tile_m, "tile_m", "", "rows of an output tile").at_least(1).counted().of_each_unit(),
        field(&S::tile_n, "tile_n", "", "columns of an output tile").at_least(1).counted().of_each_unit(),
        field(&S::split_depth, "split_depth", "", "least depth of a part of a split product").at_least(1),
        field(&S::attention_tile, "attention_tile", "", "rows of queries, and keys, of one attention step")
            .at_least(1),
        field(&S::four_bit_tile, "four_bit_tile", "",
              "rows and columns of an output tile, and rows of an instruction, in formats of 4 bits")
            .at_least(1)
            .counted()
            .of_each_unit(),
        field(&S::prompt_tile, "prompt_tile", "", "rows of a block where a sequence has several queries")
            .at_least(1),
        field(&S::prompt_group, "prompt_group", "",
              "query heads of a group that a block takes at most where a sequence has several queries")
            .at_least(1),
        field(&S::softmax_work, "softmax_work", "FLOP", "softmax of one pair, in vector operations")
            .non_negative());
  }
};

/// Times and link shares of library collectives inside a node. See ProtocolRing and its neighbors.
struct CollectiveTimes {
  std::optional<Time<>> launch, hop, sync, switch_start, direct_start, direct_hop, direct_second;
  std::optional<double> low_latency_share, copy_ratio, switch_share, pair_share, direct_share, direct_rows;

  template <class C = CollectiveTimes> static constexpr auto fields() {
    return rows(
        field(&C::launch, "launch", "us", "start and end of one collective").non_negative(),
        field(&C::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
        field(&C::sync, "sync", "us", "start of the bulk protocol").non_negative(),
        field(&C::low_latency_share, "low_latency_share", "", "share of the link, low-latency protocol")
            .within(0.001, 1),
        field(&C::copy_ratio, "copy_ratio", "", "local copy rate over link bandwidth").positive(),
        field(&C::switch_start, "switch_start", "us", "start of a reduction in the switch").non_negative(),
        field(&C::switch_share, "switch_share", "", "share of the link, reduction in the switch; 0: none")
            .within(0, 1),
        field(&C::pair_share, "pair_share", "", "share of the link to one peer, low-latency all-to-all")
            .within(0.0001, 1),
        field(&C::direct_start, "direct_start", "us", "start of an engine's one-shot all-reduce")
            .non_negative(),
        field(&C::direct_hop, "direct_hop", "us", "each further rank of it").non_negative(),
        field(&C::direct_second, "direct_second", "us", "its second phase, where it has two").non_negative(),
        field(&C::direct_share, "direct_share", "", "share of the link that it sustains").within(0.001, 1),
        field(&C::direct_rows, "direct_rows", "",
              "rows of a pass up to which it takes one shot, however long")
            .non_negative());
  }
};

}  // namespace mlsysim
