#include "detail/explain_texts.hpp"

#include <mlsysim/engine/detail/finite.hpp>
#include <mlsysim/engine/detail/pass_order.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/problem_laws.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/estimate/detail/steady.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/specs/provenance.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <span>

namespace mlsysim {
namespace {

constexpr std::string_view kBesideKernels = "communication beside kernels",
                           kWaitsForHost = "waits for the host, which launches the kernels";

template <class D> std::string shown(const Quantity<D>& q) { return pretty(AnyQuantity(q)); }

/// One pass that is explained operator by operator.
struct ExplainedPass {
  ModelView<> model;
  std::shared_ptr<const std::vector<ConvLayer>> convolution{};
  std::shared_ptr<const std::vector<ListedOperator>>
      operators{};  ///< both the model's own: the text may be read when the workload is gone
  Plan<> plan;
  Device<> device;
  Links<> links;
  std::vector<Pass> passes;                            ///< passes of the list that make up the number
  double rounds = 1;                                   ///< how often they run; an update runs once
  std::string words{};                                 ///< which of several passes it is
  std::array<double, kStageScopes> times{1, 1, 1, 1};  ///< how often the pass has the operators of a place
  std::string limit;  ///< what limits the number, in words; empty where nobody says
  std::vector<std::pair<std::string, Time<>>>
      besides;  ///< terms that are no operators; all add up to the number

  [[nodiscard]] double& at(StageScope place) { return times[static_cast<std::size_t>(place)]; }
  /// Adds a term, unless it is only the rounding of a sum of about `of`.
  void beside(std::string name, Time<> time, Time<> of) {
    if (std::fabs(time.base()) > 1e-9 * of.base()) besides.emplace_back(std::move(name), time);
  }
};

std::string title(const ResolvedScenario& r, std::string_view metric, std::string_view value,
                  std::string_view fidelity) {
  return fmt::format("{} = {}\n  {} on {}, {}, {} fidelity\n", metric, value, r.asked().workload->name,
                     r.fleet().name, name_of(r.mode()), fidelity);
}

/// In the order of the lowering.
std::vector<OperatorRow> ordered_rows(const ExplainedPass& s, std::span<const Pass> passes) {
  OpList<> ops;
  (void)lower(s.model.structure, s.model.shape(), s.model.layers, s.plan, ops);
  std::vector<OperatorRow> rows;
  double sum = 0;
  for (const auto& op : ops.span()) {
    if (std::find(passes.begin(), passes.end(), op.pass) == passes.end()) continue;
    const double times = s.times[static_cast<std::size_t>(op.place)];
    auto cost = price(op, s.device, s.links);
    cost.total = cost.total * times;
    if (cost.total <= Time<>()) continue;
    OperatorRow row{.name = std::string(op.name),
                    .group = std::string(name_of(op.group)),
                    .pass = std::string(name_of(op.pass)),
                    .limit = op.kind == OpKind::host_transfer  ? "host link"
                             : op.kind == OpKind::host_compute ? "host memory"
                             : cost.network > Time<>()         ? detail::limit_of_network(op, s.links)
                             : cost.overhead * times > cost.total / 2.0 ? "launch"
                             : cost.compute > cost.memory               ? "compute"
                                                                        : "memory",
                    .count = op.count * times,
                    .work = (op.work * op.count).base() * times,
                    .traffic = (op.memory_bytes * op.count).base() * times,
                    .time = cost.total.base(),
                    .shape = OperatorShape::of(op)};
    sum += row.time;
    rows.push_back(std::move(row));
  }
  for (auto& row : rows) row.share = sum > 0 ? row.time / sum : 0;
  return rows;
}

void sort_by_time(std::vector<OperatorRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OperatorRow& a, const OperatorRow& b) { return a.time > b.time; });
}

