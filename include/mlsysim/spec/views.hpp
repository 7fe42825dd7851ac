#pragma once
/// Numeric views: what the laws and the lowering see of a device, a network, a model and a plan.
///
/// A view is made once from specs, in double (spec/make_views.hpp): names are looked up and missing values
/// settled there. Every member is a scalar `T` or a quantity over it, so derivatives, ranges and batches
/// reach the zoo's own figures. Counts are `T` with integral values.

#include <mlsysim/table/field.hpp>
#include <mlsysim/units/quantity.hpp>

namespace mlsysim {

/// One device at one precision.
template <class T = double> struct Device {
  ComputeRate<T> matrix_rate;  ///< dense peak of the matrix engine
  ComputeRate<T> vector_rate;  ///< peak outside it
  T matrix_share{1.0};         ///< share of the matrix peak that a large product sustains
  T wide_ratio{1.0};           ///< what products that stay at 16 bits sustain, over the others
  T vector_share{1.0};         ///< share of the vector peak that element-wise kernels sustain
  T attention_share{1.0};      ///< share of the matrix peak that a fused attention kernel sustains
  T attention_backward{1.0};   ///< rate of its backward pass over that of the forward pass
  T memory_share{1.0};         ///< share of the memory bandwidth that a long stream sustains
  Bandwidth<T> memory_bandwidth;
  Data<T> memory_capacity;
  Data<T> reserve;               ///< memory that the framework and the context hold
  T fragmentation{0.0};          ///< share of the allocated memory that is lost to fragmentation
  T units{1.0};                  ///< units over which tiles are dealt
  T tile_m{64.0}, tile_n{64.0};  ///< output tile of a matrix product
  T matrix_rows{16.0};           ///< rows to which a narrower product is padded
  T split_depth{64.0};           ///< least depth of a part where the depth of a product is split
  T attention_tile{128.0};       ///< rows of queries, and keys, of one step of attention
  T burst{0.0};                  ///< gain of short matrix work over the sustained rate
  Time<T> burst_time = Time<T>::from_base(T{1.0});  ///< matrix work after which half of the gain is left
  Work<T> softmax_work;                             ///< softmax of one query-key pair, in vector operations
  Time<T> launch;                                   ///< start and end of one kernel
  Time<T> wave, split;                              ///< start and end of a tile; adding up split parts
  Time<T> attention_launch, attention_block, attention_rows, attention_split;
  Time<T> issue;                ///< host time to launch one kernel; 0 in a captured graph
  Time<T> dispatch;             ///< fixed time of one invocation of the model
  Time<T> layer_overhead;       ///< software time of one layer, where operators are not priced one by one
  T activation_share{0.0};      ///< activation traffic of a sample over the weights, likewise
  T gradient_bucket{0.0};       ///< gradient bucket of the collectives, as a share of the gradients, likewise
  Bandwidth<T> host_bandwidth;  ///< one way
  Power<T> tdp;
  T idle_fraction{0.0};  ///< share of TDP drawn when idle

  static constexpr auto fields() {
    using D = Device;
    return rows(
        field(&D::matrix_rate, "matrix_rate", "TFLOP/s", "dense peak of the matrix engine").positive(),
        field(&D::vector_rate, "vector_rate", "TFLOP/s", "peak outside the matrix engine").positive(),
        field(&D::matrix_share, "matrix_share", "", "sustained share of the matrix peak").within(0.001, 1),
        field(&D::wide_ratio, "wide_ratio", "", "products that stay at 16 bits over the others")
            .within(0.01, 2),
        field(&D::vector_share, "vector_share", "", "sustained share of the vector peak").within(0.001, 1),
        field(&D::attention_share, "attention_share", "", "share of the matrix peak in fused attention")
            .within(0.001, 1),
        field(&D::attention_backward, "attention_backward", "",
              "rate of its backward pass over the forward one")
            .within(0.1, 1),
        field(&D::memory_share, "memory_share", "", "sustained share of the memory bandwidth")
            .within(0.001, 1),
        field(&D::memory_bandwidth, "memory_bandwidth", "GB/s", "memory bandwidth").positive(),
        field(&D::memory_capacity, "memory_capacity", "GB", "memory capacity").positive(),
        field(&D::reserve, "reserve", "GB", "memory held by framework and context").non_negative(),
        field(&D::fragmentation, "fragmentation", "", "share of memory lost to fragmentation").within(0, 1),
        field(&D::units, "units", "", "units over which tiles are dealt").at_least(1),
        field(&D::tile_m, "tile_m", "", "rows of an output tile").at_least(1),
        field(&D::tile_n, "tile_n", "", "columns of an output tile").at_least(1),
        field(&D::matrix_rows, "matrix_rows", "", "rows to which a narrower product is padded").at_least(1),
        field(&D::split_depth, "split_depth", "", "least depth of a part of a split product").at_least(1),
        field(&D::attention_tile, "attention_tile", "", "rows of queries, and keys, of one attention step")
            .at_least(1),
        field(&D::burst, "burst", "", "gain of short matrix work over the sustained rate").within(0, 1),
        field(&D::burst_time, "burst_time", "ms", "matrix work after which half of it is left").positive(),
        field(&D::softmax_work, "softmax_work", "FLOP", "softmax of one pair, in vector operations")
            .non_negative(),
        field(&D::launch, "launch", "us", "start and end of one kernel").non_negative(),
        field(&D::wave, "wave", "us", "start and end of an output tile").non_negative(),
        field(&D::split, "split", "us", "adding up the parts of a split product").non_negative(),
        field(&D::attention_launch, "attention_launch", "us", "start and end of one attention call")
            .non_negative(),
        field(&D::attention_block, "attention_block", "us", "fixed time of a block of queries")
            .non_negative(),
        field(&D::attention_rows, "attention_rows", "us", "rows of a full block, in and out").non_negative(),
        field(&D::attention_split, "attention_split", "us", "adding up the parts of split keys")
            .non_negative(),
        field(&D::issue, "issue", "us", "host time to launch one kernel; 0 in a graph").non_negative(),
        field(&D::dispatch, "dispatch", "us", "fixed time of one invocation").non_negative(),
        field(&D::layer_overhead, "layer_overhead", "us", "software time of one layer").non_negative(),
        field(&D::activation_share, "activation_share", "", "activation traffic of a sample over the weights")
            .non_negative(),
        field(&D::gradient_bucket, "gradient_bucket", "", "gradient bucket, as a share of the gradients")
            .within(0, 1),
        field(&D::host_bandwidth, "host_bandwidth", "GB/s", "host link, one way").positive(),
        field(&D::tdp, "tdp", "W", "thermal design power").non_negative(),
        field(&D::idle_fraction, "idle_fraction", "", "share of TDP drawn when idle").within(0, 1));
  }
};

/// The two levels of network that a device sees. Bandwidths are one way, per device.
template <class T = double> struct Links {
  T per_node{1.0};  ///< devices that share the inner level
  Bandwidth<T> intra_bandwidth, inter_bandwidth;
  Time<T> intra_latency, inter_latency;
  T share{1.0};               ///< share of the bandwidth that a long message sustains
  T peers{1.0};               ///< peers among which the inner links are divided, one each; 1 behind a switch
  Time<T> launch, hop, sync;  ///< one collective; one low-latency step; start of the bulk protocol
  T low_latency_share{1.0};   ///< share of the inner link that the low-latency protocol sustains
  T copy_ratio{2.5};          ///< local copy rate over inner bandwidth
  Time<T> switch_start;       ///< reduction in the switch
  T switch_share{0.0};        ///< ... share of the inner link; 0 where the switch cannot reduce
  T pair_share{1.0};          ///< share of the inner link to one peer, low-latency all-to-all
  T direct{0.0};              ///< 1 where an engine brings its own all-reduce kernels
  Time<T> direct_start, direct_hop, direct_second;
  T direct_share{1.0};

  static constexpr auto fields() {
    using L = Links;
    return rows(
        field(&L::per_node, "per_node", "", "devices in one node").at_least(1),
        field(&L::intra_bandwidth, "intra_bandwidth", "GB/s", "inside a node, one way").positive(),
        field(&L::inter_bandwidth, "inter_bandwidth", "GB/s", "between nodes, one way").positive(),
        field(&L::intra_latency, "intra_latency", "us", "start-up inside a node").non_negative(),
        field(&L::inter_latency, "inter_latency", "us", "start-up between nodes").non_negative(),
        field(&L::share, "share", "", "sustained share of the bandwidth").within(0.001, 1),
        field(&L::peers, "peers", "", "peers of a full mesh; 1 behind a switch").at_least(1),
        field(&L::launch, "launch", "us", "start and end of one collective").non_negative(),
        field(&L::hop, "hop", "us", "one step of the low-latency protocol").non_negative(),
        field(&L::sync, "sync", "us", "start of the bulk protocol").non_negative(),
        field(&L::low_latency_share, "low_latency_share", "", "share of the inner link, low-latency protocol")
            .within(0.001, 1),
        field(&L::copy_ratio, "copy_ratio", "", "local copy rate over inner bandwidth").positive(),
        field(&L::switch_start, "switch_start", "us", "start of a reduction in the switch").non_negative(),
        field(&L::switch_share, "switch_share", "", "share of the inner link, reduction in the switch")
            .within(0, 1),
        field(&L::pair_share, "pair_share", "", "share of the inner link to one peer").within(0.0001, 1),
        field(&L::direct, "direct", "", "1 with an engine's own all-reduce").within(0, 1),
        field(&L::direct_start, "direct_start", "us", "start of an engine's all-reduce").non_negative(),
        field(&L::direct_hop, "direct_hop", "us", "each further rank of it").non_negative(),
        field(&L::direct_second, "direct_second", "us", "its second phase").non_negative(),
        field(&L::direct_share, "direct_share", "", "share of the inner link that it sustains")
            .within(0.001, 1));
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

/// How the work is divided and what one pass processes.
template <class T = double> struct Plan {
  T tp{1.0}, pp{1.0}, dp{1.0}, ep{1.0}, cp{1.0};
  T shards{0.0};          ///< ranks over which ZeRO divides; 0: all that hold the same weights
  T virtual_stages{1.0};  ///< model chunks per device (interleaved schedule)
  T batch{1.0};           ///< sequences of one micro-batch in one replica
  T microbatches{1.0};    ///< micro-batches of one replica and step
  T new_tokens{1.0};      ///< tokens that each sequence adds in this pass
  T context{1.0};         ///< tokens that each sequence holds after this pass
  DataPerParam<T> weight_bytes, gradient_bytes, state_bytes;  ///< state: master copy and moments
  Data<T> activation_bytes;                                   ///< of one activation value
  Data<T> kv_bytes;                                           ///< of one cached value
  T trainable{1.0};                                           ///< share of the weights that is trained
  T recomputed{1.0};  ///< share of the blocks to which recomputation applies
  T overlap{0.0};     ///< share of a pass's kernels under which prefetches and gradient traffic can hide
  T tp_overlap{0.0};  ///< share of the tensor-parallel collectives that run piecewise beside their products
  T steal{0.0};       ///< time by which a hidden second of communication slows the kernels beside it
  T offload_weights{0.0}, offload_activations{0.0}, offload_states{0.0};  ///< shares held in host memory
  Data<T> exchange_bucket;  ///< gradients that wait for each other before they are exchanged; 0: each block
                            ///< by itself
  T congestion{1.0};        ///< slowdown of the exchange over the replicas
  T straggler{1.0};         ///< slowdown of everything by the slowest device

  static constexpr auto fields() {
    using P = Plan;
    return rows(
        field(&P::tp, "tp", "", "tensor-parallel degree").at_least(1),
        field(&P::pp, "pp", "", "pipeline-parallel degree").at_least(1),
        field(&P::dp, "dp", "", "data-parallel degree").at_least(1),
        field(&P::ep, "ep", "", "expert-parallel degree").at_least(1),
        field(&P::cp, "cp", "", "context-parallel degree").at_least(1),
        field(&P::shards, "shards", "", "ranks over which ZeRO divides, 0 for all").non_negative(),
        field(&P::virtual_stages, "virtual_stages", "", "model chunks per device").at_least(1),
        field(&P::batch, "batch", "", "sequences of a micro-batch").positive(),
        field(&P::microbatches, "microbatches", "", "micro-batches per step").at_least(1),
        field(&P::new_tokens, "new_tokens", "", "tokens added per sequence").positive(),
        field(&P::context, "context", "", "tokens held per sequence").positive(),
        field(&P::weight_bytes, "weight_bytes", "B/param", "storage of one weight").non_negative(),
        field(&P::gradient_bytes, "gradient_bytes", "B/param", "storage of one gradient").non_negative(),
        field(&P::state_bytes, "state_bytes", "B/param", "optimizer state of one weight").non_negative(),
        field(&P::activation_bytes, "activation_bytes", "B", "one activation value").non_negative(),
        field(&P::kv_bytes, "kv_bytes", "B", "one cached value").non_negative(),
        field(&P::trainable, "trainable", "", "trained share of the weights").within(0, 1),
        field(&P::recomputed, "recomputed", "", "share of the blocks that recompute").within(0, 1),
        field(&P::overlap, "overlap", "", "share of a pass that hides traffic").within(0, 1),
        field(&P::tp_overlap, "tp_overlap", "", "share of the tensor-parallel traffic beside products")
            .within(0, 1),
        field(&P::steal, "steal", "", "slowdown of kernels beside communication").within(0, 1),
        field(&P::offload_weights, "offload_weights", "", "share of the weights in host memory").within(0, 1),
        field(&P::offload_activations, "offload_activations", "", "share of the activations in host memory")
            .within(0, 1),
        field(&P::offload_states, "offload_states", "", "share of the optimizer states in host memory")
            .within(0, 1),
        field(&P::exchange_bucket, "exchange_bucket", "MB", "gradients that are exchanged together")
            .non_negative(),
        field(&P::congestion, "congestion", "", "slowdown of the exchange over the replicas").at_least(1),
        field(&P::straggler, "straggler", "", "slowdown of everything by the slowest device").at_least(1));
  }
};

}  // namespace mlsysim
