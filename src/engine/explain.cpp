#include <mlsysim/engine/detail/pass_order.hpp>
#include <mlsysim/engine/explain.hpp>

#include <mlsysim/engine/detail/finite.hpp>
#include <mlsysim/engine/detail/prepared.hpp>
#include <mlsysim/engine/requests.hpp>

#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/engine/scenario_laws.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/spec/provenance.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

namespace mlsysim {
namespace {

template <class D> std::string shown(const Quantity<D>& q) { return pretty(AnyQuantity(q)); }

/// One pass that is explained operator by operator.
struct ExplainedPass {
  ModelView<> model;
  std::shared_ptr<const std::vector<ConvLayer>> convolution;
  std::shared_ptr<const std::vector<ListedOperator>>
      operators;  ///< both the model's own: the text may be read when the workload is gone
  Plan<> plan;
  Device<> device;
  Links<> links;
  std::vector<Pass> passes;                       ///< passes of the list that make up the number
  std::string words;                              ///< which of several passes it is
  std::array<double, kPlaces> times{1, 1, 1, 1};  ///< how often the pass has the operators of a place
  std::vector<std::pair<std::string, Time<>>>
      besides;  ///< terms that are no operators; all add up to the number

  [[nodiscard]] double& at(Place place) { return times[static_cast<std::size_t>(place)]; }
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

/// "network", with the way that a collective over several levels takes.
std::string limit_of_network(const Op<>& op, const Links<>& links) {
  if (op.kind != OpKind::collective) return "network";
  const auto way = collective_way(op, links);
  return way == "nested" || way == "flat" ? fmt::format("network, {}", way) : "network";
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
                    .limit = op.kind == OpKind::host_transfer           ? "host link"
                             : cost.network > Time<>()                  ? limit_of_network(op, s.links)
                             : cost.overhead * times > cost.total / 2.0 ? "launch"
                             : cost.compute > cost.memory               ? "compute"
                                                                        : "memory",
                    .count = op.count * times,
                    .work = (op.work * op.count).base() * times,
                    .traffic = (op.traffic * op.count).base() * times,
                    .time = cost.total.base()};
    sum += row.time;
    rows.push_back(std::move(row));
  }
  for (auto& row : rows) row.share = sum > 0 ? row.time / sum : 0;
  return rows;
}

std::vector<OperatorRow> rows_of(const ExplainedPass& s, std::span<const Pass> passes) {
  auto rows = ordered_rows(s, passes);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OperatorRow& a, const OperatorRow& b) { return a.time > b.time; });
  return rows;
}

/// The rows, if their times are numbers. @throws DomainError
std::vector<OperatorRow> finite(std::vector<OperatorRow> rows, std::string_view metric,
                                const Scenario& scenario) {
  for (const auto& row : rows) detail::check_finite(metric, row.time, scenario);
  return rows;
}

/// A law made for the occasion: the price of one operator as a function of the device's figures and the
/// links'.
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
                                        : stack_view<Recorded>(*s.model.stack->stated, s.model.stack->place),
                                    s.model.layers, lift<Recorded>(s.model.totals)};
    (void)lower(model.structure, model.shape(), model.layers, lift<Recorded>(s.plan), ops);
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

/// Figures of the device behind the derivation, each with its source.
std::vector<DeviceFigure> figures_of(const HardwareNode& hardware, Precision precision) {
  std::vector<DeviceFigure> out;
  if (hardware.entry == nullptr) return out;
  const auto add = [&](const std::string& path) {
    const Figure* figure = hardware.entry->figure(path);
    if (figure == nullptr) return;
    const Source& source = hardware.entry->source_of(path);
    out.push_back({hardware.name + "." + path, figure->authored,
                   fmt::format("{}, {}, {}", source.ref, name_of(source.kind),
                               source.verified.empty() ? "recorded " + source.recorded
                                                       : "verified " + source.verified)});
  };
  add("compute.dense." + std::string(name_of(precision)));
  add("memory.bandwidth");
  add("memory.capacity");
  for (const char* share : {"matrix", "matrix_narrow", "burst", "attention", "memory", "link"})
    add(std::string("efficiency.") + share);
  for (const char* time : {"launch", "wave", "split", "attention_launch"})
    add(std::string("kernels.") + time);
  add("device_link.bandwidth");
  return out;
}

std::string figures_text(std::span<const DeviceFigure> figures) {
  if (figures.empty()) return "  (the device was made by hand)\n";
  std::string out;
  for (const auto& f : figures) out += fmt::format("  {:<28} {:<16} {}\n", f.figure, f.value, f.source);
  return out;
}

