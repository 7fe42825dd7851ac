#pragma once
/// Serving over any scalar: everything that is reported of replicas that serve a static batch.

#include <mlsysim/answer/chunks.hpp>
#include <mlsysim/answer/first_token.hpp>
#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/table/join.hpp>

namespace mlsysim {

/// How many of the proposed tokens are kept: each with the same probability, with one that falls from token
/// to token, or as it was measured.
enum class Acceptance : std::uint8_t { independent, decaying, measured };

/// How the kernels of a prompt reach the device: replayed from a graph, launched one by one in the time of
/// the device, or in that of the engine.
enum class PromptLaunch : std::uint8_t { graph, device, engine };

/// What a served model is computed from. Categories (bools, the number of chunks, the pricing) fix which
/// operations there are.
template <class T = double> struct ServingViews {
  const Pricing* pricing = nullptr;
  ModelView<T> prefill, decode;  ///< structures of the two phases, one shape
  Device<T> prefill_device, decode_device;
  Links<T> links;
  Plan<T> plan;                                         ///< degrees and bytes
  DataPerParam<T> mean_bytes;                           ///< of a weight of the whole model
  T batch{1.0}, accelerators{1.0};                      ///< of all replicas
  T prompt{1.0}, cached{0.0}, chunk{1.0}, output{1.0};  ///< tokens of a sequence; of a pass of prompts
  double chunks = 1;
  bool budgeted = false;  ///< `chunk` is the most that a rank takes in a pass; else all prompts go at once
  bool divided = false;   ///< prompts longer than that are taken chunk by chunk; else each has its own pass
  bool issues = false;    ///< some passes are no captured graphs: `detail::launched` says which
  PromptLaunch prompts = PromptLaunch::graph;
  Time<T> prompt_issue;    ///< host time of one kernel of a prompt, where the engine has its own
  T graph_batch{0.0};      ///< requests of a rank up to which a step is replayed from a graph
  bool generates = false;  ///< the length of the answer is given
  bool apart = false;      ///< prompts are computed on devices of their own
  Bandwidth<T> transfer;   ///< over which their cache moves
  bool drafts = false;     ///< a small model proposes tokens
  ModelView<T> draft;
  Plan<T> draft_plan;
  Acceptance kept = Acceptance::independent;
  T acceptance{0.0}, drafted{0.0};  ///< probability that a proposal is kept; proposals a verification
  T acceptance_decay{1.0};          ///< factor of it from one proposal to the next, where it falls
  T acceptance_length{1.0};         ///< tokens that a verification yields, where that was measured
};

template <class T = double> struct ServingNumbers {
  Time<T> ttft, itl, request_latency;
  Time<T> ttft_ingress, ttft_queue, ttft_dispatch, ttft_prefill, ttft_egress;
  TokenRate<T> token_throughput, throughput_per_accelerator;
  T prefill_mfu{0.0}, mfu{0.0}, replicas{1.0}, utilization{0.0};
  Time<T> chunk_time;  ///< longest part of a prompt
  Time<T> prefill_compute, prefill_memory, prefill_network, prefill_overhead;
  Time<T> decode_compute, decode_memory, decode_network, decode_overhead;
  Data<T> kv_cache;                               ///< of one replica, at its longest
  MemoryBreakdown<T> memory, prefill_memory_use;  ///< of a decoding and of a prefilling device

  static constexpr auto fields() {
    using R = ServingNumbers;
    return join(
        rows(field(&R::ttft, "ttft", "ms", "time to first token")), first_token_rows<R>(),
        rows(field(&R::itl, "itl", "ms", "inter-token latency"),
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
             field(&R::prefill_memory_use, "prefill_memory_use", "",
                   "memory of one prefilling device by use")));
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

/// The sequences of a replica, divided into micro-batches.
template <class T> struct MicroBatches {
  BatchShare<T> share;
  Plan<T> plan;     ///< of one micro-batch
  T inflight{1.0};  ///< micro-batches
  T filled{1.0};    ///< micro-batches if each were full
};

template <class T> [[nodiscard]] MicroBatches<T> micro_batches(const ServingViews<T>& v, const T& replicas) {
  MicroBatches<T> m;
  m.share = share_batch(v.batch, replicas);
  m.plan = v.plan;
  m.plan.batch = ceil_div(m.share.sequences, v.plan.pp);
  m.inflight = ceil_div(m.share.sequences, m.plan.batch);
  m.filled = m.share.sequences / m.plan.batch;
  return m;
}

/// Host time of one kernel of a step of `requests` a rank: none where a graph of that size was captured.
template <class T> [[nodiscard]] Time<T> step_issue(const ServingViews<T>& v, const T& requests) {
  return select(requests > v.graph_batch, v.decode_device.kernels.issue, Time<T>());
}

/// Host time of one kernel of a prompt.
template <class T> [[nodiscard]] Time<T> issue_of_prompts(const ServingViews<T>& v) {
  switch (v.prompts) {
    case PromptLaunch::graph:
      break;
    case PromptLaunch::device:
      return v.prefill_device.kernels.issue;
    case PromptLaunch::engine:
      return v.prompt_issue;
  }
  return Time<T>();
}

/// The same views, of which each device launches as its passes do.
template <class T> [[nodiscard]] ServingViews<T> launched(const ServingViews<T>& v) {
  ServingViews<T> out = v;
  const T replicas = v.accelerators / (v.plan.tp * v.plan.pp * v.plan.ep);
  out.prefill_device.kernels.issue = issue_of_prompts(v);
  out.decode_device.kernels.issue =
      step_issue(v, T(ceil_div(micro_batches(v, replicas).plan.batch, v.plan.ep)));
  out.issues = false;
  return out;
}

/// The prompts of a micro-batch, divided over passes: each takes as many whole prompts as the ranks' budgets
/// of tokens hold, and the last one takes the rest. Of prompts that are longer than the budget each rank
/// takes one at a time, chunk by chunk.
template <class T> struct PromptShare {
  T passes{1.0};  ///< each of all chunks
  T each{1.0};    ///< prompts of a pass
  T last{1.0};    ///< prompts of the last pass, as it is priced
  T filled{1.0};  ///< share of the last pass that prompts fill
};

template <class T> [[nodiscard]] PromptShare<T> share_prompts(const ServingViews<T>& v, const T& prompts) {
  PromptShare<T> out{.passes = T{1.0}, .each = prompts, .last = prompts, .filled = T{1.0}};
  if (!v.budgeted) return out;
  const T together = max(T(floor(v.chunk / max(T(v.prompt - v.cached), T{1.0}))), T{1.0});
  const T most = together * v.plan.sequence_ranks();
  out.passes = ceil_div(prompts, most);
  const bool whole = v.chunks == 1;
  out.each = whole ? T(min(prompts, most)) : T(ceil_div(prompts, out.passes));
  const T rest = prompts - (out.passes - 1.0) * out.each;
  out.last = whole ? rest : out.each;
  if (!whole) out.filled = rest / out.each;
  return out;
}

/// One pass of prompts, chunk by chunk.
template <class T> struct PromptPass {
  Time<T> slots;    ///< what the chunks need of the slowest stage
  Time<T> beside;   ///< what the longest chunk needs beside its slot
  Time<T> longest;  ///< the longest chunk
  Time<T> busy;     ///< time in which a device draws its full power
  PassCost<T> cost;
  StageDemands<T> demands;  ///< the cache of the last chunk, the largest working set of any
};

template <class T> [[nodiscard]] PromptPass<T> prompt_pass(const ServingViews<T>& v, Plan<T> plan) {
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  PromptPass<T> out;
  const double last = v.chunks - 1;
  T done = v.cached;
  for_chunks(v.chunks, [&](double i, double times) {
    // One after the other, the chunks follow each other; where some stand for others, each begins at its
    // place.
    if (v.chunks > kChunksPriced) done = v.cached + T{i} * v.chunk;
    plan.new_tokens = last == 0 ? v.prompt - v.cached : min(v.chunk, v.prompt - done);
    done = done + plan.new_tokens;
    plan.context = done;
    const PassPrice<T> part = pricer.prefill({v.prefill, plan, v.prefill_device, v.links}, v.prompt);
    const bool alone = times == 1.0;
    out.slots += alone ? part.slot : part.slot * T{times};
    out.beside = i == 0 ? part.total - part.slot : max(out.beside, part.total - part.slot);
    out.longest = max(out.longest, part.total);
    const PassCost<T> cost = alone ? part.cost : part.cost * T{times};
    out.cost = i == 0 ? cost : out.cost + cost;
    out.busy += alone ? part.busy : part.busy * T{times};
    const auto larger_of = [&](const MemoryDemand<T>& before, MemoryDemand<T> now) {
      if (i > 0) now.activations = max(now.activations, before.activations);
      return now;
    };
    out.demands = {larger_of(out.demands.first, part.demands.first),
                   larger_of(out.demands.last, part.demands.last)};
  });
  return out;
}

/// The prompts of a micro-batch, pass by pass.
template <class T> struct PromptPasses {
  PromptPass<T> all;
  Time<T> own;            ///< the pass of the last prompt in line
  PassCost<T> own_costs;  ///< costs of that pass
};

template <class T> [[nodiscard]] PromptPasses<T> prompt_passes(const ServingViews<T>& v, Plan<T> plan) {
  const PromptShare<T> share = share_prompts(v, plan.batch);
  const T prompts = plan.batch;
  plan.batch = share.each;
  PromptPasses<T> out;
  PromptPass<T>& all = out.all;
  all = prompt_pass(v, plan);
  out.own = all.slots + all.beside;
  out.own_costs = all.cost;
  if (!v.budgeted) return out;
  PromptPass<T> last = all;
  if (!same_number(share.last, share.each)) {
    plan.batch = share.last;
    last = prompt_pass(v, plan);
    out.own = last.slots + last.beside;
    out.own_costs = last.cost;
  }
  const T before = share.passes - 1.0;
  all.slots = all.slots * before + last.slots;
  all.beside = select(before > T{0.0}, max(all.beside, last.beside), last.beside);
  all.longest = max(all.longest, last.longest);
  all.busy = all.busy * before + last.busy * share.filled;
  all.cost = all.cost * before + last.cost * share.filled;
  for (MemoryDemand<T>* end : {&all.demands.first, &all.demands.last})
    end->kv_cache = end->kv_cache * (prompts / share.each);
  return out;
}

/// Tokens that a verification yields, where they do not follow from one probability.
template <class T> [[nodiscard]] T yield_of_check(const ServingViews<T>& v) {
  if (v.kept == Acceptance::measured) return v.acceptance_length;
  return apply<DecayingAcceptance, T>({v.acceptance, v.acceptance_decay, v.drafted}).expected_tokens;
}

/// A step of decoding: one pass of a micro-batch, or proposals of the draft model and their check.
template <class T> struct DecodeStep {
  PassPrice<T> pass;
  Time<T> itl;
  Time<T> cycle;  ///< until every micro-batch has gone through all stages
  Time<T> busy;   ///< of one micro-batch
};

/// @param plan of a micro-batch, with one new token at the mean context
template <class T>
[[nodiscard]] DecodeStep<T> decode_step(const ServingViews<T>& v, const Plan<T>& plan, const T& inflight) {
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  DecodeStep<T> out;
  out.pass = pricer.decode({v.decode, plan, v.decode_device, v.links});
  out.itl = pipeline_cycle(out.pass, inflight);
  out.cycle = out.itl;
  out.busy = out.pass.busy;
  if (!v.drafts) return out;
  Plan<T> draft_plan = v.draft_plan, check = plan;
  draft_plan.batch = plan.batch;
  draft_plan.new_tokens = plan.new_tokens;
  draft_plan.context = plan.context;
  const PassPrice<T> proposal = pricer.decode({v.draft, draft_plan, v.decode_device, v.links});
  check.new_tokens = v.drafted + 1.0;
  check.context = plan.context + v.drafted;
  const PassPrice<T> verify = pricer.decode({v.prefill, check, v.decode_device, v.links});
  const Time<T> drafting = v.drafted * proposal.total, round = checked_cycle(verify, drafting, inflight);
  out.itl = v.kept == Acceptance::independent
                ? apply<SpeculativeTokenTime, T>({proposal.total, round, v.acceptance, v.drafted}).itl
                : (drafting + round) / yield_of_check(v);
  out.cycle = drafting + round;
  out.busy = verify.busy + v.drafted * proposal.busy;
  return out;
}

/// Memory of a decoding device: all weights, the cache of all sequences at its longest, and the larger
/// working set of those that the devices have.
/// @param plan of a micro-batch, at the longest context
template <class T>
[[nodiscard]] MemoryBreakdown<T> decoding_memory(const ServingViews<T>& v, const MicroBatches<T>& m,
                                                 const Plan<T>& plan, const StageDemands<T>& prompts,
                                                 const StageDemands<T>& step) {
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  StageDemands<T> demands =
      v.generates ? pricer.pass_demands({v.decode, plan, v.decode_device, v.links}) : step;
  const auto settle = [&](MemoryDemand<T>& mine, const MemoryDemand<T>& prompt) {
    mine.kv_cache = mine.kv_cache * m.filled;
    if (!v.apart) mine.activations = max(mine.activations, prompt.activations);
  };
  settle(demands.first, prompts.first);
  settle(demands.last, prompts.last);
  return fullest(demands, v.decode.structure, v.plan, v.decode_device);
}

/// Adds the weights and the cache of the draft model to the memory of a decoding device.
template <class T>
void add_draft_model(const ServingViews<T>& v, const MicroBatches<T>& m, const Plan<T>& plan,
                     MemoryBreakdown<T>& memory) {
  Plan<T> draft_plan = v.draft_plan;
  draft_plan.batch = m.share.sequences;
  draft_plan.new_tokens = plan.new_tokens;
  draft_plan.context = plan.context;
  const auto held =
      v.pricing->template pricer<T>().pass_memory({v.draft, draft_plan, v.decode_device, v.links});
  const Data<T> more = held.weights + held.kv_cache;
  memory.weights += held.weights;
  memory.kv_cache += held.kv_cache;
  memory.fragmentation += more * v.decode_device.conventions.memory_fragmentation;
  memory.total += more * (1.0 + v.decode_device.conventions.memory_fragmentation);
}

/// Memory of both kinds of devices and the cache of a replica. @return the time in which the cache of the
/// prompts moves to the decoding devices
template <class T>
[[nodiscard]] Time<T> set_memory(const ServingViews<T>& v, const MicroBatches<T>& m, const Plan<T>& plan,
                                 const StageDemands<T>& prompts, const StageDemands<T>& step,
                                 ServingNumbers<T>& out) {
  out.memory = decoding_memory(v, m, plan, prompts, step);
  out.prefill_memory_use = out.memory;
  if (v.drafts) add_draft_model(v, m, plan, out.memory);
  const Pricer<T>& pricer = v.pricing->template pricer<T>();
  Plan<T> whole = plan;
  whole.batch = m.share.sequences;
  out.kv_cache = pricer.cache({v.decode, whole, v.decode_device, v.links});
  if (!v.apart) return Time<T>();
  StageDemands<T> held = prompts;
  held.first.kv_cache = held.first.kv_cache * m.filled;
  held.last.kv_cache = held.last.kv_cache * m.filled;
  out.prefill_memory_use = fullest(held, v.prefill.structure, v.plan, v.prefill_device);
  whole.context = v.prompt;
  return pricer.cache({v.prefill, whole, v.prefill_device, v.links}) / v.transfer;
}

/// Shares of the peak and of the time in which kernels run. A device that runs kernels draws its full power,
/// whichever side limits them.
template <class T>
void set_utilisation(const ServingViews<T>& v, const MicroBatches<T>& m, const PromptPass<T>& prompts,
                     const Time<T>& prefill_time, const DecodeStep<T>& step, const Time<T>& decoding,
                     ServingNumbers<T>& out) {
  const T one{1.0};
  out.prefill_mfu =
      m.share.filled *
      min(one, T(m.filled * prompts.cost.work / (v.prefill_device.compute.dense * v.plan.pp * prefill_time)));
  out.mfu =
      m.share.filled *
      min(one, T(m.filled * step.pass.cost.work / (v.decode_device.compute.dense * v.plan.pp * out.itl)));
  const T busy_prefill = min(one, T(m.inflight * prompts.busy / (v.plan.pp * prefill_time)));
  const T busy_decode = min(one, T(m.inflight * step.busy / (v.plan.pp * step.cycle)));
  const T time_decoding = v.generates ? T(decoding / (out.ttft + decoding)) : one;
  out.utilization = m.share.working * (time_decoding * busy_decode + (1.0 - time_decoding) * busy_prefill);
}

/// Share of a pass in launches, the dispatch and the wait for the host.
template <class T> [[nodiscard]] T dispatch_share(const PassCost<T>& c) {
  return c.overhead / (c.kernels() + c.network + c.host + c.overhead);
}

/// The first token of the last prompt in line: the passes before its own, its own, the move of its cache. No
/// server stands before a static batch.
template <class T>
void set_first_token(const PromptPasses<T>& prompts, const Time<T>& prefill_time, const Time<T>& moved,
                     ServingNumbers<T>& out) {
  const T share = dispatch_share(prompts.own_costs);
  out.ttft_queue = prefill_time - prompts.own;
  out.ttft_dispatch = prompts.own * share;
  out.ttft_prefill = prompts.own * (1.0 - share);
  out.ttft_egress = moved;
}

template <class T>
void set_parts(const PassCost<T>& prefill, const PassCost<T>& decode, ServingNumbers<T>& out) {
  out.prefill_compute = prefill.compute_bound;
  out.prefill_memory = prefill.memory_bound;
  out.prefill_network = prefill.network;
  out.prefill_overhead = prefill.overhead;
  out.decode_compute = decode.compute_bound;
  out.decode_memory = decode.memory_bound;
  out.decode_network = decode.network;
  out.decode_overhead = decode.overhead;
}

}  // namespace detail

/// Serving of a static batch.
///
/// The sequences of a replica are divided into micro-batches, one for each pipeline stage, so that all stages
/// work: prompts follow each other through the stages, chunk by chunk, and a decode step gives every sequence
/// a token in one cycle of all micro-batches. With one stage there is one micro-batch. A pass of prompts
/// takes up to a budget of tokens. A pass that is no captured graph lasts at least as long as the host needs
/// to launch its kernels.
/// @cite pope2023inference, section 2; agrawal2024sarathi; pinedo2016scheduling, theorem 6.1.8 (proportionate
/// flow shop)
template <class T> [[nodiscard]] ServingNumbers<T> serving_numbers(const ServingViews<T>& v) {
  if (v.issues) return serving_numbers(detail::launched(v));
  const T one{1.0};
  ServingNumbers<T> out;
  const T devices = v.plan.tp * v.plan.pp * v.plan.ep;
  out.replicas = v.accelerators / devices;
  const auto batches = detail::micro_batches(v, out.replicas);

  const auto passes = detail::prompt_passes(v, batches.plan);
  const auto& prompts = passes.all;
  out.chunk_time = prompts.longest;
  const Time<T> prefill_time = batches.inflight * prompts.slots + prompts.beside;

  Plan<T> plan = batches.plan;
  plan.new_tokens = one;
  plan.context = v.generates ? v.prompt + (v.output + 1.0) / 2.0 : v.prompt;  // token i of n sees i of them
  const auto step = detail::decode_step(v, plan, batches.inflight);
  out.itl = step.itl;

  plan.context = v.generates ? v.prompt + v.output : v.prompt;
  const Time<T> moved = detail::set_memory(v, batches, plan, prompts.demands, step.pass.demands, out);

  out.ttft = prefill_time + moved;
  detail::set_first_token(passes, prefill_time, moved, out);
  const T generated = v.generates ? v.output : one;
  // The first of the generated tokens comes with the prefill.
  const Time<T> decoding = out.itl * (generated - 1.0);
  out.request_latency = out.ttft + decoding;
  const auto sequences = Tokens<T>::from_base(v.batch);
  out.token_throughput = v.generates ? sequences * generated / out.request_latency : sequences / out.itl;
  out.throughput_per_accelerator = out.token_throughput / v.accelerators;

  detail::set_utilisation(v, batches, prompts, prefill_time, step, decoding, out);
  detail::set_parts(prompts.cost, step.pass.cost, out);
  return out;
}

}  // namespace mlsysim