/// The rows, if their times are numbers. @throws DomainError
std::vector<OperatorRow> finite(std::vector<OperatorRow> rows, std::string_view metric,
                                const Scenario& scenario) {
  for (const auto& row : rows) detail::check_finite(metric, row.time, scenario);
  return rows;
}

/// The price of one operator as a function of the figures of device and links.
struct OperatorLaw {
  Tape tape;
  LawEntry entry;
};

/// The law calls behind one operator.
std::string derive_operator(const ExplainedPass& s, std::string_view name) {
  static constexpr LawInfo info{.id = "Operator", .equation = "time = f(device, links)", .source = ""};
  static constexpr std::size_t of_device = leaf_count<Device<>>, of_links = leaf_count<LinkNumbers<>>;
  OperatorLaw law;
  law.tape = record_tape(of_device + of_links, [&](std::span<const Recorded> in) {
    Device<Recorded> device;
    Links<Recorded> links;
    links.form = s.links.form;
    write_leaves(device, [&](std::size_t i) { return in[i]; });
    write_leaves(links, [&](std::size_t i) { return in[of_device + i]; });
    OpList<Recorded> ops;
    const ModelView<Recorded> model{s.model.structure,
                                    s.model.stack == nullptr
                                        ? nullptr
                                        : stack_view<Recorded>(*s.model.stack->stated, s.model.stack->place,
                                                               s.model.stack->stated_encoder()),
                                    s.model.layers, lift<Recorded>(s.model.totals)};
    auto plan = lift<Recorded>(s.plan);
    copy_categories(s.plan, plan);
    (void)lower(model.structure, model.shape(), model.layers, plan, ops);
    for (const auto& op : ops.span()) {
      if (op.name != name || std::find(s.passes.begin(), s.passes.end(), op.pass) == s.passes.end()) continue;
      return std::vector<Recorded>{price(op, device, links).total.base()};
    }
    return std::vector<Recorded>{Recorded(0.0)};
  });
  law.entry.info = info;
  for (const auto& f : describe<Device<>>()) law.entry.inputs.push_back(f);
  for (const auto& f : describe<LinkNumbers<>>()) law.entry.inputs.push_back(f);
  law.entry.recorded = [](const void* self) -> const Tape& {
    return static_cast<const OperatorLaw*>(self)->tape;
  };
  law.entry.self = std::shared_ptr<const void>(&law, [](const void*) {});
  std::vector<double> point;
  read_leaves(s.device, [&](std::size_t, double x) { point.push_back(x); });
  read_leaves(s.links, [&](std::size_t, double x) { point.push_back(x); });
  return to_text(read_calls(law.entry, point));
}

/// The operators and the other terms of a number, which add up to it. @param rows those of `table_of`
std::string operators_text(const ExplainedPass& s, std::span<const OperatorRow> rows,
                           std::string_view value) {
  std::string out = s.words.empty() ? "" : "  " + s.words + "\n";
  const auto line = [&](std::string_view name, std::string_view times, double time, double share,
                        std::string_view limit) {
    out += fmt::format("  {:<26} {:>6} {:>12} {:>6.1f}%  {}\n", name, times, shown(Time<>::from_base(time)),
                       100 * share, limit);
  };
  out += fmt::format("  {:<26} {:>6} {:>12} {:>7}  {}\n", "operator", "times", "time", "share", "limited by");
  constexpr std::size_t most = 10;
  const std::size_t operators = rows.size() - s.besides.size();
  double rest = 0, rest_share = 0;
  for (std::size_t i = 0; i < operators; ++i) {
    const auto& row = rows[i];
    if (i >= most) {
      rest += row.time;
      rest_share += row.share;
      continue;
    }
    const std::string name = row.pass == "forward" ? row.name : row.name + " (" + row.pass + ")";
    line(name, fmt::format("{:.4g}", row.count), row.time, row.share, row.limit);
  }
  if (operators > most) line(fmt::format("+ {} smaller", operators - most), "", rest, rest_share, "");
  for (const auto& row : rows.subspan(operators)) line("+ " + row.name, "", row.time, row.share, "");
  out += fmt::format("  {:<26} {:>6} {:>12}\n", "=", "", value);
  if (!s.limit.empty()) out += fmt::format("  limited by {}\n", s.limit);
  // Operators of communication that kernels hide do not make the number.
  const bool hides = std::any_of(s.besides.begin(), s.besides.end(), [](const auto& b) {
    return b.first == kBesideKernels && b.second < Time<>();
  });
  for (const auto& row : rows.first(operators)) {
    if (hides && row.limit.starts_with("network")) continue;
    return out + fmt::format("\nthe largest operator, {}, law by law\n", row.name) +
           derive_operator(s, row.name);
  }
  return out;
}