std::string assumptions_text(const NoteBook& book) {
  std::string out;
  std::vector<std::string> seen;
  for (const auto& a : book.assumptions) {
    const std::string line =
        fmt::format("  {:<28} {:<16} {}\n", a.name.view(), a.value.str(), a.source.view());
    if (std::find(seen.begin(), seen.end(), line) == seen.end()) {
      seen.push_back(line);
      out += line;
    }
  }
  return out;
}

std::string memory_text(const MemoryBreakdown<>& m) {
  std::string out;
  for_each_field<MemoryBreakdown<>>([&](const auto& row) {
    if (row.name == "capacity") return;
    if (m.*(row.member) > Data<>() || row.name == "total")
      out += fmt::format("  {:<24} {:>12}   {}\n", row.name, shown(m.*(row.member)), row.meaning);
  });
  return out + fmt::format("  {:<24} {:>12}   memory of the device\n", "capacity", shown(m.capacity));
}

std::string first_token_text(const ServingNumbers<>& n) {
  std::string out = "  by whom it is owed to\n";
  for_each_row(first_token_rows<ServingNumbers<>>(), [&](const auto& term) {
    const Time<> time = n.*(term.member);
    if (time > Time<>()) out += fmt::format("  {:<24} {:>12}   {}\n", term.name, shown(time), term.meaning);
  });
  return out + "\n";
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
  if (operators > 0) {
    out += fmt::format("\nthe largest term, {}, law by law\n", rows.front().name);
    out += derive_operator(s, rows.front().name);
  }
  return out;
}

/// The operators, largest first, and the other terms of a number, each with its share of the number.
std::vector<OperatorRow> table_of(const ExplainedPass& s, std::span<const Pass> passes, Time<> value) {
  auto rows = rows_of(s, passes);
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
    s.at(Place::block) =
        layers_of(s.model.structure, s.model.shape(), s.model.layers) / s.model.blocks(s.plan);
    s.at(Place::stage) = stages;
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
  s.beside(total > known ? "waits for the host, which launches the kernels" : "communication beside kernels",
           total - known, total);
}

/// The prefill (its last chunk), a decode step, or the check of drafted tokens.
ExplainedPass serving_pass(const ServingViews<>& asked, bool prefill, std::string_view draft_name,
                           Time<> value) {
  const ServingViews<> v = asked.issues ? detail::launched(asked) : asked;
  const bool check = !prefill && v.drafts;
  ExplainedPass s{.model = prefill || check ? v.prefill : v.decode,
                  .convolution = {},
                  .operators = {},
                  .plan = v.plan,
                  .device = prefill ? v.prefill_device : v.decode_device,
                  .links = v.links,
                  .passes = {Pass::forward},
                  .words = {}};
  const double sequences =
      share_batch(v.batch, v.accelerators / (v.plan.tp * v.plan.pp * v.plan.ep)).sequences;
  const double together = s.plan.batch = std::ceil(sequences / v.plan.pp);
  double passes = 1;
  if (prefill) {
    const auto share = detail::share_prompts(v, s.plan.batch);
    s.plan.batch = share.last;
    passes = share.passes * v.chunks * std::ceil(sequences / together);
    if (passes > 1) s.words = fmt::format("the last of {:g} passes", passes);
  }
  s.plan.new_tokens = prefill ? v.prompt - v.cached - (v.chunks - 1) * v.chunk : 1;
  s.plan.context = prefill ? v.prompt : v.generates ? v.prompt + (v.output + 1) / 2 : v.prompt;
  const auto& pricer = v.pricing->pricer<double>();
  if (check) {
    s.plan.new_tokens = v.drafted + 1;
    s.plan.context += v.drafted;
  }
  const auto price_of = [&](const ModelView<>& m) {
    const PassAsk<> ask{m, s.plan, s.device, v.links};
    return (prefill ? pricer.prefill(ask, v.prompt) : pricer.decode(ask)).total;
  };
  Time<> known = price_of(s.model);
  const auto add = [&](std::string name, Time<> time) {
    s.beside(std::move(name), time, value);
    known += time;
  };
  double tokens = 1;
  if (check) {
    tokens = v.kept == Acceptance::independent
                 ? ExpectedAcceptedTokens::solve<double>({v.acceptance, v.drafted}).expected_tokens
                 : detail::yield_of_check(v);
    s.words = fmt::format("the check of {:g} drafted tokens, which yields {:.3g} tokens on average",
                          v.drafted, tokens);
  }
  add_besides(s, known, price_of);
  if (check) {
    Plan<> proposal = v.draft_plan;
    proposal.batch = s.plan.batch;
    proposal.new_tokens = 1;
    proposal.context = s.plan.context - v.drafted;
    const auto draft = pricer.decode({v.draft, proposal, v.decode_device, v.links}).total;
    add(fmt::format("{:g} steps of {}", v.drafted, draft_name), v.drafted * draft);
  }
  const Time<> round = value * tokens;
  add(prefill ? fmt::format("{:g} passes before it", passes - 1) : "other micro-batches on the slowest stage",
      round - known);
  if (check) add(fmt::format("shared by {:.3g} tokens", tokens), value - round);
  return s;
}

