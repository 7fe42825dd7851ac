#pragma once
/// Serving over any scalar: everything that is reported of replicas that serve a static batch.

#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/price/pricing.hpp>

namespace mlsysim {

/// What a served model is computed from. Categories (bools, the number of chunks, the pricing) fix which
/// operations there are.
template <class T = double> struct ServingViews {
  const Pricing* pricing = nullptr;
  ModelView<T> prefill, decode;  ///< structures of the two phases, one shape
  Device<T> prefill_device, decode_device;
  Links<T> links;
  Plan<T> plan;                                         ///< degrees and bytes
  T batch{1.0}, accelerators{1.0};                      ///< of all replicas
  T prompt{1.0}, cached{0.0}, chunk{1.0}, output{1.0};  ///< tokens of a sequence
  int chunks = 1;
  bool generates = false;  ///< the length of the answer is given
  bool apart = false;      ///< prompts are computed on devices of their own
  Bandwidth<T> transfer;   ///< over which their cache moves
  bool drafts = false;     ///< a small model proposes tokens
  ModelView<T> draft;
  Plan<T> draft_plan;
  T acceptance{0.0}, drafted{0.0};  ///< probability that a proposal is kept; proposals a verification
};

template <class T = double> struct ServingNumbers {
  Time<T> ttft, itl, request_latency;
  TokenRate<T> token_throughput, throughput_per_accelerator;
  T prefill_mfu{0.0}, mfu{0.0}, replicas{1.0}, utilization{0.0};
  Time<T> chunk_time;  ///< longest part of a prompt
  Time<T> prefill_compute, prefill_memory, prefill_network, prefill_overhead;
  Time<T> decode_compute, decode_memory, decode_network, decode_overhead;
  Data<T> kv_cache;                               ///< of one replica, at its longest
  MemoryBreakdown<T> memory, prefill_memory_use;  ///< of a decoding and of a prefilling device

  static constexpr auto fields() {
    using R = ServingNumbers;
    return rows(
        field(&R::ttft, "ttft", "ms", "time to first token"),
        field(&R::itl, "itl", "ms", "inter-token latency"),
        field(&R::request_latency, "request_latency", "ms", "from request to last token"),
        field(&R::token_throughput, "token_throughput", "token/s", "generated tokens of all devices"),
        field(&R::throughput_per_accelerator, "throughput_per_accelerator", "token/s",
              "generated tokens of one device"),
        field(&R::prefill_mfu, "prefill_mfu", "", "model FLOPs utilisation of the prefill"),
        field(&R::mfu, "mfu", "", "model FLOPs utilisation of decoding"),
        field(&R::replicas, "replicas", "", "copies of the model"),
        field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
        field(&R::chunk_time, "chunk_time", "ms", "longest part of a prompt"),
        field(&R::prefill_compute, "prefill_compute", "ms",
              "compute-bound kernels of the prompt of a micro-batch, all stages"),
        field(&R::prefill_memory, "prefill_memory", "ms", "memory-bound kernels of the prompt"),
        field(&R::prefill_network, "prefill_network", "ms", "collectives of the prompt"),
        field(&R::prefill_overhead, "prefill_overhead", "ms", "launches and dispatch of the prompt"),
        field(&R::decode_compute, "decode_compute", "ms",
              "compute-bound kernels of a decode step of a micro-batch, all stages"),
        field(&R::decode_memory, "decode_memory", "ms", "memory-bound kernels of a decode step"),
        field(&R::decode_network, "decode_network", "ms", "collectives of a decode step"),
        field(&R::decode_overhead, "decode_overhead", "ms", "launches and dispatch of a decode step"),
        field(&R::kv_cache, "kv_cache_size", "GB", "keys and values of one replica's batch"),
        field(&R::memory, "memory", "", "memory of one decoding device by use"),
        field(&R::prefill_memory_use, "prefill_memory_use", "", "memory of one prefilling device by use"));
  }
};

namespace detail {

/// The passes of several micro-batches through the stages of a pipeline.
///
/// Each stage works on one micro-batch at a time. A cycle of `inflight` micro-batches lasts as long as one of
/// them needs for all stages, or as long as the slowest stage needs for all of them, whichever is longer.
template <class T> [[nodiscard]] Time<T> pipeline_cycle(const PassPrice<T>& pass, const T& inflight) {
  return max(pass.total, Time<T>(inflight * pass.slot));
}

/// A cycle in which the target checks what a draft model proposed, after the proposals of the first
/// micro-batch. The stage that holds the draft model, which takes `drafting` for a micro-batch, drafts for
/// every one of them.
template <class T>
[[nodiscard]] Time<T> checked_cycle(const PassPrice<T>& check, const Time<T>& drafting, const T& inflight) {
  return max(check.total, Time<T>(inflight * check.slot + (inflight - 1.0) * drafting));
}

}  // namespace detail

/// Serving of a static batch.
///
/// The sequences of a replica are divided into micro-batches, one for each pipeline stage, so that all stages
/// work: prompts follow each other through the stages, chunk by chunk, and a decode step gives every sequence
/// a token in one cycle of all micro-batches. With one stage there is one micro-batch.
/// @cite pope2023inference, section 2; agrawal2024sarathi; pinedo2016scheduling, theorem 6.1.8 (proportionate
/// flow shop)
template <class T> [[nodiscard]] ServingNumbers<T> serving_numbers(const ServingViews<T>& v) {
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  const T one{1.0};
  ServingNumbers<T> out;
  const T devices = v.plan.tp * v.plan.pp * v.plan.ep;
  out.replicas = v.accelerators / devices;
  const auto share = share_batch(v.batch, out.replicas);
  Plan<T> plan = v.plan;
  plan.batch = ceil_div(share.sequences, v.plan.pp);
  const T inflight = ceil_div(share.sequences, plan.batch);  // micro-batches
  const T filled = share.sequences / plan.batch;             // micro-batches if each were full

  // The prompts: what every unit of work needs of the slowest stage, and what the longest needs beside.
  T done = v.cached;
  Time<T> slots, beside;
  PassCost<T> prefill;
  Time<T> prefill_busy;
  StageDemands<T> prompt_demands;  // the cache of the last part, the largest working set of any
  for (int i = 0; i < v.chunks; ++i) {
    plan.new_tokens = v.chunks == 1 ? v.prompt - v.cached : min(v.chunk, v.prompt - done);
    done = done + plan.new_tokens;
    plan.context = done;
    const PassPrice<T> part = pricer.prefill({v.prefill, plan, v.prefill_device, v.links}, v.prompt);
    slots += part.slot;
    beside = i == 0 ? part.total - part.slot : max(beside, part.total - part.slot);
    out.chunk_time = max(out.chunk_time, part.total);
    prefill = i == 0 ? part.cost : prefill + part.cost;
    prefill_busy += part.busy;
    const auto larger_of = [&](const MemoryDemand<T>& before, MemoryDemand<T> now) {
      if (i > 0) now.activations = max(now.activations, before.activations);
      return now;
    };
    prompt_demands = {larger_of(prompt_demands.first, part.demands.first),
                      larger_of(prompt_demands.last, part.demands.last)};
  }
  const Time<T> prefill_time = inflight * slots + beside;

  // A step of decoding.
  plan.new_tokens = one;
  plan.context = v.generates ? v.prompt + (v.output + 1.0) / 2.0 : v.prompt;  // token i of n sees i of them
  const PassPrice<T> step = pricer.decode({v.decode, plan, v.decode_device, v.links});
  out.itl = detail::pipeline_cycle(step, inflight);
  Time<T> cycle = out.itl, busy = step.busy;  // of one micro-batch
  if (v.drafts) {
    Plan<T> draft_plan = v.draft_plan, check = plan;
    draft_plan.batch = plan.batch;
    draft_plan.new_tokens = one;
    draft_plan.context = plan.context;
    const PassPrice<T> proposal = pricer.decode({v.draft, draft_plan, v.decode_device, v.links});
    check.new_tokens = v.drafted + 1.0;
    check.context = plan.context + v.drafted;
    const PassPrice<T> verify = pricer.decode({v.prefill, check, v.decode_device, v.links});
    const Time<T> drafting = v.drafted * proposal.total,
                  round = detail::checked_cycle(verify, drafting, inflight);
    out.itl = apply<SpeculativeTokenTime, T>({proposal.total, round, v.acceptance, v.drafted}).itl;
    cycle = drafting + round;
    busy = verify.busy + v.drafted * proposal.busy;
  }

  // The most that is resident at once: all weights, the cache of all sequences at its longest, and the larger
  // working set of those that the devices have.
  const T final_context = v.generates ? v.prompt + v.output : v.prompt;
  plan.context = final_context;
  StageDemands<T> demands =
      v.generates ? pricer.pass_demands({v.decode, plan, v.decode_device, v.links}) : step.demands;
  const auto settle = [&](MemoryDemand<T>& mine, const MemoryDemand<T>& prompt) {
    mine.kv_cache = mine.kv_cache * filled;
    if (!v.apart) mine.activations = max(mine.activations, prompt.activations);
  };
  settle(demands.first, prompt_demands.first);
  settle(demands.last, prompt_demands.last);
  out.memory = fullest(demands, v.decode.structure, v.plan, v.decode_device);
  out.prefill_memory_use = out.memory;
  if (v.drafts) {
    Plan<T> draft_plan = v.draft_plan;
    draft_plan.batch = share.sequences;
    draft_plan.new_tokens = one;
    draft_plan.context = final_context;
    const auto held = pricer.pass_memory({v.draft, draft_plan, v.decode_device, v.links});
    const Data<T> more = held.weights + held.kv_cache;
    out.memory.weights += held.weights;
    out.memory.kv_cache += held.kv_cache;
    out.memory.fragmentation += more * v.decode_device.conventions.memory_fragmentation;
    out.memory.total += more * (1.0 + v.decode_device.conventions.memory_fragmentation);
  }
  Plan<T> whole = plan;
  whole.batch = share.sequences;
  out.kv_cache = pricer.cache({v.decode, whole, v.decode_device, v.links});
  Time<T> moved;
  if (v.apart) {
    StageDemands<T> prompts = prompt_demands;
    prompts.first.kv_cache = prompts.first.kv_cache * filled;
    prompts.last.kv_cache = prompts.last.kv_cache * filled;
    out.prefill_memory_use = fullest(prompts, v.prefill.structure, v.plan, v.prefill_device);
    whole.context = v.prompt;
    moved = pricer.cache({v.prefill, whole, v.prefill_device, v.links}) / v.transfer;
  }

  out.ttft = prefill_time + moved;
  const T generated = v.generates ? v.output : one;
  // The first of the generated tokens comes with the prefill.
  const Time<T> decoding = out.itl * (generated - 1.0);
  out.request_latency = out.ttft + decoding;
  const auto sequences = Tokens<T>::from_base(v.batch);
  out.token_throughput = v.generates ? sequences * generated / out.request_latency : sequences / out.itl;
  out.throughput_per_accelerator = out.token_throughput / v.accelerators;

  out.prefill_mfu =
      share.filled *
      min(one, T(filled * prefill.work / (v.prefill_device.compute.dense * v.plan.pp * prefill_time)));
  out.mfu = share.filled *
            min(one, T(filled * step.cost.work / (v.decode_device.compute.dense * v.plan.pp * out.itl)));
  // A device that runs kernels draws its full power, whichever side limits them.
  const T busy_prefill = min(one, T(inflight * prefill_busy / (v.plan.pp * prefill_time)));
  const T busy_decode = min(one, T(inflight * busy / (v.plan.pp * cycle)));
  const T time_decoding = v.generates ? T(decoding / (out.ttft + decoding)) : one;
  out.utilization = share.working * (time_decoding * busy_decode + (1.0 - time_decoding) * busy_prefill);

  out.prefill_compute = prefill.compute_bound;
  out.prefill_memory = prefill.memory_bound;
  out.prefill_network = prefill.network;
  out.prefill_overhead = prefill.overhead;
  out.decode_compute = step.cost.compute_bound;
  out.decode_memory = step.cost.memory_bound;
  out.decode_network = step.cost.network;
  out.decode_overhead = step.cost.overhead;
  return out;
}

}  // namespace mlsysim
