#pragma once
/// Latency, throughput and memory of replicas that serve a static batch, and the problem of any load.
///
///     itl     = max(decode, m decode_slowest_stage)          a cycle of all micro-batches
///     ttft    = m prefill_slowest_stage + prefill_rest + kv_transfer          of the last request in line
///     latency = ttft + (n - 1) itl          throughput = batch n / latency
///
/// m: micro-batches in flight, one per pipeline stage. n: output tokens. prefill_rest: time of the longest
/// chunk on the other stages [s]. All requests arrive together. With a draft model, itl follows from the
/// tokens that a check yields (physics/speculative.hpp). Steady load: estimate/detail/steady.hpp.
/// @cite pope2023inference, section 2; agrawal2024sarathi
/// Example: Llama-3.1-70B, 8x H100, TP 8, bf16, batch 16, 2,048 in, 512 out: ITL 11.1 ms, TTFT 1.29 s.
/// 1.288 + 511 x 0.01111 = 6.97 s per request, 1,176 tokens/s.

#include <mlsysim/estimate/chunks.hpp>
#include <mlsysim/estimate/first_token.hpp>
#include <mlsysim/estimate/host_embedding.hpp>
#include <mlsysim/estimate/length_spread.hpp>
#include <mlsysim/estimate/limits.hpp>
#include <mlsysim/estimate/load.hpp>
#include <mlsysim/estimate/macro.hpp>
#include <mlsysim/estimate/replicas.hpp>
#include <mlsysim/estimate/serving_parts.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