ExplainedPass training_pass(const TrainingViews<>& v, const TrainingNumbers<>& n) {
  ExplainedPass s{.model = v.model,
                  .convolution = {},
                  .operators = {},
                  .plan = training_plan(v),
                  .device = v.device,
                  .links = v.links,
                  .passes = {Pass::forward, Pass::recompute, Pass::backward, Pass::weight_gradient},
                  .words = {}};
  // Of the two ends of the pipeline the slower one, without limits of power and clock.
  auto free = v.model;
  free.structure.capped = false;
  OpList<> ops;
  const auto parts = step_parts(free, s.plan, v.device, v.links, ops);
  const auto time = step_of(parts, free, s.plan, v.device);
  const double m = s.plan.microbatches, stages = s.plan.pp;
  if (stages > 1) {
    PassCost<> front = parts.first.forward;
    const bool first = time.stage.forward.total == front.add(parts.sent, s.plan.virtual_stages).total;
    s.at(first ? Place::last : Place::first) = 0;
    s.at(Place::block) = time.stage.blocks / s.model.blocks(s.plan);
  }
  if (m > 1 || stages > 1)
    s.words = fmt::format("one of {:g} micro-batches on the slowest of {:g} pipeline stages:", m, stages);
  const auto sum = [&](std::span<const Pass> passes) {
    Time<> all;
    for (const auto& row : ordered_rows(s, passes)) all += Time<>::from_base(row.time);
    return all;
  };
  const Time<> slot = (time.slots - v.device.dispatch_overhead) / m, hidden = slot - sum(s.passes);
  const std::array update{Pass::update};
  Time<> known = sum(s.passes) + sum(update);
  const auto add = [&](std::string name, Time<> term) {
    s.beside(std::move(name), term, n.step_latency);
    known += term;
  };
  add(hidden > Time<>() ? "waits for the host, which launches the kernels" : "communication beside kernels",
      hidden);
  add(fmt::format("{:g} more micro-batches", m - 1), slot * (m - 1));
  add("pipeline bubble", time.bubble);
  add("update beside the passes", time.update - sum(update));
  add("dispatch", v.device.dispatch_overhead);
  const auto step = v.pricing->pricer<double>().step({v.model, s.plan, v.device, v.links}, v.accelerators,
                                                     v.batch, share_batch(v.batch, s.plan.dp).sequences);
  add("a lower clock, under the limits of power and clock", step.total - time.total);
  add(fmt::format("waiting for the slowest device, factor {:g}", v.plan.straggler),
      step.total * (v.plan.straggler - 1));
  add("congestion", step.exchange * (v.plan.congestion - 1));
  add("what the device has no room for, over the host link", n.step_latency - known);
  return s;
}

ExplainedPass inference_pass(const InferenceViews<>& v, Time<> value) {
  ExplainedPass s{.model = v.model,
                  .convolution = {},
                  .operators = {},
                  .plan = v.plan,
                  .device = v.device,
                  .links = v.links,
                  .passes = {Pass::forward},
                  .words = {}};
  s.plan.batch = share_batch(v.batch, v.accelerators).sequences;
  s.plan.context = v.sequences ? v.seq_len : 1;
  s.plan.new_tokens = v.model.structure.phase == Phase::decode ? 1 : s.plan.context;
  const auto price_of = [&](const ModelView<>& m) {
    return v.pricing->pricer<double>().inference({m, s.plan, v.device, v.links}).total;
  };
  const Time<> pass = price_of(s.model);
  add_besides(s, pass, price_of);
  s.beside("what the device has no room for, over the host link", value - pass, value);
  return s;
}