/// The operators, largest first, and the other terms of a number, each with its share of the number.
std::vector<OperatorRow> table_of(const ExplainedPass& s, std::span<const Pass> passes, Time<> value) {
  auto rows = ordered_rows(s, passes);
  for (auto& row : rows) {
    if (row.pass == name_of(Pass::update)) continue;
    for (double* x : {&row.count, &row.work, &row.traffic, &row.time}) *x *= s.rounds;
  }
  sort_by_time(rows);
  for (const auto& [name, time] : s.besides)
    rows.push_back(
        {.name = name, .group = "beside", .pass = {}, .limit = {}, .count = 1, .time = time.base()});
  for (auto& row : rows) row.share = row.time / value.base();
  return rows;
}

/// Adds the terms of a pass of `total` that are no operators. @param price of a pass of a model
template <class Price> void add_besides(ExplainedPass& s, Time<> total, const Price& price) {
  const double stages = s.plan.pp;
  if (stages > 1) {
    s.words =
        fmt::format("{} through all {:g} pipeline stages:", s.words.empty() ? "one pass" : s.words, stages);
    s.at(StageScope::every_block) =
        layers_of(s.model.structure, s.model.shape(), s.model.layers) / s.model.blocks(s.plan);
    s.at(StageScope::every_stage) = stages;
  }
  s.beside("dispatch", s.device.dispatch_overhead, total);
  Time<> known = s.device.dispatch_overhead;
  if (s.model.structure.capped) {
    auto free = s.model;
    free.structure.capped = false;
    const Time<> slower = total - price(free);
    s.beside("a lower clock, under the limits of power and clock", slower, total);
    known += slower;
  }
  for (const auto& row : ordered_rows(s, s.passes)) known += Time<>::from_base(row.time);
  s.beside(std::string(total > known ? kWaitsForHost : kBesideKernels), total - known, total);
}

ExplainedPass explained_of(const ModelView<>& model, const Plan<>& plan, const Device<>& device,
                           const Links<>& links, std::vector<Pass> passes) {
  return {.model = model, .plan = plan, .device = device, .links = links, .passes = std::move(passes)};
}

