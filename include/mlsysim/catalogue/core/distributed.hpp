#pragma once
/// One optimizer step of a fleet at textbook fidelity, over any scalar.

#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/pipeline_bubble.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/spec/views.hpp>
#include <mlsysim/table/lift.hpp>

namespace mlsysim {

/// Totals of the step; see DistributedModel for the meaning of the degrees.
template <class T = double>
struct TextbookStepViews {
  Work<T> work;        ///< arithmetic of one sequence or sample, all passes
  Data<T> weights;     ///< of the whole model
  Data<T> gradients;   ///< exchanged, of the whole model
  Data<T> activation;  ///< residual stream of the local batch; 0 where unknown
  ComputeRate<T> peak;
  Bandwidth<T> bandwidth;
  Time<T> dispatch, layer_overhead;
  T efficiency{0.5}, activation_share{0.0}, layers{1.0}, moe_layers{0.0}, top_k{0.0};
  T tp{1.0}, pp{1.0}, dp{1.0}, ep{1.0}, microbatches{1.0}, virtual_stages{1.0}, local_batch{1.0};
  T overlap{0.0}, congestion{1.0}, straggler{1.0};
  Links<T> links;
};

template <class T = double>
struct TextbookStep {
  Time<T> total, compute, memory, overhead, node;  ///< node: one replica's share, no communication
  Time<T> data_parallel, tensor_parallel, expert_parallel, bubble;
};

/// Compute and communication one after the other, only the gradient exchange overlapped by a given share.
///
/// The replicas lie outermost: `per_node / (tp pp ep)` members of a data-parallel group share a node. Four all-reduces of
/// the residual stream per layer join the tensor-parallel parts, two forward and two backward (Shoeybi et al. 2019,
/// section 3); each layer of experts dispatches and combines, forward and backward.
template <class T>
[[nodiscard]] TextbookStep<T> textbook_step_core(const TextbookStepViews<T>& v) {
  const T replica = v.tp * v.pp * v.ep;
  const auto pass = apply<TextbookPass, T>({.work = v.work / replica,
                                            .weights = v.weights / replica,
                                            .batch_size = v.local_batch,
                                            .efficiency = v.efficiency,
                                            .activation_share = v.activation_share,
                                            .layers = v.layers,
                                            .passes = T{3.0},
                                            .peak = v.peak,
                                            .bandwidth = v.bandwidth,
                                            .layer_overhead = v.layer_overhead,
                                            .dispatch = v.dispatch});
  TextbookStep<T> s;
  s.compute = pass.latency_compute;
  s.memory = pass.latency_memory;
  s.overhead = pass.latency_overhead;
  s.node = pass.latency;

  const auto& l = v.links;
  const T together = clamp(floor(l.per_node / replica), T{1.0}, v.dp);
  s.data_parallel = v.congestion *
                    apply<HierarchicalAllReduce, T>({.message = v.gradients / (v.tp * v.pp), .ranks_per_node = together,
                                                     .nodes = ceil_div(v.dp, together),
                                                     .bandwidth_intra = l.intra_bandwidth,
                                                     .bandwidth_inter = l.inter_bandwidth,
                                                     .alpha_intra = l.intra_latency, .alpha_inter = l.inter_latency})
                        .time;
  const T stage_layers = ceil_div(v.layers, v.pp);
  const auto inside = v.tp <= l.per_node;
  const Time<T> join = apply<RingAllReduce, T>({.message = v.activation, .ranks = v.tp,
                                                .bandwidth = select(inside, l.intra_bandwidth, l.inter_bandwidth),
                                                .alpha = select(inside, l.intra_latency, l.inter_latency)}).time;
  s.tensor_parallel = v.congestion * (4.0 * stage_layers * join);
  const Time<T> route = apply<AllToAll, T>({.message = v.activation * v.top_k, .ranks = v.ep,
                                            .bandwidth = l.inter_bandwidth, .alpha = l.inter_latency}).time;
  s.expert_parallel = v.congestion * (4.0 * ceil_div(v.moe_layers, v.pp) * route);
  s.bubble = s.node * apply<BubbleOverhead, T>({.pp_size = v.pp, .microbatch_count = v.microbatches,
                                                .v_stages = v.virtual_stages}).bubble_overhead;
  s.total = (s.node + s.data_parallel * (1.0 - v.overlap) + s.tensor_parallel + s.expert_parallel + s.bubble) *
            max(v.straggler, T{1.0});
  return s;
}

}  // namespace mlsysim