ExplainedPass pass_of(const Scenario& asked, const PreparedScenario& p, const ScenarioResults<>& n,
                      std::string_view metric) {
  const std::string_view draft =
      asked.draft_model != nullptr ? std::string_view(asked.draft_model->name) : "";
  auto s = [&] {
    switch (p.shape.kind) {
      case ScenarioKind::serving:
        return serving_pass(serving_views(p.shape, p.inputs), metric == "ttft", draft,
                            metric == "ttft" ? n.serving.ttft : n.serving.itl);
      case ScenarioKind::training:
        return training_pass(training_views(p.shape, p.inputs), n.training);
      case ScenarioKind::inference:
        break;
    }
    return inference_pass(inference_views(p.shape, p.inputs), n.inference.latency);
  }();
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
    return {shown(a.memory_footprint), [m = detail::pass_memory(r, a)] { return memory_text(m); },
            a.fidelity};
  return {
      shown(a.latency),
      [a] {
        return fmt::format(
            "  {:g} runs of the network: arithmetic {}, memory {}, software {}: the slower of the first two, "
            "plus "
            "the third\n  each run reads {} of weights from {}, {} of table rows and {} of state, twice\n",
            a.evaluations, shown(a.latency_compute), shown(a.latency_memory), shown(a.latency_overhead),
            shown(a.weights), a.weights_in, shown(a.rows_read), shown(a.state));
      },
      a.fidelity};
}

Terms terms_of(const Scenario& asked, const PreparedScenario& p, std::string_view metric) {
  const auto n = scenario_numbers(p.shape, p.inputs);
  const bool serve = p.shape.kind == ScenarioKind::serving, train = p.shape.kind == ScenarioKind::training;
  const auto& memory = serve ? n.serving.memory : train ? n.training.memory : n.inference.memory;
  if (metric == "memory") {
    detail::check_finite("memory", memory.total.base(), asked);
    return {shown(memory.total), [memory] { return memory_text(memory); }, p.shape.pricing->fidelity()};
  }
  const Time<> value = metric == "ttft" ? n.serving.ttft
                       : serve          ? n.serving.itl
                       : train          ? n.training.step_latency
                                        : n.inference.latency;
  const std::string owed = metric == "ttft" ? first_token_text(n.serving) : "";
  detail::check_finite(metric, value.base(), asked);
  if (p.shape.pricing->lists_operators()) {
    auto pass = pass_of(asked, p, n, metric);
    auto with_update = pass.passes;
    if (train) with_update.push_back(Pass::update);
    auto rows = table_of(pass, with_update, value);
    return {shown(value),
            [owed, pass = std::move(pass), rows, total = shown(value)] {
              return owed + operators_text(pass, rows, total);
            },
            p.shape.pricing->fidelity(), std::move(rows)};
  }
  return {shown(value),
          [owed, law = scenario_law(p.shape), kind = p.shape.kind, in = scenario_leaves(p.shape, p.inputs),
           metric = std::string(metric)] {
            return owed + to_text(derive_scenario(*law, kind, in, law->result(metric)));
          },
          p.shape.pricing->fidelity()};
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
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
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
  out.figures = figures_of(r.hardware(), detail::precision_of(r));
  const auto names = metrics_of(r.mode());
  if (std::find(names.begin(), names.end(), metric) == names.end()) return out;
  Terms t = detail::is_whole_pass(r) ? whole_pass_terms(r, metric, notes)
                                     : terms_of(scenario, prepare(r, notes), metric);
  out.operators = std::move(t.operators);
  out.text = [head = title(r, metric, t.value, name_of(t.fidelity)), body = std::move(t.body),
              figures = out.figures, book] {
    return head + "\n" + body() + "\nfigures of the device\n" + figures_text(figures) + "\nassumptions\n" +
           assumptions_text(*book);
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
  return figures_of(r.hardware(), detail::precision_of(r));
}

std::vector<OperatorRow> operators_in_order(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  require_metric(r.mode(), metric);
  const auto p = prepare(r, quiet);
  if (detail::is_whole_pass(r) || !p.shape.pricing->lists_operators())
    throw InputError({.id = "mlsysim.engine.060",
                      .message = fmt::format("no operators are listed for '{}'", metric),
                      .key = "fidelity",
                      .found = std::string(name_of(p.shape.pricing->fidelity())),
                      .expected = "operator fidelity, of a model whose layers are known",
                      .hint = "leave out --fidelity"});
  const auto s = pass_of(scenario, p, scenario_numbers(p.shape, p.inputs), metric);
  return finite(ordered_rows(s, s.passes), metric, scenario);
}

std::vector<OperatorRow> operator_table(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  require_metric(r.mode(), metric);
  const auto p = prepare(r, quiet);
  auto s = pass_of(scenario, p, scenario_numbers(p.shape, p.inputs), metric);
  if (p.shape.kind == ScenarioKind::training) s.passes.push_back(Pass::update);
  return finite(rows_of(s, s.passes), metric, scenario);
}

}  // namespace mlsysim