/// In steady state: the last chunk of a prompt that is alone, or a step of the requests that run.
ExplainedPass steady_pass(const ServingProblem<>& p, const ServingEstimate<>& n, bool prefill,
                          const Scenario& asked) {
  const auto one = detail::one_replica(p, n.replicas);
  const detail::Steady<> s(one);
  const bool check = !prefill && p.drafts;
  const double running = n.steady.running_requests;
  const auto step = s.step(running, p.load == Load::rate ? running : std::max(running - 1, 0.0));
  ModelView<> decode = p.model;
  decode.structure = p.decode;
  auto out =
      explained_of(prefill ? p.model : decode, prefill ? one.prompts().plan : one.passes.plan,
                   prefill ? one.passes.prompt_device : one.passes.step_device, p.links, {Pass::forward});
  out.plan.batch = prefill ? s.prompt_ranks() : std::max(running / step.inflight, 1.0);
  const double done = p.cached_prefix_len + (p.chunks - 1) * one.prefill_chunk_tokens;
  out.plan.new_tokens = prefill ? one.seq_len - done : check ? p.draft_tokens + 1 : 1;
  out.plan.context = prefill ? one.seq_len : s.context() + (check ? p.draft_tokens : 0);
  const auto price_of = [&](const ModelView<>& m) {
    ReplicaPasses<> passes = prefill ? one.prompts() : one.passes;
    passes.model = m;
    passes.decode_structure = m.structure;
    return (prefill ? passes.prefill(out.plan.batch, out.plan.new_tokens, out.plan.context)
            : check ? passes.check(out.plan.batch, out.plan.context, out.plan.new_tokens)
                    : passes.decode(out.plan.batch, out.plan.context))
        .total;
  };
  const Time<> value = prefill ? n.ttft : n.itl;
  Time<> known = price_of(out.model);
  const auto add = [&](std::string name, Time<> time) {
    out.beside(std::move(name), time, value);
    known += time;
  };
  if (prefill) {
    if (p.chunks > 1) out.words = fmt::format("the last of {:g} passes of the prompt", p.chunks);
    add_besides(out, known, price_of);
    add("the server", n.ttft_ingress);
    add("other requests", n.ttft_queue);
    add("shown late", n.ttft_egress);
    add(p.chunks > 1 ? "its other passes, and the host" : "the host", value - known);
    return out;
  }
  out.words = fmt::format("a step of {:.4g} {}", running, running == 1 ? "request" : "requests");
  if (check)
    out.words += fmt::format(": the check of {:g} drafted tokens of each, which yields {:.3g} tokens",
                             p.draft_tokens, s.tokens_per_pass());
  add_besides(out, known, price_of);
  if (check)
    add(fmt::format("{:g} steps of {}", p.draft_tokens,
                    asked.draft_model != nullptr ? std::string_view(asked.draft_model->name) : ""),
        s.drafting(out.plan.batch));
  add("other micro-batches on the slowest stage", step.device - known);
  add("host", step.decode_step_time - step.device);
  add("prompts of other requests", step.itl - step.decode_step_time);
  if (check) add(fmt::format("shared by {:.3g} tokens", s.tokens_per_pass()), value - known);
  return out;
}

/// The prefill (its last chunk), a decode step, or the check of drafted tokens.
ExplainedPass pass_of(const ServingProblem<>& p, const ServingEstimate<>& n, std::string_view metric,
                      const Scenario& asked) {
  if (p.load != Load::burst) return steady_pass(p, n, metric == "ttft", asked);
  const bool prefill = metric == "ttft", check = !prefill && p.drafts;
  const Time<> value = prefill ? n.ttft : n.itl;
  const detail::ServingPasses<double> common(p);
  auto s = explained_of(prefill ? p.model : common.decode, common.batches.plan,
                        prefill ? p.device : p.step_device(), p.links, {Pass::forward});
  double passes = 1;
  if (prefill) {
    const auto share = detail::share_prompts(p, s.plan.batch);
    s.plan.batch = share.last;
    passes = share.passes * p.chunks * common.batches.inflight;
    if (passes > 1) s.words = fmt::format("the last of {:g} passes", passes);
  }
  const double prompt = p.prompt_tokens();
  s.plan.new_tokens = prefill ? prompt - p.cached_prefix_len - (p.chunks - 1) * p.prefill_chunk_tokens : 1;
  s.plan.context = prefill || !p.generates ? prompt : prompt + (p.output_tokens + 1) / 2;
  if (check) {
    s.plan.new_tokens = p.draft_tokens + 1;
    s.plan.context += p.draft_tokens;
  }
  const auto price_of = [&](const ModelView<>& m) {
    using namespace detail;
    return (prefill ? priced_prompt(p, common, m, s.plan) : priced_step(p, common, m, s.plan)).total;
  };
  Time<> known = price_of(s.model);
  const auto add = [&](std::string name, Time<> time) {
    s.beside(std::move(name), time, value);
    known += time;
  };
  double tokens = 1;
  if (check) {
    tokens =
        p.acceptance == Acceptance::independent
            ? ExpectedAcceptedTokens::solve<double>({p.draft_acceptance_rate, p.draft_tokens}).expected_tokens
            : detail::yield_of_check(p);
    s.words = fmt::format("the check of {:g} drafted tokens, which yields {:.3g} tokens on average",
                          p.draft_tokens, tokens);
  }
  add_besides(s, known, price_of);
  if (check) {
    Plan<> proposal = common.draft_plan;
    proposal.batch = s.plan.batch;
    proposal.new_tokens = 1;
    proposal.context = s.plan.context - p.draft_tokens;
    const std::string_view draft_name =
        asked.draft_model != nullptr ? std::string_view(asked.draft_model->name) : "";
    add(fmt::format("{:g} steps of {}", p.draft_tokens, draft_name),
        p.draft_tokens * detail::priced_step(p, common, p.draft.model, proposal).total);
  }
  const Time<> round = value * tokens;
  add(prefill ? fmt::format("{:g} passes before it", passes - 1) : "other micro-batches on the slowest stage",
      round - known);
  if (check) add(fmt::format("shared by {:.3g} tokens", tokens), value - round);
  return s;
}

