#pragma once
/// Numeric views: the device, network, model totals and plan as laws and lowering read them.
///
///     sequence_ranks = ep, or ep expert_tp / tp where experts are folded
///     replica = tp pp sequence_ranks cp
///     largest_sequences = ceil(batch / sequence_ranks)
///
/// timing/views.hpp makes a view from specs, in double, and fills absent values there. Members are scalars
/// `T` or quantities over it, so derivatives, ranges and batches reach the zoo's own values. Counts are
/// whole.
/// Example: tp 8, pp 2, ep 4, batch 10: a replica has 64 devices, and a rank at most 3 sequences.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/efficiency.hpp>
#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/specs/links.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/units/quantity.hpp>

#include <memory>

namespace mlsysim {

/// Arithmetic of a device at one precision.
template <class T = double> struct DeviceCompute {
  ComputeRate<T> dense;   ///< peak of the matrix engine
  ComputeRate<T> vector;  ///< peak outside it
  T wide_ratio{1.0};      ///< sustained rate of products that stay at 16 bits, over the others
  T cache_ratio{1.0};     ///< rate of attention in the format of the cache, over the others
  T units{1.0};           ///< units over which tiles are dealt
  T matrix_rows{1.0};     ///< rows to which a narrower product is padded

  static constexpr auto fields() {
    using C = DeviceCompute;
    return rows(
        field(&C::dense, "dense", "TFLOP/s", "dense peak of the matrix engine").positive(),
        field(&C::vector, "vector", "TFLOP/s", "peak outside the matrix engine").positive(),
        field(&C::wide_ratio, "wide_ratio", "", "products that stay at 16 bits over the others")
            .within(0.01, 2),
        field(&C::cache_ratio, "cache_ratio", "", "attention in the format of the cache over the others")
            .within(0.01, 16),
        field(&C::units, "units", "", "units over which tiles are dealt").at_least(1).counted(),
        field(&C::matrix_rows, "matrix_rows", "", "rows to which a narrower product is padded").at_least(1));
  }
};

/// The memory that a model works from.
template <class T = double> struct DeviceMemory {
  Bandwidth<T> bandwidth;
  Data<T> capacity;

  static constexpr auto fields() {
    using M = DeviceMemory;
    return rows(field(&M::bandwidth, "bandwidth", "GB/s", "memory bandwidth").positive(),
                field(&M::capacity, "capacity", "GB", "memory capacity").positive());
  }
};

template <class T = double> struct DeviceHostLink {
  Bandwidth<T> bandwidth;  ///< one way

  static constexpr auto fields() {
    return rows(field(&DeviceHostLink::bandwidth, "bandwidth", "GB/s", "host link, one way").positive());
  }
};

template <class T = double> struct DevicePower {
  Power<T> tdp;

  static constexpr auto fields() {
    return rows(field(&DevicePower::tdp, "tdp", "W", "thermal design power").non_negative());
  }
};

/// Values of Conventions about software and facility of a device, under their names there.
template <class T = double> struct DeviceConventions {
  Data<T> memory_reserve;            ///< memory that the framework and the context hold
  T memory_fragmentation{0.0};       ///< share of the allocated memory that is lost
  Time<T> textbook_layer_overhead;   ///< software time of one layer, where operators are not priced
  T textbook_activation_share{0.0};  ///< activation traffic of a sample over the weights, textbook fidelity
  T gradient_bucket{0.0};            ///< communication buffer over the gradients, textbook fidelity
  T idle_fraction{0.0};              ///< share of TDP drawn when idle

  static constexpr auto fields() {
    using C = DeviceConventions;
    return rows(
        field(&C::memory_reserve, "memory_reserve", "GB", "memory held by framework and context")
            .non_negative(),
        field(&C::memory_fragmentation, "memory_fragmentation", "", "share of memory lost to fragmentation")
            .within(0, 1),
        field(&C::textbook_layer_overhead, "textbook_layer_overhead", "us", "software time of one layer")
            .non_negative(),
        field(&C::textbook_activation_share, "textbook_activation_share", "",
              "activation traffic of a sample over the weights")
            .non_negative(),
        field(&C::gradient_bucket, "gradient_bucket", "", "gradient bucket, as a share of the gradients")
            .within(0, 1),
        field(&C::idle_fraction, "idle_fraction", "", "share of TDP drawn when idle").within(0, 1));
  }
};

/// Shape of the routed experts on a device: how many, and the width of one there.
struct ExpertShape {
  double experts = 0, width = 0;
};

/// Kernels of routed experts for shapes with tuned tiles. See TunedShapes.
template <class T = double> struct TunedExperts {
  T share{1.0}, stream{1.0}, tile{1.0};
  Time<T> launch;

  static constexpr auto fields() {
    using E = TunedExperts;
    return rows(
        field(&E::share, "share", "", "share of the peak of the arithmetic").within(0.01, 1),
        field(&E::stream, "stream", "", "memory rate over that of a stream").within(0.05, 1.5),
        field(&E::tile, "tile", "", "rows of an output tile").at_least(1).counted(),
        field(&E::launch, "launch", "us", "start and end of one kernel of the experts").non_negative());
  }
};

/// Kernels of routed experts, of the family that a runtime names. See ExpertRates.
template <class T = double> struct DeviceExperts {
  T rate_ratio{1.0};        ///< peak of their arithmetic over that of the other products
  T share{1.0};             ///< of that peak
  T stream{1.0};            ///< memory rate over that of a stream
  T tile{1.0};              ///< rows of an output tile
  Time<T> launch;           ///< start and end of one kernel of the layer
  TunedExperts<T> tuned;    ///< for `shapes`
  bool has_family = false;  ///< else as other products
  std::shared_ptr<const std::vector<ExpertShape>> shapes;  ///< with tuned tiles; null: none

  static constexpr auto fields() {
    using E = DeviceExperts;
    return rows(
        field(&E::rate_ratio, "rate_ratio", "", "peak of the experts' arithmetic over that of the others")
            .within(0.01, 16),
        field(&E::share, "share", "", "share of that peak").within(0.01, 1),
        field(&E::stream, "stream", "", "memory rate of the experts' products over that of a stream")
            .within(0.05, 1.5),
        field(&E::tile, "tile", "", "rows of an output tile").at_least(1).counted(),
        field(&E::launch, "launch", "us", "start and end of one kernel of the experts").non_negative(),
        field(&E::tuned, "tuned", "", "for shapes with tuned tiles"));
  }
  static constexpr auto categories() {
    return rows(category(&DeviceExperts::has_family, "has_family", "a runtime names their kernels"),
                category(&DeviceExperts::shapes, "shapes", "with tuned tiles"));
  }
};

/// Kernels of linear attention of one rule on a device. See RecurrenceChain.
struct SettledRecurrence {
  bool known = false, listed = false;  ///< listed: launches state their traffic
  double launches = 1, chunk = 1, columns = 1, states = 0, stream = 1;
  ChainLaunch aside, in_order;  ///< sums over the launches
  Time<> launch, row, step;
  std::string_view family{}, generation{};
};

/// Kernels of linear attention for every rule, for prompts and for steps.
struct SettledRecurrences {
  std::array<std::array<SettledRecurrence, 2>, Choices<Recurrence>::names.size()> of{};
};

/// One device at one precision, each number under its path in the zoo's files. Numbers that a request does
/// not need have a neutral value. At 8 bits and less `efficiency.matrix` is the share of narrow products.
template <class T = double> struct Device {
  DeviceCompute<T> compute;
  DeviceMemory<T> memory;
  DeviceHostLink<T> host_link;
  DevicePower<T> power;
  Time<T> dispatch_overhead;  ///< fixed time of one invocation of the model
  SustainedShare<Numeric<T>> efficiency;
  PowerDraw<Numeric<T>> draw;
  KernelTimes<Numeric<T>> kernels;
  Tiles<Numeric<T>> tiles;
  DeviceExperts<T> experts;
  DeviceConventions<T> conventions;
  std::shared_ptr<const Software> software;               ///< null where kernels are fused
  std::shared_ptr<const SettledRecurrences> recurrences;  ///< null: linear attention streams

  static constexpr auto fields() {
    using D = Device;
    return rows(field(&D::compute, "compute", "", ""), field(&D::memory, "memory", "", ""),
                field(&D::host_link, "host_link", "", ""), field(&D::power, "power", "", ""),
                field(&D::dispatch_overhead, "dispatch_overhead", "us", "fixed time of one invocation")
                    .non_negative(),
                field(&D::efficiency, "efficiency", "", ""), field(&D::draw, "draw", "", ""),
                field(&D::kernels, "kernels", "", ""), field(&D::tiles, "tiles", "", ""),
                field(&D::experts, "experts", "", ""),
                field(&D::conventions, "conventions", "", "").at_top());
  }
  static constexpr auto categories() {
    return rows(category(&Device::software, "software", "how operators become kernels"),
                category(&Device::recurrences, "recurrences", "kernels of linear attention"));
  }
};

/// Published totals of a model, for formulas that know no operators.
template <class T = double> struct Totals {
  Params<T> params;                    ///< all weights
  Params<T> active_params;             ///< weights that one unit of work uses
  Work<T> work;                        ///< arithmetic of one unit of work (a token, a sequence, an image)
  T layers{1.0};                       ///< 1 where unknown
  T width{0.0};                        ///< query heads times head width; 0 where unknown
  T hidden{0.0}, heads{0.0};           ///< 0 where unknown
  T moe_layers{0.0}, top_k{0.0};       ///< layers of experts, and experts of a token
  Params<T> tables;                    ///< of the weights, those in tables of which a sample reads some rows
  T table_rows{0.0}, row_params{0.0};  ///< rows that a sample reads of all tables, and weights of a row

  static constexpr auto fields() {
    using M = Totals;
    return rows(
        field(&M::params, "params", "Gparam", "all weights").non_negative(),
        field(&M::active_params, "active_params", "Gparam", "weights that a unit of work uses")
            .non_negative(),
        field(&M::work, "work", "GFLOP", "arithmetic of a unit of work").non_negative(),
        field(&M::layers, "layers", "", "layers").at_least(1),
        field(&M::width, "width", "", "query heads times head width").non_negative(),
        field(&M::hidden, "hidden", "", "residual width").non_negative(),
        field(&M::heads, "heads", "", "query heads").non_negative(),
        field(&M::moe_layers, "moe_layers", "", "layers with experts").non_negative(),
        field(&M::top_k, "top_k", "", "experts per token").non_negative(),
        field(&M::tables, "tables", "Gparam", "weights in tables that are read by row").non_negative(),
        field(&M::table_rows, "table_rows", "", "rows that a sample reads").non_negative(),
        field(&M::row_params, "row_params", "", "weights of a row").non_negative());
  }
};

/// The division of the work among devices, and the size of one pass.
template <class T = double> struct Plan {
  T tp{1.0}, pp{1.0}, dp{1.0}, ep{1.0}, cp{1.0};
  T expert_tp{1.0};       ///< devices that share one routed expert, where experts are folded
  bool folded = false;    ///< routed experts lie over the tensor-parallel ranks in their own way
  T shards{0.0};          ///< ranks over which ZeRO divides; 0: all that hold the same weights
  T virtual_stages{1.0};  ///< model chunks per device (interleaved schedule)
  T batch{1.0};           ///< sequences of one micro-batch in one replica
  T microbatches{1.0};    ///< micro-batches of one replica and step
  T new_tokens{1.0};      ///< tokens that each sequence adds in this pass
  T context{1.0};         ///< tokens that each sequence holds after this pass
  T encoded{0.0};         ///< tokens that the encoder of each sequence reads; 0: as many as `context`
  DataPerParam<T> weight_bytes, gradient_bytes, state_bytes;  ///< state: master copy and moments
  DataPerParam<T> expert_bytes, edge_bytes;  ///< of a weight of routed experts, and of embedding and head,
                                             ///< where the structure stores them in another way
  Data<T> activation_bytes;                  ///< of one activation value
  Data<T> dispatch_bytes;                    ///< of one on its way to routed experts, with its scales
  Data<T> kv_bytes;                          ///< of one cached value
  Data<T> tower_bytes;                 ///< weights of the towers of a model on all tensor-parallel ranks
  DataPerParam<T> matrix_state_bytes;  ///< the same of a weight matrix inside the blocks
  DataPerParam<T> adapter_bytes;       ///< of one weight of an adapter, where there are adapters
  T trainable{1.0};                    ///< share of the weights that is trained, adapters apart
  T lora_rank{0.0};                    ///< rank of the adapters, where there are any
  T recomputed{1.0};                   ///< share of the blocks to which recomputation applies
  T overlap{0.0};     ///< share of a pass's kernels under which prefetches and gradient traffic can hide
  T tp_overlap{0.0};  ///< share of the tensor-parallel collectives that run piecewise beside their products
  T overlap_slowdown{0.0};  ///< seconds that kernels lose per second of hidden communication
  T offload_weights{0.0}, offload_activations{0.0}, offload_states{0.0};  ///< shares held in host memory
  T offload_gradients{0.0},
      offload_experts{0.0};     ///< shares held in host memory; experts: routed ones, in serving
  T host_rows{0.0};             ///< rows of a pass up to which the host multiplies the weights that it holds
  Bandwidth<T> host_bandwidth;  ///< at which the host reads its memory for one device
  T unpack_rows{0.0};           ///< rows of a product beyond which its weights are widened before it
  Data<T> exchange_bucket;  ///< gradients that wait for each other before they are exchanged; 0: each block
                            ///< by itself
  T congestion{1.0};        ///< slowdown of the exchange over the replicas
  T straggler{1.0};         ///< slowdown of everything by the slowest device
  T rank_imbalance{0.0};    ///< rows of the fullest rank of experts over the mean; 0: as chance makes it
  T routing_spread{0.0};    ///< of the logarithm of an expert's popularity in serving; 0: all alike
  Power<T> power_cap;       ///< that a device may draw, where the structure is capped
  T clock_limit{1.0};       ///< highest clock over the clock that full power sustains, under a power cap

  /// Devices that share one routed expert: those that share the other layers, unless experts are folded.
  [[nodiscard]] T expert_width() const { return folded ? expert_tp : tp; }
  /// Ranks between which a replica's sequences are divided. The ep x expert_tp devices of a layer of experts
  /// are the tp devices of each of these ranks.
  [[nodiscard]] T sequence_ranks() const { return folded ? T(ep * expert_tp / tp) : ep; }
  /// Sequences of the largest micro-batch on one rank. A rank does not divide a sequence.
  [[nodiscard]] T largest_sequences() const { return ceil(T(batch / sequence_ranks())); }
  /// The plan with the largest micro-batch, which memory must hold; `batch` is their mean.
  [[nodiscard]] Plan largest_microbatch() const {
    Plan largest = *this;
    largest.batch = largest_sequences() * sequence_ranks();
    return largest;
  }
  /// Devices of one replica.
  [[nodiscard]] T replica() const { return tp * pp * sequence_ranks() * cp; }

  static constexpr auto fields() {
    using P = Plan;
    return rows(
        field(&P::tp, "tp_size", "", "tensor-parallel degree").at_least(1).at_top(),
        field(&P::pp, "pp_size", "", "pipeline-parallel degree").at_least(1).at_top(),
        field(&P::dp, "dp", "", "data-parallel degree").at_least(1),
        field(&P::ep, "ep_size", "", "expert-parallel degree").at_least(1).at_top(),
        field(&P::cp, "cp_size", "", "context-parallel degree").at_least(1).at_top(),
        field(&P::expert_tp, "expert_tp_size", "", "devices of one routed expert").at_least(1).at_top(),
        field(&P::shards, "shards", "", "ranks over which ZeRO divides, 0 for all").non_negative(),
        field(&P::virtual_stages, "v_stages", "", "model chunks per device").at_least(1).at_top(),
        field(&P::batch, "batch", "", "sequences of a micro-batch").positive(),
        field(&P::microbatches, "microbatches", "", "micro-batches per step").at_least(1),
        field(&P::new_tokens, "new_tokens", "", "tokens added per sequence").positive(),
        field(&P::context, "context", "", "tokens held per sequence").positive(),
        field(&P::encoded, "encoded", "", "tokens that the encoder reads, 0 for as many").non_negative(),
        field(&P::weight_bytes, "weight_bytes", "B/param", "storage of one weight").non_negative(),
        field(&P::expert_bytes, "expert_bytes", "B/param", "storage of a weight of routed experts")
            .non_negative(),
        field(&P::edge_bytes, "edge_bytes", "B/param", "storage of embedding and head").non_negative(),
        field(&P::gradient_bytes, "gradient_bytes", "B/param", "storage of one gradient").non_negative(),
        field(&P::state_bytes, "state_bytes", "B/param", "optimizer state of one weight").non_negative(),
        field(&P::matrix_state_bytes, "matrix_state_bytes", "B/param",
              "optimizer state of one weight of a matrix inside the blocks")
            .non_negative(),
        field(&P::adapter_bytes, "adapter_bytes", "B/param", "storage of one weight of an adapter")
            .non_negative(),
        field(&P::lora_rank, "lora_rank", "", "rank of the adapters").non_negative().at_top(),
        field(&P::activation_bytes, "activation_bytes", "B", "one activation value").non_negative(),
        field(&P::dispatch_bytes, "dispatch_bytes", "B", "one value on its way to routed experts")
            .non_negative(),
        field(&P::kv_bytes, "kv_bytes", "B", "one cached value").non_negative(),
        field(&P::tower_bytes, "tower_bytes", "GB", "weights of towers").non_negative().fixed(),
        field(&P::trainable, "trainable_fraction", "", "trained share of the weights").within(0, 1).at_top(),
        field(&P::recomputed, "recomputed_share", "", "share of blocks that recompute").within(0, 1).at_top(),
        field(&P::overlap, "overlap_efficiency", "", "share of a pass that hides traffic")
            .within(0, 1)
            .at_top(),
        field(&P::tp_overlap, "tp_overlap", "", "share of the tensor-parallel traffic beside products")
            .within(0, 1)
            .at_top(),
        field(&P::overlap_slowdown, "overlap_slowdown", "", "slowdown of kernels beside communication")
            .within(0, 1)
            .at_top(),
        field(&P::offload_weights, "offload_weights", "", "share of the weights in host memory")
            .within(0, 1)
            .at_top(),
        field(&P::offload_activations, "offload_activations", "", "share of the activations in host memory")
            .within(0, 1)
            .at_top(),
        field(&P::offload_states, "offload_states", "", "share of the optimizer states in host memory")
            .within(0, 1)
            .at_top(),
        field(&P::offload_gradients, "offload_gradients", "", "share of the gradients in host memory")
            .within(0, 1)
            .at_top(),
        field(&P::offload_experts, "offload_experts", "", "share of the routed experts in host memory")
            .within(0, 1)
            .at_top(),
        field(&P::host_rows, "host_rows", "", "rows of a pass up to which the host computes").non_negative(),
        field(&P::host_bandwidth, "host_bandwidth", "GB/s", "host memory, for one device").non_negative(),
        field(&P::unpack_rows, "unpack_rows", "", "rows beyond which weights are widened first")
            .non_negative(),
        field(&P::rank_imbalance, "rank_imbalance", "", "rows of the fullest rank of experts over the mean")
            .non_negative(),
        field(&P::routing_spread, "routing_spread", "", "spread of the popularity of experts in serving")
            .within(0, 3),
        field(&P::power_cap, "power_cap", "W", "power that a device may draw").non_negative().at_top(),
        field(&P::clock_limit, "clock_limit", "", "highest clock over that at full power")
            .within(0.05, 1)
            .at_top(),
        field(&P::exchange_bucket, "exchange_bucket", "MB", "gradients exchanged together").non_negative(),
        field(&P::congestion, "congestion_factor", "", "slowdown of the exchange over the replicas")
            .at_least(1)
            .at_top(),
        field(&P::straggler, "straggler_factor", "", "slowdown of everything by the slowest device")
            .at_least(1)
            .at_top());
  }
  static constexpr auto categories() {
    return rows(category(&Plan::folded, "folded", "routed experts lie over the tensor-parallel ranks"));
  }
};

}  // namespace mlsysim
