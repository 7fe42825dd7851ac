#pragma once
/// One replica with in-flight (continuous) batching in steady state: its passes, its problem and its
/// estimate.
///
///     in_flight = rate (ttft + (output_tokens - 1) itl)                 Little's law
///     itl       = (decode_step_time + min(prompts_per_step, 1) added) / tokens_per_pass
///
/// rate: requests finished per second. ttft: mean time to first token, the wait for a slot included [s].
/// added: time that prompts add to a step [s]. Laws: physics/in_flight.hpp.
/// This estimate is in double only: it leaves out values that a run which ends, stays in step or falls behind
/// does not have. A ServingProblem is over any scalar and takes the same steps (estimate/detail/steady.hpp).
/// @cite yu2022orca, section 4; agrawal2024sarathi
/// Example: Llama-3.1-8B on an H100, bf16, 32 requests in flight, 2,048 tokens in, 256 out, usual engine.
/// ITL 16.3 ms, TTFT 94 ms, 7.54 requests/s: 7.54 x (0.0943 + 255 x 0.01628) = 32.

#include <mlsysim/estimate/cache_rule.hpp>
#include <mlsysim/estimate/first_token.hpp>
#include <mlsysim/estimate/length_spread.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <optional>

namespace mlsysim {

/// How requests arrive.
enum class ArrivalProcess : std::uint8_t {
  queued,  ///< all at once, more than run: the queue never empties
  random,  ///< at a rate, each by itself (Poisson)
  closed   ///< a new one for each that is finished
};

/// The passes of one model on one replica of tp x pp x ep devices. Requests and prompts are those of one
/// micro-batch.
template <class T = double> struct ReplicaPasses {
  Plan<T> plan;             ///< degrees and bytes
  Device<T> prompt_device;  ///< that computes prompts
  Device<T> step_device;    ///< that generates tokens
  Links<T> links;
  ModelView<T> model;     ///< its structure is that of prompts
  Time<T> prompt_launch;  ///< host time of one kernel of a prompt
  Time<T> prompt_layer;   ///< host time of one layer in a pass with prompts
  T graph_batch{0.0};     ///< requests of a rank up to which a step is replayed from a graph
  const FidelityModel* fidelity_model = nullptr;
  Structure decode_structure;  ///< of a step of decoding
  bool eager_steps = false;    ///< larger steps are no captured graphs
  bool encodes = false;        ///< an encoder reads the prompts, `plan.encoded` tokens each

  static constexpr auto fields() {
    using P = ReplicaPasses;
    return rows(
        field(&P::plan, "plan", "", ""), field(&P::prompt_device, "prompt_hardware", "", ""),
        field(&P::step_device, "step_hardware", "", ""), field(&P::links, "links", "", ""),
        field(&P::model, "", "", ""),
        field(&P::prompt_launch, "prompt_launch", "us", "host time of a prompt's kernel").non_negative(),
        field(&P::prompt_layer, "prompt_layer", "ms", "host time of a layer of a prompt").non_negative(),
        field(&P::graph_batch, "graph_batch", "", "requests of the largest captured step").non_negative());
  }
  static constexpr auto categories() {
    using P = ReplicaPasses;
    return rows(category(&P::fidelity_model, "fidelity_model", "level of detail"),
                category(&P::decode_structure, "decode", "operators of a step of decoding"),
                category(&P::eager_steps, "eager_steps", "larger steps are no captured graphs"),
                category(&P::encodes, "encodes", "an encoder reads the prompts"));
  }

  /// `new_tokens` of each of `prompts`, which then hold `context` tokens.
  /// @param read share of the prompts that the encoder reads in this pass
  [[nodiscard]] PassEstimate<T> prefill(const T& prompts, const T& new_tokens, const T& context,
                                        const T& read = T{1.0}) const {
    Plan<T> p = pass(prompts, new_tokens, context);
    if (encodes) p.encoded = p.encoded * read;
    return fidelity_model->template estimator<T>().prefill({model, p, prompt_launch, prompt_layer},
                                                           prompt_device, links, context);
  }
  /// One step of `requests` that hold `context` tokens.
  [[nodiscard]] PassEstimate<T> decode(const T& requests, const T& context) const {
    return check(requests, context, T{1.0});
  }
  /// A pass that checks what was proposed: a step with `new_tokens` of each request.
  [[nodiscard]] PassEstimate<T> check(const T& requests, const T& context, const T& new_tokens) const {
    const Plan<T> p = pass(requests, new_tokens, context);
    return fidelity_model->template estimator<T>().decode({decoding(), p, step_launch(requests)}, step_device,
                                                          links);
  }
  /// Requests of `tokens` that fit in the pool of the engine, or beside the weights when the cache may take
  /// `kv_share` of what is left; 0 where the weights alone do not fit.
  [[nodiscard]] T capacity(const T& tokens, const T& kv_share, const CacheRule<T>& rule) const {
    const auto m = memory(plan.ep, tokens);
    const Data<T> pool = this->pool(m, kv_share, rule), none;
    // Without a shape no cache is counted (noted with the problem) and any number fits.
    const T uncounted{decode_structure.known ? 0.0 : 65536.0};
    const Data<T> least = Data<T>::from_base(T{1e-9});  // a cache of nothing does not divide
    T each = max(pool, none) / max(m.kv_cache, least);
    if (rule.known) each = max(T(each - rule.spare_tokens / tokens), T{0.0});
    const T fit = plan.ep * floor(each);
    return select(pool > none, select(m.kv_cache > none, fit, uncounted), T{0.0});
  }
  /// Memory of the cache on a device: the pool of the engine, or a share of what all else leaves. There is no
  /// pool where the stated bytes have no room.
  [[nodiscard]] Data<T> pool(const MemoryBreakdown<T>& m, const T& kv_share, const CacheRule<T>& rule) const {
    if (!rule.known) return kv_share * (m.capacity - (m.total - m.kv_cache));
    const Data<T> none,
        left = pool_of<T>(rule.share_of, kv_share,
                          {m.capacity, m.weights, m.reserve, activations(rule.pass_tokens), rule.margin});
    return select(rule.stated > none, select(left >= rule.stated, rule.stated, none), left);
  }
  /// Adds to the reserve what the engine keeps from its cache.
  void add_kept(const T& kv_share, const CacheRule<T>& rule, MemoryBreakdown<T>& m) const {
    const Data<T> kept = max(m.capacity - (m.total - m.kv_cache) - pool(m, kv_share, rule), Data<T>());
    m.reserve += kept;
    m.total += kept;
  }
  /// Working set of the largest pass of prompts, of so many tokens on each rank.
  [[nodiscard]] Data<T> activations(const T& tokens) const {
    const auto d = fidelity_model->template estimator<T>().pass_demands(model, pass(plan.ep, tokens, tokens));
    return max(d.first.activations, d.last.activations);
  }
  /// Memory demands of the two ends of the pipeline in a step of `requests` requests of `tokens` tokens each.
  [[nodiscard]] StageDemands<T> demands(const T& requests, const T& tokens) const {
    const Plan<T> p = pass(requests, T{1.0}, tokens);
    return without_embedding(fidelity_model->template estimator<T>().pass_demands(decoding(), p), decoding(),
                             p);
  }
  /// Memory of a device in that step.
  [[nodiscard]] MemoryBreakdown<T> memory(const T& requests, const T& tokens) const {
    return fullest(demands(requests, tokens), decode_structure, pass(requests, T{1.0}, tokens), step_device);
  }
  /// Cache of one request of `tokens`.
  [[nodiscard]] Data<T> cache(const T& tokens) const {
    return fidelity_model->template estimator<T>().cache(decoding(), pass(T{1.0}, T{1.0}, tokens));
  }

 private:
  [[nodiscard]] Plan<T> pass(const T& sequences, const T& new_tokens, const T& context) const {
    Plan<T> p = plan;
    p.batch = sequences;
    p.new_tokens = new_tokens;
    p.context = context;
    return p;
  }
  /// Host time of one kernel of a step: none where a graph of that size was captured.
  [[nodiscard]] Time<T> step_launch(const T& requests) const {
    const Time<T>& each = step_device.kernels.issue;
    return eager_steps ? select(requests / plan.ep > graph_batch, each, Time<T>()) : each;
  }
  [[nodiscard]] ModelView<T> decoding() const {
    ModelView<T> m = model;
    m.structure = decode_structure;
    return m;
  }
};

/// The passes of a replica that serves. Engines bring their own kernels for routed experts: in a step they
/// multiply by warp, 16 rows at a time, where a library fills a warp group's 64; prompts fill whole tiles.
template <class T> [[nodiscard]] ReplicaPasses<T> replica_passes(const ServingProblem<T>& v) {
  const T warp_rows{16.0};
  ReplicaPasses<T> out;
  out.plan = v.pass_plan();
  out.prompt_device = v.device;
  out.step_device = v.step_device();
  if (T& rows = out.step_device.compute.matrix_rows; v.fidelity_model->prices_engines() && v.decode.moe)
    rows = min(rows, warp_rows);
  out.links = v.links;
  out.prompt_launch = v.eager_steps ? detail::prompt_launch_overhead(v) : v.device.kernels.issue;
  out.prompt_layer = v.prompt_layer;
  out.graph_batch = v.graph_batch;
  out.eager_steps = v.eager_steps;
  out.encodes = v.encodes;
  out.fidelity_model = v.fidelity_model;
  out.decode_structure = v.decode;
  out.model = v.model;
  return out;
}

/// One replica whose requests join and leave a running batch.
template <class T = double> struct InFlightProblem {
  T seq_len{1.0}, output_tokens{1.0}, cached_prefix_len{0.0};  ///< tokens of a request
  LengthSpread<T> prompt_lengths, answer_lengths;
  T prefill_chunk_tokens{1.0};  ///< of a pass of prompts
  RequestRate<T> arrival_rate;  ///< of random arrivals
  T concurrency{1.0};           ///< requests of a closed loop
  T max_batch_size{1.0};        ///< most requests that the engine runs, where it has a limit
  T num_requests{1.0};          ///< of the whole run, where it ends
  T arrival_variation{1.0};     ///< variance over mean of random arrivals
  T scheduler_steps{1.0};       ///< that the host schedules at once
  T page_tokens{16.0}, kv_share{1.0};
  CacheRule<T> cache_rule;  ///< of the memory, whose share is `kv_share`
  ReplicaPasses<T> passes;
  EngineTimes<T> engine;
  ReplicaPasses<T> draft;  ///< of the model that proposes tokens
  Data<T> draft_weights;   ///< of one copy of it
  T draft_predicts{1.0};   ///< tokens that one of its steps proposes
  T draft_tokens{0.0};     ///< proposals of a check; none without speculation
  T draft_acceptance_rate{0.0}, draft_acceptance_decay{1.0};
  T acceptance_length{1.0};  ///< tokens that a check yields, where that was measured
  T prefill_replicas{0.0};   ///< workers that only process prompts, where there are any
  T decode_replicas{1.0};    ///< replicas that they send prompts to, each with these arrivals
  ReplicaPasses<T> workers;  ///< of one of them, where its degrees are its own
  Bandwidth<T> network_bandwidth;
  Time<T> target_ttft,
      target_itl;     ///< that a good request meets, where they are asked for
  double chunks = 1;  ///< passes of one prompt
  ArrivalProcess arrivals = ArrivalProcess::queued;
  Acceptance acceptance = Acceptance::decaying;
  bool has_most = false;       ///< the engine has a limit of requests
  bool ends = false;           ///< the run has so many requests
  bool equal_lengths = false;  ///< all requests have the same lengths
  bool speculates = false;     ///< a pass checks proposals
  bool has_draft = false;      ///< a model makes them
  bool own_draft = false;      ///< the model that proposes tokens is a part of the served model
  bool has_workers = false;    ///< prompts are processed by workers of their own
  bool own_degrees = false;    ///< the workers' degrees are not those of the replica
  bool has_target_ttft = false, has_target_itl = false;

  static constexpr auto fields() {
    using P = InFlightProblem;
    return rows(
        field(&P::seq_len, key::seq_len), field(&P::output_tokens, key::output_tokens),
        field(&P::cached_prefix_len, key::cached_prefix_len),
        field(&P::prompt_lengths, "seq_len_spread", "", ""),
        field(&P::answer_lengths, "output_tokens_spread", "", ""),
        field(&P::prefill_chunk_tokens, key::prefill_chunk_tokens),
        field(&P::arrival_rate, key::arrival_rate),
        field(&P::concurrency, "concurrency", "", "requests that clients keep in flight"),
        field(&P::max_batch_size, "max_batch_size", "", "most requests that decode together"),
        field(&P::num_requests, "num_requests", "", "requests of the whole run"),
        field(&P::arrival_variation, "arrival_variation", "", "variance over mean of random arrivals"),
        field(&P::scheduler_steps, "scheduler_steps", "", "steps that the host schedules at once"),
        field(&P::page_tokens, "page_tokens", "", "tokens of a page of the cache"),
        field(&P::kv_share, "kv_share", "", "share of the free memory that the cache may take"),
        field(&P::cache_rule, "cache_rule", "", ""), field(&P::passes, "", "", ""),
        field(&P::engine, "engine", "", ""), field(&P::draft, "draft", "", ""),
        field(&P::draft_weights, "draft_weights", "GB", "weights of one copy of the draft model"),
        field(&P::draft_predicts, "draft_predicts", "", "tokens that one step of the draft model proposes"),
        field(&P::draft_tokens, key::draft_tokens),
        field(&P::draft_acceptance_rate, key::draft_acceptance_rate),
        field(&P::draft_acceptance_decay, "draft_acceptance_decay", "", "").within(0.01, 1),
        field(&P::acceptance_length, "acceptance_length", "", "").within(1, 1025),
        field(&P::prefill_replicas, "prefill_replicas", "", "workers that only process prompts"),
        field(&P::decode_replicas, "decode_replicas", "", "replicas that share the prefill workers"),
        field(&P::workers, "workers", "", ""), field(&P::network_bandwidth, key::network_bandwidth),
        field(&P::target_ttft, "target_ttft", "ms", "time to first token that a good request meets"),
        field(&P::target_itl, "target_itl", "ms", "time between tokens that a good request meets"));
  }
  static constexpr auto categories() {
    using P = InFlightProblem;
    return rows(category(&P::chunks, "chunks", "passes of one prompt"),
                category(&P::arrivals, "arrivals", "how requests arrive"),
                category(&P::acceptance, "acceptance", "how many proposals are kept"),
                category(&P::has_most, "has_most", "the engine has a limit of requests"),
                category(&P::ends, "ends", "the run has so many requests"),
                category(&P::equal_lengths, "equal_lengths", "all requests have the same lengths"),
                category(&P::speculates, "speculates", "a pass checks proposals"),
                category(&P::has_draft, "has_draft", "a model proposes tokens"),
                category(&P::own_draft, "own_draft", "the model that proposes tokens is a part of the model"),
                category(&P::has_workers, "has_workers", "prompts are processed by workers of their own"),
                category(&P::own_degrees, "own_degrees", "the degrees of the workers are their own"),
                category(&P::has_target_ttft, "has_target_ttft", "the first token has a target"),
                category(&P::has_target_itl, "has_target_itl", "the time between tokens has a target"));
  }

  /// Tokens of a prompt that a pass must have room for: those that are not cached, or what an encoder reads.
  [[nodiscard]] T fresh_tokens() const {
    return passes.encodes ? passes.plan.encoded : T(seq_len - cached_prefix_len);
  }
  /// The passes of prompts.
  [[nodiscard]] const ReplicaPasses<T>& prompts() const { return own_degrees ? workers : passes; }
};

/// Latency, throughput and goodput of a replica in steady state.
template <class T = double> struct InFlightEstimate {
  bool feasible = false, is_stable = false;
  T running_requests{0.0}, max_active_requests{0.0};
  Time<T> itl, p99_itl, p99_token_gap;
  std::optional<Time<T>> ttft, p50_ttft, p99_ttft, request_latency, p99_request_latency;
  std::optional<Time<T>> ttft_ingress, ttft_queue, ttft_dispatch, ttft_prefill, ttft_egress;
  std::optional<Time<T>> p50_ttft_queue, p99_ttft_queue;
  TokenRate<T> token_throughput, token_throughput_per_accelerator;
  RequestRate<T> request_throughput, capacity, goodput;
  std::optional<T> slo_attainment;
  Time<T> decode_step_time, mixed_step_time, host_time;
  T prompts_per_step{0.0}, prefill_share{0.0}, tokens_per_pass{1.0};
  std::optional<T> matched_prefill_replicas;
  Time<T> kv_transfer_time;
  Data<T> kv_cache_size;
  T paged_internal_fragmentation{0.0}, utilization{0.0}, accelerators{1.0};
  T slots{0.0}, waiting_requests{0.0}, requests_per_pass{0.0}, keeps_itl{1.0};
  bool overloaded = false, prompt_bound = false;

  static constexpr auto fields() {
    using R = InFlightEstimate;
    return join(
        reported_fields(),
        rows(field(&R::slots, "slots", "", "most requests that run at once"),
             field(&R::waiting_requests, "waiting_requests", "", "requests in flight that wait for a slot"),
             field(&R::requests_per_pass, "requests_per_pass", "", "requests of a rank in one pass"),
             field(&R::keeps_itl, "keeps_itl", "", "share of the requests that meets target_itl"),
             field(&R::overloaded, "overloaded", "", "the arrivals exceed what a full replica serves"),
             field(&R::prompt_bound, "prompt_bound", "", "the prefill workers are the bottleneck")));
  }
  /// Fields that a resolver reports. The other fields serve its warnings.
  static constexpr auto reported_fields() {
    using R = InFlightEstimate;
    return join(
        rows(field(&R::feasible, "feasible", "", "at least one request fits beside the weights"),
             field(&R::is_stable, "is_stable", "", "the replica keeps up with the arrivals"),
             field(&R::running_requests, "running_requests", "", "requests that decode together, mean"),
             field(&R::max_active_requests, "max_active_requests", "", "requests whose pages fit"),
             field(&R::itl, "itl", "ms", "inter-token latency, mean"),
             field(&R::p99_itl, "p99_itl", "ms", "mean time between tokens that 99 % of the requests keep"),
             field(&R::p99_token_gap, "p99_token_gap", "ms",
                   "99 % of the tokens come no later after the one before"),
             field(&R::ttft, "ttft", "ms", "time to first token, mean of the run"),
             field(&R::p50_ttft, "p50_ttft", "ms",
                   "half of the first tokens come no later; none in step or in "
                   "a queue"),
             field(&R::p99_ttft, "p99_ttft", "ms", "99 % of the first tokens come no later"),
             field(&R::request_latency, key::request_latency)),
        first_token_rows<R>(),
        rows(field(&R::p50_ttft_queue, "p50_ttft_queue", "ms",
                   "half of the requests wait no longer for others; the other "
                   "terms are alike for all"),
             field(&R::p99_ttft_queue, "p99_ttft_queue", "ms",
                   "99 % of the requests wait no longer for others"),
             field(&R::p99_request_latency, "p99_request_latency", "ms",
                   "99 % of the requests take no longer"),
             field(&R::token_throughput, key::token_throughput),
             field(&R::token_throughput_per_accelerator, "token_throughput_per_accelerator", "token/s",
                   "generated tokens a second and device"),
             field(&R::request_throughput, "request_throughput", "request/s", "requests that are finished"),
             field(&R::capacity, "capacity", "request/s", "what a full replica finishes"),
             field(&R::goodput, "goodput", "request/s", "requests that meet both targets"),
             field(&R::slo_attainment, "slo_attainment", "", "share of the requests that meet both targets"),
             field(&R::decode_step_time, "decode_step_time", "ms", "a step without prompts, host included"),
             field(&R::mixed_step_time, "mixed_step_time", "ms", "a pass with prompts, host included"),
             field(&R::host_time, "host_time", "ms", "host work of one pass"),
             field(&R::prompts_per_step, "prompts_per_step", "",
                   "prompts that arrive during one step, and rank"),
             field(&R::prefill_share, "prefill_share", "", "share of the time of passes with prompts"),
             field(&R::tokens_per_pass, "tokens_per_pass", "", "tokens of a request that one pass yields"),
             field(&R::matched_prefill_replicas, "matched_prefill_replicas", "",
                   "prefill workers that keep this replica full"),
             field(&R::kv_transfer_time, "kv_transfer_time", "ms",
                   "move of a prompt's cache to the decoding devices"),
             field(&R::kv_cache_size, "kv_cache_size", "GB", "pages held by the running requests"),
             field(&R::paged_internal_fragmentation, "paged_internal_fragmentation", "",
                   "share of the held pages that is empty"),
             field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
             field(&R::accelerators, key::accelerators)));
  }
};

/// The steady state of a replica.
[[nodiscard]] InFlightEstimate<> evaluate(const InFlightProblem<>& problem);

}  // namespace mlsysim