ExplainedPass pass_of(const TrainingProblem<>& p, const TrainingEstimate<>& n, std::string_view,
                      const Scenario&) {
  auto s = explained_of(p.model, training_plan(p), p.device, p.links,
                        {Pass::forward, Pass::recompute, Pass::backward, Pass::weight_gradient});
  // Explains the slower end of the pipeline, without power and clock limits.
  auto free = p.model;
  free.structure.capped = false;
  OpList<> ops;
  const auto parts = step_parts({free, s.plan, p.device.kernels.issue}, p.device, p.links, ops);
  const auto time = step_of(parts, free, s.plan, p.device);
  const double m = s.plan.microbatches, stages = s.plan.pp;
  if (stages > 1) {
    PassBreakdown<> front = parts.first.forward;
    const bool first = time.stage.forward.total == front.add(parts.sent, s.plan.virtual_stages).total;
    s.at(first ? StageScope::last : StageScope::first) = 0;
    s.at(StageScope::every_block) = time.stage.blocks / s.model.blocks(s.plan);
  }
  s.rounds = m;
  if (m > 1 || stages > 1)
    s.words = fmt::format("{:g} micro-batches on the slowest of {:g} pipeline stages:", m, stages);
  const auto sum = [&](std::span<const Pass> passes) {
    Time<> all;
    for (const auto& row : ordered_rows(s, passes)) all += Time<>::from_base(row.time);
    return all;
  };
  const Time<> passes = m * sum(s.passes), hidden = time.slots - p.device.dispatch_overhead - passes;
  const std::array update{Pass::update};
  Time<> known = passes + sum(update);
  const auto add = [&](std::string name, Time<> term) {
    s.beside(std::move(name), term, n.step_latency);
    known += term;
  };
  add(std::string(hidden > Time<>() ? kWaitsForHost : kBesideKernels), hidden);
  add("pipeline bubble", time.bubble);
  add("update beside the passes", time.update - sum(update));
  add("dispatch", p.device.dispatch_overhead);
  const double local = share_batch(p.batch_size, s.plan.dp).sequences;
  const auto step = p.fidelity_model->estimator<double>().step(
      {p.model, s.plan, p.device.kernels.issue}, p.device, p.links, p.accelerators, p.batch_size, local);
  add("a lower clock, under the limits of power and clock", step.total - time.total);
  add(fmt::format("waiting for the slowest device, factor {:g}", p.plan.straggler),
      step.total * (p.plan.straggler - 1));
  add("congestion", step.exchange * (p.plan.congestion - 1));
  add("what the device has no room for, over the host link", n.step_latency - known);
  return s;
}