namespace mlsysim {

/// Replicas that serve a load: requests in flight, requests that arrive at a rate, or a static batch.
template <class T = double> struct ServingProblem {
  T batch_size{1.0};  ///< requests of all replicas: in flight, or of the burst
  RequestRate<T> arrival_rate = RequestRate<T>::from_base(T{1.0});  ///< of all replicas
  T seq_len{1.0}, output_tokens{1.0}, cached_prefix_len{0.0};       ///< tokens of a sequence
  LengthSpread<T> prompt_lengths, answer_lengths;                   ///< in steady state
  T prefill_chunk_tokens{1.0};                                      ///< of a pass of prompts
  T accelerators{1.0};                                              ///< of all replicas
  Plan<T> plan;                                                     ///< degrees and bytes
  T draft_acceptance_rate{0.0}, draft_tokens{1.0};  ///< chance that a proposal is kept; proposals a check
  T draft_acceptance_decay{1.0};  ///< factor of it from one proposal to the next, where it falls
  T acceptance_length{1.0};       ///< tokens that a check yields, where that was measured
  Device<T> device;               ///< that computes the prompts
  Links<T> links;
  ModelView<T> model;  ///< its structure is that of the prompts
  DraftModel<T> draft;
  Device<T> decode_device;         ///< that generates the tokens of a disaggregated replica
  Bandwidth<T> network_bandwidth;  ///< over which the cache of its prompts moves
  PromptPool<T> prefill;           ///< of a steady state
  MacroProblem<T> macro;
  PlanLimits<T> limits;
  Time<T> prompt_launch_overhead;      ///< host time of one kernel of a prompt, where the engine has its own
  Time<T> prompt_layer;                ///< host time of one layer in a pass with prompts
  T graph_batch{0.0};                  ///< requests of a rank up to which a step is replayed from a graph
  DataPerParam<T> mean_weight_bytes;   ///< of a weight of the whole model
  EngineTimes<T> engine;               ///< what the software adds to a pass in steady state
  T page_tokens{16.0}, kv_share{1.0};  ///< of the cache of a steady state
  CacheRule<T> cache_rule;             ///< of its memory, whose share is `kv_share`
  const FidelityModel* fidelity_model = nullptr;
  Load load = Load::burst;
  Structure decode;               ///< of a step of decoding
  double chunks = 1;              ///< of a prompt
  bool has_token_budget = false;  ///< a pass takes at most `prefill_chunk_tokens` of a rank; else all at once
  bool chunked_prefill = false;   ///< longer prompts are taken chunk by chunk; else each has its own pass
  bool eager_steps = false;       ///< some passes are no captured graphs: `launch_overhead_*` say which
  PromptLaunch prompt_launch = PromptLaunch::graph;
  bool generates = false;      ///< the length of the answer is given
  bool disaggregated = false;  ///< prompts are computed on devices of their own
  bool drafts = false;         ///< a small model proposes tokens
  bool encodes = false;        ///< an encoder reads the prompt, and the answer starts from one token
  Acceptance acceptance = Acceptance::independent;

  static constexpr auto fields() {
    using P = ServingProblem;
    return rows(
        field(&P::batch_size, key::batch_size), field(&P::arrival_rate, key::arrival_rate),
        field(&P::seq_len, key::seq_len), field(&P::output_tokens, key::output_tokens),
        field(&P::cached_prefix_len, key::cached_prefix_len),
        field(&P::prompt_lengths, "seq_len_spread", "", ""),
        field(&P::answer_lengths, "output_tokens_spread", "", ""),
        field(&P::prefill_chunk_tokens, key::prefill_chunk_tokens).fixed(),  // it decides the chunks
        field(&P::accelerators, key::accelerators), field(&P::plan, "plan", "", ""),
        field(&P::draft_acceptance_rate, key::draft_acceptance_rate),
        field(&P::draft_tokens, key::draft_tokens),
        field(&P::draft_acceptance_decay, "draft_acceptance_decay", "", "").within(0.01, 1),
        field(&P::acceptance_length, "acceptance_length", "", "").within(1, 1025),
        field(&P::device, "hardware", "", ""), field(&P::links, "links", "", ""),
        field(&P::model, "", "", ""), field(&P::draft, "draft", "", ""),
        field(&P::decode_device, "decode_hardware", "", ""),
        field(&P::network_bandwidth, key::network_bandwidth), field(&P::prefill, "", "", ""),
        field(&P::macro, "", "", ""), field(&P::limits, "limits", "", ""),
        field(&P::prompt_launch_overhead, "prompt_launch_overhead", "us", "host time of a prompt's kernel")
            .fixed(),
        field(&P::prompt_layer, "prompt_layer", "ms", "host time of a layer of a prompt").fixed(),
        field(&P::graph_batch, "graph_batch", "", "requests of the largest captured step").fixed(),
        field(&P::mean_weight_bytes, "mean_weight_bytes", "B/param", "storage of a weight of the whole model")
            .fixed(),
        field(&P::engine, "engine", "", ""),
        field(&P::page_tokens, "page_tokens", "", "tokens of a page of the cache").at_least(1),
        field(&P::kv_share, "kv_share", "", "share of the free memory that the cache may take")
            .within(0.01, 1),
        field(&P::cache_rule, "cache_rule", "", ""));
  }
  static constexpr auto categories() {
    using P = ServingProblem;
    return rows(
        category(&P::load, "load", "how requests reach the replicas"),
        category(&P::fidelity_model, "fidelity_model", "level of detail"),
        category(&P::decode, "decode", "operators of a step of decoding"),
        category(&P::chunks, "chunks", "chunks of a prompt"),
        category(&P::has_token_budget, "has_token_budget", "a pass of prompts has a budget of tokens"),
        category(&P::chunked_prefill, "chunked_prefill", "longer prompts are taken chunk by chunk"),
        category(&P::eager_steps, "eager_steps", "some passes are no captured graphs"),
        category(&P::prompt_launch, "prompt_launch", "how the kernels of a prompt are launched"),
        category(&P::generates, "generates", "the length of the answer is given"),
        category(&P::disaggregated, "disaggregated", "prompts are computed on devices of their own"),
        category(&P::drafts, "drafts", "a small model proposes tokens"),
        category(&P::encodes, "encodes", "an encoder reads the prompt"),
        category(&P::acceptance, "acceptance", "how many proposals are kept"));
  }

  /// Tokens of a sequence that the decoder holds before it generates any.
  [[nodiscard]] T prompt_tokens() const { return encodes ? T{UsualRequest::begun} : seq_len; }
  /// Degrees and bytes of a pass, with what its encoder reads.
  [[nodiscard]] Plan<T> pass_plan() const {
    Plan<T> out = plan;
    if (encodes) out.encoded = seq_len;
    return out;
  }
  /// Degrees of a worker that only processes prompts.
  [[nodiscard]] Plan<T> worker_plan() const {
    Plan<T> out = pass_plan();
    out.tp = select(prefill.tp > T{0.0}, prefill.tp, plan.tp);
    out.ep = select(prefill.ep > T{0.0}, prefill.ep, plan.ep);
    return out;
  }
  /// Devices of all such workers.
  [[nodiscard]] T worker_devices() const {
    const Plan<T> worker = worker_plan();
    return prefill.workers * (worker.tp * worker.pp * worker.ep);
  }
  /// Replicas that generate tokens.
  [[nodiscard]] T replicas() const {
    const T each = plan.tp * plan.pp * plan.ep;
    if (!prefill.apart) return accelerators / each;
    if (prefill.counted) return prefill.decode_replicas;
    return max(T((accelerators - worker_devices()) / each), T{1e-3});  // none is no plan
  }
  /// Devices of all replicas and workers, and those that have nothing to do.
  [[nodiscard]] T devices() const {
    if (!prefill.all) return accelerators;
    return worker_devices() + prefill.decode_replicas * (plan.tp * plan.pp * plan.ep);
  }
  /// The device that generates the tokens.
  [[nodiscard]] const Device<T>& step_device() const { return disaggregated ? decode_device : device; }
};

/// Latency, throughput, memory and cost of replicas that serve a load.
template <class T = double> struct ServingEstimate {
  FeasibilityEstimate<T> feasibility;
  Time<T> ttft, itl, request_latency;
  Time<T> ttft_ingress, ttft_queue, ttft_dispatch, ttft_prefill, ttft_egress;
  TokenRate<T> token_throughput, throughput_per_accelerator;
  T prefill_mfu{0.0}, mfu{0.0}, replicas{1.0}, utilization{0.0};
  Time<T> prefill_chunk_time;
  Time<T> prefill_compute, prefill_memory, prefill_network, prefill_overhead;
  Time<T> decode_compute, decode_memory, decode_network, decode_overhead;
  Data<T> kv_cache_size;                          ///< of one replica, at its longest
  MemoryBreakdown<T> memory, prefill_memory_use;  ///< of a decoding and of a prefilling device
  SteadyEstimate<T> steady;                       ///< where the load is one
  MacroEstimate<T> macro;                         ///< where something is charged

  static constexpr auto fields() {
    using R = ServingEstimate;
    return join(rows(field(&R::feasibility, "", "", "")), reported_fields(),
                rows(field(&R::steady, "", "", ""), field(&R::macro, "", "", "")));
  }
  static constexpr auto reported_fields() {
    using R = ServingEstimate;
    return join(
        rows(field(&R::ttft, key::ttft)), first_token_rows<R>(),
        rows(field(&R::itl, key::itl), field(&R::request_latency, key::request_latency),
             field(&R::token_throughput, key::token_throughput),
             field(&R::throughput_per_accelerator, "throughput_per_accelerator", "token/s",
                   "generated tokens of one device"),
             field(&R::prefill_mfu, "prefill_mfu", "", "model FLOPs utilization of the prefill"),
             field(&R::mfu, key::mfu), field(&R::replicas, "replicas", "", "copies of the model"),
             field(&R::utilization, key::utilization), field(&R::prefill_chunk_time, key::prefill_chunk_time),
             field(&R::prefill_compute, "prefill_compute", "ms",
                   "compute-bound kernels of the prompt of a micro-batch, all stages"),
             field(&R::prefill_memory, "prefill_memory", "ms", "memory-bound kernels of the prompt"),
             field(&R::prefill_network, "prefill_network", "ms",
                   "collectives of the prompt, and what its host and host link take"),
             field(&R::prefill_overhead, "prefill_overhead", "ms", "launches and dispatch of the prompt"),
             field(&R::decode_compute, "decode_compute", "ms",
                   "compute-bound kernels of a decode step of a micro-batch, all stages"),
             field(&R::decode_memory, "decode_memory", "ms", "memory-bound kernels of a decode step"),
             field(&R::decode_network, "decode_network", "ms",
                   "collectives of a decode step, and what its host and host link take"),
             field(&R::decode_overhead, "decode_overhead", "ms",
                   "launches, dispatch and host of a decode step"),
             field(&R::kv_cache_size, key::kv_cache_size),
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
template <class T> [[nodiscard]] Time<T> pipeline_cycle(const PassEstimate<T>& pass, const T& inflight) {
  return max(pass.total, Time<T>(inflight * pass.slot));
}

/// A cycle in which the target checks what a draft model proposed, after the proposals of the first
/// micro-batch. The stage that holds the draft model, which takes `drafting` for a micro-batch, drafts for
/// every one of them.
template <class T>
[[nodiscard]] Time<T> checked_cycle(const PassEstimate<T>& check, const Time<T>& drafting,
                                    const T& inflight) {
  return max(check.total, Time<T>(inflight * check.slot + (inflight - 1.0) * drafting));
}

/// The sequences of a replica, divided into micro-batches.
template <class T> struct MicroBatches {
  BatchShare<T> share;
  Plan<T> plan;     ///< of one micro-batch
  T inflight{1.0};  ///< micro-batches
  T filled{1.0};    ///< micro-batches if each were full
};

template <class T> [[nodiscard]] MicroBatches<T> micro_batches(const ServingProblem<T>& v) {
  MicroBatches<T> m;
  m.share = share_batch(v.batch_size, v.replicas());
  m.plan = v.pass_plan();
  m.plan.batch = ceil_div(m.share.sequences, v.plan.pp);
  m.inflight = ceil_div(m.share.sequences, m.plan.batch);
  m.filled = m.share.sequences / m.plan.batch;
  return m;
}

/// Host time of one kernel of a step of `requests` a rank: none where a graph of that size was captured.
template <class T> [[nodiscard]] Time<T> step_launch_overhead(const ServingProblem<T>& p, const T& requests) {
  return select(requests > p.graph_batch, p.step_device().kernels.issue, Time<T>());
}

/// Host time of one kernel of a prompt.
template <class T> [[nodiscard]] Time<T> prompt_launch_overhead(const ServingProblem<T>& p) {
  switch (p.prompt_launch) {
    case PromptLaunch::graph:
      break;
    case PromptLaunch::device:
      return p.device.kernels.issue;
    case PromptLaunch::engine:
      return p.prompt_launch_overhead;
  }
  return Time<T>();
}

/// Values that all passes of a problem share: the division of its sequences, and the host time of a kernel.
template <class T> struct ServingPasses {
  MicroBatches<T> batches;
  ModelView<T> decode;  ///< the model in a step of decoding
  Plan<T> draft_plan;   ///< of the model that proposes tokens
  Time<T> prompt_launch, step_launch;

  explicit ServingPasses(const ServingProblem<T>& p)
      : batches(micro_batches(p)),
        decode(p.model),
        prompt_launch(p.device.kernels.issue),
        step_launch(p.step_device().kernels.issue) {
    decode.structure = p.decode;
    if (p.eager_steps) {
      prompt_launch = prompt_launch_overhead(p);
      step_launch = step_launch_overhead(p, T(ceil_div(batches.plan.batch, p.plan.ep)));
    }
    if (!p.drafts) return;
    draft_plan = p.plan;
    draft_plan.tp = p.draft.tp;
    draft_plan.pp = draft_plan.ep = T{1.0};
    draft_plan.weight_bytes = p.draft.weight_bytes;
    draft_plan.tower_bytes = {};
  }
};

/// A pass of a model on the device that computes prompts.
template <class T>
[[nodiscard]] PassEstimate<T> priced_prompt(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                            const ModelView<T>& model, const Plan<T>& plan) {
  return v.fidelity_model->template estimator<T>().prefill(
      {model, plan, passes.prompt_launch, v.prompt_layer}, v.device, v.links, v.seq_len);
}
/// A pass of a model on the device that generates the tokens.
template <class T>
[[nodiscard]] PassEstimate<T> priced_step(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                          const ModelView<T>& model, const Plan<T>& plan) {
  return v.fidelity_model->template estimator<T>().decode({model, plan, passes.step_launch}, v.step_device(),
                                                          v.links);
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

template <class T> [[nodiscard]] PromptShare<T> share_prompts(const ServingProblem<T>& v, const T& prompts) {
  PromptShare<T> out{.passes = T{1.0}, .each = prompts, .last = prompts, .filled = T{1.0}};
  if (!v.has_token_budget) return out;
  const T together =
      max(T(floor(v.prefill_chunk_tokens / max(T(v.seq_len - v.cached_prefix_len), T{1.0}))), T{1.0});
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
  PassBreakdown<T> cost;
  StageDemands<T> demands;  ///< the cache of the last chunk, the largest working set of any
};

template <class T>
[[nodiscard]] PromptPass<T> mixed_step_time(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                            Plan<T> plan) {
  PromptPass<T> out;
  const double last = v.chunks - 1;
  T done = v.cached_prefix_len;
  for_chunks(v.chunks, [&](double i, double times) {
    // One after the other, the chunks follow each other; where some stand for others, each begins at its
    // place.
    if (v.chunks > kChunksPriced) done = v.cached_prefix_len + T{i} * v.prefill_chunk_tokens;
    plan.new_tokens =
        last == 0 ? v.prompt_tokens() - v.cached_prefix_len : min(v.prefill_chunk_tokens, v.seq_len - done);
    done = done + plan.new_tokens;
    plan.context = done;
    const PassEstimate<T> part = priced_prompt(v, passes, v.model, plan);
    const bool alone = times == 1.0;
    out.slots += alone ? part.slot : part.slot * T{times};
    out.beside = i == 0 ? part.total - part.slot : max(out.beside, part.total - part.slot);
    out.longest = max(out.longest, part.total);
    const PassBreakdown<T> cost = alone ? part.cost : part.cost * T{times};
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
  Time<T> own;                 ///< the pass of the last prompt in line
  PassBreakdown<T> own_costs;  ///< costs of that pass
};

template <class T>
[[nodiscard]] PromptPasses<T> prompt_passes(const ServingProblem<T>& v, const ServingPasses<T>& passes) {
  Plan<T> plan = passes.batches.plan;
  const PromptShare<T> share = share_prompts(v, plan.batch);
  const T prompts = plan.batch;
  plan.batch = share.each;
  PromptPasses<T> out;
  PromptPass<T>& all = out.all;
  all = mixed_step_time(v, passes, plan);
  out.own = all.slots + all.beside;
  out.own_costs = all.cost;
  if (!v.has_token_budget) return out;
  PromptPass<T> last = all;
  if (!same_number(share.last, share.each)) {
    plan.batch = share.last;
    last = mixed_step_time(v, passes, plan);
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
template <class T> [[nodiscard]] T yield_of_check(const ServingProblem<T>& v) {
  if (v.acceptance == Acceptance::measured) return v.acceptance_length;
  return apply<DecayingAcceptance, T>({v.draft_acceptance_rate, v.draft_acceptance_decay, v.draft_tokens})
      .expected_tokens;
}

/// A step of decoding: one pass of a micro-batch, or proposals of the draft model and their check.
/// @param plan of a micro-batch, with one new token at the mean context
/// @return the pass of the model; its total is a cycle, in which every micro-batch goes through all stages,
/// and its busy time that of one micro-batch
template <class T>
[[nodiscard]] PassEstimate<T> decode_step(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                          const Plan<T>& plan, Time<T>& itl) {
  const T& inflight = passes.batches.inflight;
  PassEstimate<T> out = priced_step(v, passes, passes.decode, plan);
  out.total = itl = pipeline_cycle(out, inflight);
  if (!v.drafts) return out;
  Plan<T> draft_plan = passes.draft_plan, check = plan;
  draft_plan.batch = plan.batch;
  draft_plan.new_tokens = plan.new_tokens;
  draft_plan.context = plan.context;
  const PassEstimate<T> proposal = priced_step(v, passes, v.draft.model, draft_plan);
  check.new_tokens = v.draft_tokens + 1.0;
  check.context = plan.context + v.draft_tokens;
  const PassEstimate<T> verify = priced_step(v, passes, passes.decode, check);
  const Time<T> drafting = v.draft_tokens * proposal.total, round = checked_cycle(verify, drafting, inflight);
  itl = v.acceptance == Acceptance::independent
            ? apply<SpeculativeTokenTime, T>({proposal.total, round, v.draft_acceptance_rate, v.draft_tokens})
                  .itl
            : (drafting + round) / yield_of_check(v);
  out.total = drafting + round;
  out.busy = verify.busy + v.draft_tokens * proposal.busy;
  return out;
}

/// Memory of a decoding device: all weights, the cache of all sequences at its longest, and the larger
/// working set of those that the devices have.
/// @param plan of a micro-batch, at the longest context
template <class T>
[[nodiscard]] MemoryBreakdown<T> decoding_memory(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                                 const Plan<T>& plan, const StageDemands<T>& prompts,
                                                 const StageDemands<T>& step) {
  StageDemands<T> demands =
      v.generates ? v.fidelity_model->template estimator<T>().pass_demands(passes.decode, plan) : step;
  const auto settle = [&](MemoryDemand<T>& mine, const MemoryDemand<T>& prompt) {
    mine.kv_cache = mine.kv_cache * passes.batches.filled;
    if (!v.disaggregated) mine.activations = max(mine.activations, prompt.activations);
  };
  settle(demands.first, prompts.first);
  settle(demands.last, prompts.last);
  return fullest(without_embedding(demands, passes.decode, plan), v.decode, v.plan, v.step_device());
}

/// Adds the weights and the cache of the draft model to the memory of a decoding device.
template <class T>
void add_draft_model(const ServingProblem<T>& v, const ServingPasses<T>& passes, const Plan<T>& plan,
                     MemoryBreakdown<T>& memory) {
  Plan<T> draft_plan = passes.draft_plan;
  draft_plan.batch = passes.batches.share.sequences;
  draft_plan.new_tokens = plan.new_tokens;
  draft_plan.context = plan.context;
  const Device<T>& device = v.step_device();
  auto held = v.fidelity_model->template estimator<T>().pass_memory(v.draft.model, draft_plan, device);
  held.weights = v.draft.weights(held.weights, v.draft_tokens);
  const Data<T> more = held.weights + held.kv_cache;
  memory.weights += held.weights;
  memory.kv_cache += held.kv_cache;
  memory.fragmentation += more * device.conventions.memory_fragmentation;
  memory.total += more * (1.0 + device.conventions.memory_fragmentation);
}

/// Memory of both kinds of devices and the cache of a replica. @return the time in which the cache of the
/// prompts moves to the decoding devices
template <class T>
[[nodiscard]] Time<T> set_memory(const ServingProblem<T>& v, const ServingPasses<T>& passes,
                                 const Plan<T>& plan, const StageDemands<T>& prompts,
                                 const StageDemands<T>& step, ServingEstimate<T>& out) {
  const PassEstimator<T>& estimator = v.fidelity_model->template estimator<T>();
  const MicroBatches<T>& m = passes.batches;
  out.memory = decoding_memory(v, passes, plan, prompts, step);
  out.prefill_memory_use = out.memory;
  if (v.drafts) add_draft_model(v, passes, plan, out.memory);
  Plan<T> whole = plan;
  whole.batch = m.share.sequences;
  out.kv_cache_size = estimator.cache(passes.decode, whole);
  if (!v.disaggregated) return Time<T>();
  StageDemands<T> held = prompts;
  held.first.kv_cache = held.first.kv_cache * m.filled;
  held.last.kv_cache = held.last.kv_cache * m.filled;
  out.prefill_memory_use =
      fullest(without_embedding(held, v.model, v.plan), v.model.structure, v.plan, v.device);
  whole.context = v.prompt_tokens();
  return estimator.cache(v.model, whole) / v.network_bandwidth;
}

/// Shares of the peak and of the time in which kernels run. A device draws its full power while they do.
template <class T>
void set_utilisation(const ServingProblem<T>& v, const MicroBatches<T>& m, const PromptPass<T>& prompts,
                     const Time<T>& prefill_time, const PassEstimate<T>& step, const Time<T>& decoding,
                     ServingEstimate<T>& out) {
  const T one{1.0};
  out.prefill_mfu =
      m.share.filled *
      min(one, T(m.filled * prompts.cost.work / (v.device.compute.dense * v.plan.pp * prefill_time)));
  out.mfu = m.share.filled *
            min(one, T(m.filled * step.cost.work / (v.step_device().compute.dense * v.plan.pp * out.itl)));
  const T busy_prefill = min(one, T(m.inflight * prompts.busy / (v.plan.pp * prefill_time)));
  const T busy_decode = min(one, T(m.inflight * step.busy / (v.plan.pp * step.total)));
  const T time_decoding = v.generates ? T(decoding / (out.ttft + decoding)) : one;
  out.utilization = m.share.working * (time_decoding * busy_decode + (1.0 - time_decoding) * busy_prefill);
}

/// Share of a pass in launches, dispatch and waits for the host.
template <class T> [[nodiscard]] T dispatch_share(const PassBreakdown<T>& c) {
  return c.overhead / (c.kernels() + c.network + c.host + c.overhead);
}

/// The first token of the last prompt in line: no server stands before a static batch.
template <class T>
void set_first_token(const PromptPasses<T>& prompts, const Time<T>& prefill_time, const Time<T>& moved,
                     ServingEstimate<T>& out) {
  const T share = dispatch_share(prompts.own_costs);
  out.ttft_queue = prefill_time - prompts.own;
  out.ttft_dispatch = prompts.own * share;
  out.ttft_prefill = prompts.own * (1.0 - share);
  out.ttft_egress = moved;
}

template <class T>
void set_parts(const PassBreakdown<T>& prefill, const PassBreakdown<T>& decode, ServingEstimate<T>& out) {
  out.prefill_compute = prefill.compute_bound;
  out.prefill_memory = prefill.memory_bound;
  out.prefill_network = prefill.network + prefill.host;
  out.prefill_overhead = prefill.overhead;
  out.decode_compute = decode.compute_bound;
  out.decode_memory = decode.memory_bound;
  out.decode_network = decode.network + decode.host;
  out.decode_overhead = decode.overhead;
}

/// Serving of a static batch: all but whether it fits and what is charged. Prompts follow each other through
/// the stages chunk by chunk (pinedo2016scheduling, theorem 6.1.8).
template <class T> [[nodiscard]] ServingEstimate<T> serving_estimate(const ServingProblem<T>& v) {
  const T one{1.0};
  const ServingPasses<T> common(v);
  const auto& batches = common.batches;
  ServingEstimate<T> out;
  out.replicas = v.replicas();

  const auto passes = prompt_passes(v, common);
  const auto& prompts = passes.all;
  out.prefill_chunk_time = prompts.longest;
  const Time<T> prefill_time = batches.inflight * prompts.slots + prompts.beside;

  Plan<T> plan = batches.plan;
  plan.new_tokens = one;
  // Token i of n sees i of them.
  const T prompt = v.prompt_tokens();
  plan.context = v.generates ? prompt + (v.output_tokens + 1.0) / 2.0 : prompt;
  const auto step = decode_step(v, common, plan, out.itl);

  plan.context = v.generates ? prompt + v.output_tokens : prompt;
  const Time<T> moved = set_memory(v, common, plan, prompts.demands, step.demands, out);
  out.ttft = prefill_time + moved;
  set_first_token(passes, prefill_time, moved, out);
  const T generated = v.generates ? v.output_tokens : one;
  // The first of the generated tokens comes with the prefill.
  const Time<T> decoding = out.itl * (generated - 1.0);
  out.request_latency = out.ttft + decoding;
  const auto sequences = Tokens<T>::from_base(v.batch_size);
  out.token_throughput = v.generates ? sequences * generated / out.request_latency : sequences / out.itl;
  out.throughput_per_accelerator = out.token_throughput / v.accelerators;

  set_utilisation(v, batches, prompts, prefill_time, step, decoding, out);
  set_parts(prompts.cost, step.cost, out);
  return out;
}

}  // namespace detail
}  // namespace mlsysim
