#pragma once
/// Serving over any scalar: time to first token, inter-token latency, memory.
///
/// The resolver prepares the views once, in double; this text then runs with double, with Traced (derivations) or
/// with any other scalar.

#include <mlsysim/lowering/step.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/table/lift.hpp>

namespace mlsysim {

/// What both fidelities answer.
template <class T = double>
struct ServingAnswer {
  Time<T> ttft, itl;
  Time<T> chunk_time;         ///< longest prefill chunk
  PassCost<T> prefill, decode;  ///< operator fidelity: sums over one pass of one stage
  MemoryBreakdown<T> memory;  ///< on one decoding device
  MemoryBreakdown<T> prefill_memory;  ///< on one prefilling device, where they are others
};

/// Operator fidelity. Numbers are those of one replica of tp x pp x ep devices.
template <class T = double>
struct ServingViews {
  ModelView<T> prefill, decode;      ///< structures of the two phases, one shape
  Device<T> prefill_device, decode_device;
  Links<T> links;
  Plan<T> plan;                      ///< tp, pp, ep, batch and bytes
  T prompt{0.0}, cached{0.0}, chunk{0.0};  ///< tokens per sequence
  int chunks = 1;
  T decode_context{0.0};             ///< mean context over the generated tokens
  T final_context{0.0};              ///< context that the KV cache must hold
  bool apart = false;                ///< prompts are computed on devices of their own
};

/// Time of the prompt, chunk after chunk; each chunk attends to everything before it.
/// @param source where the parts of the passes come from, e.g. FreshParts
template <class T, class Source>
[[nodiscard]] ServingAnswer<T> serving_core(const ServingViews<T>& v, const Source& source) {
  ServingAnswer<T> out;
  Plan<T> plan = v.plan;
  T done = v.cached;
  ListTotals<T> prefilled;
  for (int i = 0; i < v.chunks; ++i) {
    plan.new_tokens = v.chunks == 1 ? v.prompt - v.cached : min(v.chunk, v.prompt - done);
    done = done + plan.new_tokens;
    plan.context = done;
    const PassParts<T>& parts = source.pass(v.prefill, plan, v.prefill_device, v.links);
    const PassTime<T> pass = overlapped_pass(parts, v.prefill, plan, v.prefill_device);
    out.ttft += pass.total;
    out.chunk_time = max(out.chunk_time, pass.total);
    out.prefill = i == 0 ? pass.cost : out.prefill + pass.cost;
    if (i == v.chunks - 1) prefilled = parts.totals.stage(T{1.0}, T{1.0});
  }
  const MemoryDemand<T> prefill_demand = demand_of(v.prefill.structure, plan, prefilled, v.prefill.blocks(plan));
  if (v.apart) out.prefill_memory = memory_of(v.prefill.structure, plan, v.prefill_device, prefill_demand);

  plan.new_tokens = T{1.0};
  plan.context = v.decode_context;
  const PassTime<T> step =
      overlapped_pass(source.pass(v.decode, plan, v.decode_device, v.links), v.decode, plan, v.decode_device);
  out.itl = step.total;
  out.decode = step.cost;

  // The most that is resident at once: all weights, the cache at its longest, the larger working set of those that the
  // devices have.
  plan.context = v.final_context;
  MemoryDemand<T> demand = demand_of(v.decode.structure, plan, source.forward(v.decode, plan), v.decode.blocks(plan));
  if (!v.apart) demand.activations = max(demand.activations, prefill_demand.activations);
  out.memory = memory_of(v.decode.structure, plan, v.decode_device, demand);
  return out;
}
/// With `ops` as workspace.
template <class T>
[[nodiscard]] ServingAnswer<T> serving_core(const ServingViews<T>& v, OpList<T>& ops) {
  return serving_core(v, FreshParts<T>{ops});
}

/// Textbook fidelity, from totals; see TextbookPrefillWork and TextbookDecode. Tensor parallelism divides work, weights
/// and cache; its collectives are not counted.
template <class T = double>
struct TextbookServingViews {
  Params<T> active_params;
  Data<T> weights, kv_cache;
  ComputeRate<T> peak;
  Bandwidth<T> bandwidth;  ///< of the decoding device
  Data<T> capacity;
  Time<T> dispatch, layer_overhead;
  T efficiency{0.5}, devices{1.0}, batch{1.0}, layers{1.0}, width{0.0}, prompt{0.0}, cached{0.0}, chunk{0.0};
  int chunks = 1;
};

template <class T>
[[nodiscard]] ServingAnswer<T> textbook_serving_core(const TextbookServingViews<T>& v) {
  ServingAnswer<T> out;
  const ComputeRate<T> rate = v.peak * v.efficiency * v.devices;
  const T fresh = max(v.prompt - v.cached, T{1.0});
  const auto work = [&](const T& tokens) {
    return apply<TextbookPrefillWork, T>({.params = v.active_params, .layers = v.layers, .width = v.width,
                                          .new_tokens = tokens, .context = v.prompt, .batch_size = v.batch}).work;
  };
  out.ttft = work(fresh) / rate + v.dispatch * static_cast<double>(v.chunks);
  // Every chunk is charged the final context, so their sum is the whole; the longest is the first.
  out.chunk_time = work(v.chunks == 1 ? fresh : min(v.chunk, fresh)) / rate + v.dispatch;
  out.itl = apply<TextbookDecode, T>({.weights = v.weights / v.devices, .kv_cache = v.kv_cache / v.devices,
                                      .bandwidth = v.bandwidth, .layer_overhead = v.layer_overhead,
                                      .layers = v.layers}).itl;
  return out;
}

}  // namespace mlsysim