ExplainedPass pass_of(const InferenceProblem<>& p, const InferenceEstimate<>& n, std::string_view,
                      const Scenario&) {
  auto s = explained_of(p.model, p.plan, p.device, p.links, {Pass::forward});
  s.plan.batch = share_batch(p.batch_size, p.accelerators).sequences;
  s.plan.context = p.sequences ? p.seq_len : 1;
  s.plan.new_tokens = p.model.structure.phase == Phase::decode ? 1 : s.plan.context;
  const auto price_of = [&, &estimator = p.fidelity_model->estimator<double>()](const ModelView<>& m) {
    return estimator.inference({m, s.plan, p.device.kernels.issue}, p.device, p.links).total;
  };
  const Time<> pass = price_of(s.model);
  add_besides(s, pass, price_of);
  s.beside("what the device has no room for, over the host link", n.latency - pass, n.latency);
  return s;
}

/// The pass behind a number, with records of its own.
template <class Problem, class Estimate>
ExplainedPass explained(const Problem& problem, const Estimate& estimate, std::string_view metric,
                        const Scenario& asked) {
  auto s = pass_of(problem, estimate, metric, asked);
  const auto kept = [](const auto& records) {
    using R = std::remove_cvref_t<decltype(records[0])>;
    return std::make_shared<const std::vector<R>>(records.begin(), records.end());
  };
  s.convolution = kept(s.model.layers.convolution);
  s.operators = kept(s.model.layers.operators);
  s.model.layers.convolution = *s.convolution;
  s.model.layers.operators = *s.operators;
  return s;
}

/// The row of an estimate's table that a metric names.
template <class Estimate> Time<> time_named(const Estimate& estimate, std::string_view metric) {
  Time<> out;
  for_each_field<Estimate>([&]<class M>(const Field<Estimate, M>& row) {
    if constexpr (std::is_same_v<M, Time<>>)
      if (row.name == metric) out = estimate.*(row.member);
  });
  return out;
}

/// The number, and who writes the text of its terms.
struct Terms {
  std::string value;
  std::function<std::string()> body;
  Fidelity fidelity{};
  std::vector<OperatorRow> operators{};
};

Terms whole_pass_terms(const ResolvedScenario& r, std::string_view metric, Notes& notes) {
  const auto a = InferencePassModel{}.solve(detail::pass_request(r), notes);
  if (metric == "memory")
    return {shown(a.memory_footprint), [m = detail::pass_memory(r, a)] { return detail::memory_text(m); },
            a.fidelity};
  return {shown(a.latency), [a] { return detail::whole_pass_text(a); }, a.fidelity};
}

template <class Problem>
Terms terms_of(const Scenario& asked, const Problem& problem, std::string_view metric) {
  const auto estimate = evaluate(problem);
  using Estimate = std::remove_cvref_t<decltype(estimate)>;
  constexpr bool serves = std::is_same_v<Estimate, ServingEstimate<>>,
                 trains = std::is_same_v<Estimate, TrainingEstimate<>>;
  const auto& memory = fullest_device(estimate);
  if (metric == "memory") {
    detail::check_finite("memory", memory.total.base(), asked);
    return {shown(memory.total), [memory] { return detail::memory_text(memory); },
            problem.fidelity_model->fidelity()};
  }
  const Time<> value = time_named(estimate, metric);
  std::string owed;
  if constexpr (serves)
    if (metric == "ttft") owed = detail::first_token_text(estimate);
  detail::check_finite(metric, value.base(), asked);
  if (problem.fidelity_model->lists_operators()) {
    auto pass = explained(problem, estimate, metric, asked);
    if constexpr (trains) pass.limit = limit_words(step_limit(estimate));
    if constexpr (serves)
      if (metric == "itl") pass.limit = limit_words(decode_limit(estimate));
    if constexpr (!trains && !serves) pass.limit = limit_words(inference_limit(estimate));
    auto with_update = pass.passes;
    if (trains) with_update.push_back(Pass::update);
    auto rows = table_of(pass, with_update, value);
    return {shown(value),
            [owed, pass = std::move(pass), rows, total = shown(value)] {
              return owed + operators_text(pass, rows, total);
            },
            problem.fidelity_model->fidelity(), std::move(rows)};
  }
  return {shown(value),
          [owed, law = problem_law(problem), in = problem_leaves(problem), metric = std::string(metric)] {
            return owed + to_text(derive_result(*law, in, law->result(metric)));
          },
          problem.fidelity_model->fidelity()};
}

