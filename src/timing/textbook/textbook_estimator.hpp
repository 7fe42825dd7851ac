#pragma once
// The textbook estimator over any scalar.

#include <mlsysim/physics/activations.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/pipeline_bubble.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim::detail {

/// Gradients that the replicas exchange, as the message of an all-reduce. Of a table each replica has those
/// of the rows that its samples read, which go to all others: an all-gather of `dp` such parts takes as long
/// as an all-reduce of half of them. What is longer than the whole table is summed whole.
/// @cite naumov-2019-dlrm, section 3
template <class T> [[nodiscard]] Data<T> exchanged(const Totals<T>& m, const Plan<T>& p, const T& local) {
  const Data<T> tables = p.gradient_bytes * m.tables,
                rows = gathered_rows(m, p.gradient_bytes, local) * (p.dp / 2.0);
  return dense_weights(m, p.gradient_bytes) + select(m.table_rows > T{0.0}, min(tables, rows), tables);
}

template <class T> class TextbookEstimator final : public PassEstimator<T> {
 public:
  /// Tensor and expert parallelism divide work, weights and cache; the stages of a pipeline run in turn and
  /// are equal. Collectives are not counted. Every part of a prompt is charged the whole context, so that the
  /// parts add up to the whole.
  PassEstimate<T> prefill(const PassRequest<T>& request, const Device<T>& device, const Links<T>& /*links*/,
                          const T& prompt) const override {
    const auto& m = request.model.totals;
    const T sharers = request.plan.tp * request.plan.sequence_ranks();
    const Work<T> work = apply<TextbookPrefillWork, T>({.params = m.active_params,
                                                        .layers = m.layers,
                                                        .width = m.width,
                                                        .new_tokens = request.plan.new_tokens,
                                                        .context = prompt,
                                                        .batch_size = request.plan.batch})
                             .work;
    PassEstimate<T> out;
    PassBreakdown<T>& cost = out.cost;
    cost.work = work / sharers;
    cost.compute_bound = cost.work / (device.compute.dense * device.efficiency.matrix);
    cost.total = cost.compute_bound;
    cost.overhead = device.dispatch_overhead;
    out.total = cost.total + device.dispatch_overhead;
    out.slot = cost.total / request.plan.pp + device.dispatch_overhead;
    out.busy = cost.work / device.compute.dense;
    out.demands = pass_demands(request.model, request.plan);
    return out;
  }

  /// Bound by memory: tokens that are checked together are free.
  PassEstimate<T> decode(const PassRequest<T>& request, const Device<T>& device,
                         const Links<T>& /*links*/) const override {
    const auto& m = request.model.totals;
    const T sharers = request.plan.tp * request.plan.sequence_ranks();
    // The tokens of this pass are not read from memory: of several that are checked together only those
    // before them.
    Plan<T> before = request.plan;
    before.context = request.plan.context - request.plan.new_tokens + 1.0;
    const Data<T> weights = request.plan.weight_bytes * m.params / sharers,
                  held = whole_cache(request.model, before), cache = held / sharers;
    PassEstimate<T> out;
    PassBreakdown<T>& cost = out.cost;
    out.total = apply<TextbookDecode, T>({.weights = weights,
                                          .kv_cache = cache,
                                          .bandwidth = device.memory.bandwidth,
                                          // A draft runs inside the target's step.
                                          .layer_overhead = request.model.structure.drafting
                                                                ? Time<T>()
                                                                : device.conventions.textbook_layer_overhead,
                                          .layers = m.layers})
                    .itl;
    out.slot = out.total / request.plan.pp;
    cost.total = out.total;
    cost.traffic = weights + cache;
    cost.memory_bound = cost.traffic / device.memory.bandwidth;
    cost.overhead = out.total - cost.memory_bound;
    cost.work = Work<T>::from_base(2.0 * m.active_params.base()) * request.plan.batch *
                request.plan.new_tokens / sharers;
    out.busy = min(cost.work / device.compute.dense, out.total);
    const bool same = same_number(before.context, request.plan.context);
    out.demands =
        demands(request.model, request.plan, same ? held : whole_cache(request.model, request.plan));
    return out;
  }

  PassEstimate<T> inference(const PassRequest<T>& request, const Device<T>& device,
                            const Links<T>& /*links*/) const override {
    const auto& m = request.model.totals;
    const Work<T> sample = m.work * (request.model.structure.per_token ? request.plan.new_tokens : T{1.0});
    const auto pass =
        apply<TextbookPass, T>({.work = sample,
                                .weights = dense_weights(m, request.plan.weight_bytes),
                                .batch_size = request.plan.batch,
                                .efficiency = device.efficiency.matrix,
                                .activation_share = device.conventions.textbook_activation_share,
                                .layers = m.layers,
                                .passes = T{1.0},
                                .peak = device.compute.dense,
                                .bandwidth = device.memory.bandwidth,
                                .layer_overhead = device.conventions.textbook_layer_overhead,
                                .dispatch = device.dispatch_overhead,
                                .gathered = gathered_rows(m, request.plan.weight_bytes, request.plan.batch)});
    PassEstimate<T> out;
    out.total = out.slot = pass.latency;
    out.cost.total = pass.latency;
    out.cost.compute_bound = pass.latency_compute;
    out.cost.memory_bound = pass.latency_memory;
    out.cost.overhead = pass.latency_overhead;
    out.cost.work = sample * request.plan.batch;
    out.cost.traffic = pass.traffic;
    out.busy = min(out.cost.work / device.compute.dense, out.total);
    out.demands = pass_demands(request.model, request.plan);
    return out;
  }

  /// Compute and communication one after the other, only the gradient exchange overlapped by a given share.
  ///
  /// The replicas lie outermost: `devices of a node / (tp pp ep)` members of a data-parallel group share a
  /// node. Four all-reduces of the residual stream per layer join the tensor-parallel parts, two forward and
  /// two backward (Shoeybi et al. 2019, section 3); each layer of experts dispatches and combines, forward
  /// and backward.
  StepEstimate<T> step(const PassRequest<T>& request, const Device<T>& d, const Links<T>& l, const T& devices,
                       const T& batch, const T& local) const override {
    const auto& m = request.model.totals;
    const auto& p = request.plan;
    const T replica = p.tp * p.pp * p.sequence_ranks();
    const T model_passes = 2.0 + p.trainable;
    const T passes = request.model.structure.recomputed == part::all ? T(model_passes + 1.0) : model_passes;
    const T units = request.model.structure.per_token ? p.new_tokens : T{1.0};
    const Work<T> sample = m.work * units;
    const auto pass = apply<TextbookPass, T>({.work = passes * sample / replica,
                                              .weights = dense_weights(m, p.weight_bytes) / replica,
                                              .batch_size = local,
                                              .efficiency = d.efficiency.matrix,
                                              .activation_share = d.conventions.textbook_activation_share,
                                              .layers = m.layers,
                                              .passes = T{3.0},
                                              .peak = d.compute.dense,
                                              .bandwidth = d.memory.bandwidth,
                                              .layer_overhead = d.conventions.textbook_layer_overhead,
                                              .dispatch = d.dispatch_overhead,
                                              .gathered = gathered_rows(m, p.weight_bytes, local) / replica});
    StepEstimate<T> out;
    out.compute = pass.latency_compute;
    out.memory = pass.latency_memory;
    out.overhead = pass.latency_overhead;
    out.kernels = pass.latency;
    const T node = devices_inside(l);
    const Bandwidth<T> link = whole_link(l);
    const Spread<T> replicas = spread_of(p.dp, replica, l);
    out.exchange =
        apply<HierarchicalAllReduce, T>({.message = exchanged(m, p, local) * p.trainable / (p.tp * p.pp),
                                         .ranks_per_node = replicas.inner,
                                         .nodes = replicas.nodes,
                                         .bandwidth_intra = link,
                                         .bandwidth_inter = replicas.ring,
                                         .alpha_intra = l.level1.latency,
                                         .alpha_inter = replicas.step})
            .time;
    const T stage_layers = ceil_div(m.layers, p.pp);
    const Data<T> residual = p.activation_bytes * (local * p.new_tokens * m.hidden);
    const auto inside = p.tp <= node;
    const Spread<T> parts = spread_of(p.tp, T{1.0}, l), routed = spread_of(p.ep, node, l);
    const Time<T> join = apply<RingAllReduce, T>({.message = residual,
                                                  .ranks = p.tp,
                                                  .bandwidth = select(inside, link, parts.ring),
                                                  .alpha = select(inside, l.level1.latency, parts.step)})
                             .time;
    out.tensor_parallel = 4.0 * stage_layers * join;
    const Time<T> route = apply<AllToAll, T>({.message = residual * m.top_k,
                                              .ranks = p.ep,
                                              .bandwidth = routed.exchange,
                                              .alpha = routed.step})
                              .time;
    out.expert_parallel = 4.0 * ceil_div(m.moe_layers, p.pp) * route;
    out.bubble =
        out.kernels * apply<BubbleOverhead, T>(
                          {.pp_size = p.pp, .microbatch_count = p.microbatches, .v_stages = p.virtual_stages})
                          .bubble_overhead;
    out.slots = out.kernels;
    out.exposed_communication = out.exchange * (1.0 - p.overlap) + out.tensor_parallel + out.expert_parallel;
    out.total = out.kernels + out.exposed_communication + out.bubble;
    out.model_work = model_passes * sample * batch;
    out.again = passes / model_passes;
    out.work = passes * sample / replica * local;
    out.traffic = pass.traffic;
    // A batch below dp leaves replicas idle; the busy time is that of a replica with sequences.
    out.busy = min(out.model_work * out.again / (d.compute.dense * devices * min(T{1.0}, T(batch / p.dp))),
                   out.total);
    out.demands = step_demands(request.model, p, d);
    return out;
  }

  StageDemands<T> pass_demands(const ModelView<T>& model, const Plan<T>& plan) const override {
    return demands(model, plan, whole_cache(model, plan));
  }
  /// Weights, gradients and states are divided evenly over tp, pp and ep; activations follow Korthikanti et
  /// al. (2022) table 2 for ceil(layers / pp) layers.
  StageDemands<T> step_demands(const ModelView<T>& model, const Plan<T>& plan,
                               const Device<T>& device) const override {
    const Plan<T> p = plan.largest_microbatch();
    const auto& m = model.totals;
    const auto& s = model.structure;
    MemoryDemand<T> demand;
    // Divided evenly over expert-parallel ranks too, so that only replicas hold the same ones.
    demand.expert_params = m.params / (p.tp * p.pp * p.sequence_ranks());
    demand.bucket = device.conventions.gradient_bucket;
    demand.tower = p.tower_bytes / (p.tp * p.pp);
    if (!model.layers.empty()) {
      // The list is the only place that knows a convolutional network's activations.
      OpList<T> ops;
      Plan<T> alone = p;
      alone.tp = alone.pp = alone.ep = alone.cp = T{1.0};
      alone.folded = false;
      demand.activations =
          forward_totals(s, model.shape(), model.layers, alone, ops).stage(T{1.0}, T{1.0}).saved_bytes;
    } else if (s.attends) {
      const auto layer =
          apply<TransformerActivations, T>({.seq_len = p.new_tokens,
                                            .batch_size = p.batch,
                                            .hidden = m.hidden,
                                            .heads = m.heads,
                                            .element_bytes = p.activation_bytes,
                                            .tp_size = p.tp,
                                            .sequence_parallel = T{s.sequence_parallel ? 1.0 : 0.0}});
      // The closed forms know these three; recomputing one module is counted like none.
      const Data<T> each = s.recomputed == part::all    ? layer.full
                           : s.recomputed == part::core ? layer.selective
                                                        : layer.none;
      demand.activations = each * max(T{1.0}, T(ceil_div(m.layers, p.pp))) * min(p.pp, p.microbatches);
      const Data<T> sent = 2.0 * p.batch * p.new_tokens * m.hidden * p.activation_bytes;
      demand.buffers = select(p.pp > T{1.0}, sent, Data<T>());
    }
    return {demand, demand};
  }
  Data<T> cache(const ModelView<T>& model, const Plan<T>& plan) const override {
    return whole_cache(model, plan);
  }

  /// There is no model of a pipeline or of memory for which the batch would be divided.
  T default_microbatches(const ModelView<T>& /*model*/, const Plan<T>& /*plan*/, const Device<T>& /*device*/,
                         const T& /*local*/, const T& steps) const override {
    return steps;
  }

  /// Bytes that do not fit come over the host link instead of from memory, beside the arithmetic.
  SpillTime<T> spill_time(const MemoryBreakdown<T>& memory, const PassEstimate<T>& pass,
                          const Device<T>& d) const override {
    const Data<T> spill = min(max(memory.total - memory.capacity, Data<T>()), memory.weights);
    const Time<T> more = max(spill / d.host_link.bandwidth - spill / d.memory.bandwidth, Time<T>());
    const Time<T>&compute = pass.cost.compute_bound, &read = pass.cost.memory_bound;
    return {more, max(compute, Time<T>(read + more)) - max(compute, read)};
  }

 private:
  /// @param cache of the whole model
  static StageDemands<T> demands(const ModelView<T>& model, const Plan<T>& plan, const Data<T>& cache) {
    const T devices = plan.tp * plan.pp * plan.sequence_ranks();
    MemoryDemand<T> demand;
    demand.dense_params = model.totals.params / devices;
    demand.kv_cache = cache / devices;
    demand.tower = plan.tower_bytes / (plan.tp * plan.pp);
    return {demand, demand};
  }
};

}  // namespace mlsysim::detail