std::vector<std::string> metrics_of(Mode mode) {
  switch (mode) {
    case Mode::serve:
      return {"ttft", "itl", "memory"};
    case Mode::train:
      return {"step_latency", "memory"};
    case Mode::infer:
      break;
  }
  return {"latency", "memory"};
}

void require_metric(Mode mode, std::string_view metric) {
  const auto names = metrics_of(mode);
  if (std::ranges::find(names, metric) != names.end()) return;
  throw LookupError({.id = "mlsysim.engine.026",
                     .message = fmt::format("'{}' has no table of terms in mode {}", metric, name_of(mode)),
                     .key = std::string(metric),
                     .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                     .hint = did_you_mean(metric, names)});
}

}  // namespace

std::vector<std::string> explainable(const Scenario& scenario) {
  Notes quiet;
  return metrics_of(ResolvedScenario(scenario, quiet).mode());
}

NumberTerms terms_behind(const Scenario& scenario, std::string_view metric) {
  auto book = std::make_shared<NoteBook>();
  Notes notes(*book);
  const ResolvedScenario r(scenario, notes);
  NumberTerms out;
  out.figures = detail::figures_of(r.hardware(), detail::precision_of(r));
  const auto names = metrics_of(r.mode());
  if (std::find(names.begin(), names.end(), metric) == names.end()) return out;
  Terms t = detail::is_whole_pass(r)
                ? whole_pass_terms(r, metric, notes)
                : std::visit([&](const auto& p) { return terms_of(scenario, p, metric); }, settle(r, notes));
  out.operators = std::move(t.operators);
  out.text = [head = title(r, metric, t.value, name_of(t.fidelity)), body = std::move(t.body),
              figures = out.figures, book] {
    return head + "\n" + body() + "\nfigures of the device\n" + detail::figures_text(figures) +
           "\nassumptions\n" + detail::assumptions_text(*book);
  };
  return out;
}

std::string explain(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  require_metric(ResolvedScenario(scenario, quiet).mode(), metric);
  return terms_behind(scenario, metric).text();
}

std::vector<DeviceFigure> device_figures(const Scenario& scenario) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  return detail::figures_of(r.hardware(), detail::precision_of(r));
}

std::vector<OperatorRow> operators_in_order(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  require_metric(r.mode(), metric);
  return std::visit(
      [&](const auto& problem) {
        if (detail::is_whole_pass(r) || !problem.fidelity_model->lists_operators())
          throw InputError({.id = "mlsysim.engine.060",
                            .message = fmt::format("no operators are listed for '{}'", metric),
                            .key = "fidelity",
                            .found = std::string(name_of(problem.fidelity_model->fidelity())),
                            .expected = "operator fidelity, of a model whose layers are known",
                            .hint = "leave out --fidelity"});
        const auto s = explained(problem, evaluate(problem), metric, scenario);
        return finite(ordered_rows(s, s.passes), metric, scenario);
      },
      settle(r, quiet));
}

std::vector<OperatorRow> operator_table(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  require_metric(r.mode(), metric);
  return std::visit(
      [&](const auto& problem) {
        auto s = explained(problem, evaluate(problem), metric, scenario);
        if (r.mode() == Mode::train) s.passes.push_back(Pass::update);
        auto rows = ordered_rows(s, s.passes);
        sort_by_time(rows);
        return finite(std::move(rows), metric, scenario);
      },
      settle(r, quiet));
}

}  // namespace mlsysim
