#include <mlsysim/engine/explain.hpp>

#include <mlsysim/engine/requests.hpp>

#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/spec/provenance.hpp>
#include <mlsysim/tools/derivation.hpp>
#include <mlsysim/tools/trace.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

namespace mlsysim {
namespace {

template <class D>
std::string shown(const Quantity<D>& q) {
  return pretty(AnyQuantity(q));
}

/// One pass that is explained operator by operator.
struct Subject {
  PassViews<> views;
  std::vector<Pass> passes;     ///< passes of the list that make up the number
  double repeats = 1;           ///< how often the pass runs (micro-batches, pipeline stages)
  std::string repeats_words;
  Time<> total;                 ///< the number itself
  std::vector<std::pair<std::string, Time<>>> besides;  ///< terms that are no operators
};

std::string title(const ResolvedScenario& r, std::string_view metric, std::string_view value, std::string_view fidelity) {
  return fmt::format("{} = {}\n  {} on {}, {}, {} fidelity\n", metric, value, r.asked().workload->name, r.fleet().name,
                     name_of(r.mode()), fidelity);
}

std::vector<OperatorRow> rows_of(const Subject& s) {
  OpList<> ops;
  (void)lower(s.views.model.structure, s.views.model.shape, s.views.model.layers, s.views.plan, ops);
  std::vector<OperatorRow> rows;
  double sum = 0;
  for (const auto& op : ops.span()) {
    if (std::find(s.passes.begin(), s.passes.end(), op.pass) == s.passes.end()) continue;
    const auto cost = price(op, s.views.device, s.views.links);
    if (cost.total <= Time<>()) continue;
    OperatorRow row{.name = std::string(op.name),
                    .group = std::string(name_of(op.group)),
                    .pass = std::string(name_of(op.pass)),
                    .limit = op.kind == OpKind::host_transfer  ? "host link"
                             : cost.network > Time<>()         ? "network"
                             : cost.overhead > cost.total / 2.0 ? "launch"
                             : cost.compute > cost.memory      ? "compute"
                                                               : "memory",
                    .count = op.count,
                    .work = (op.work * op.count).base(),
                    .traffic = (op.traffic * op.count).base(),
                    .time = cost.total.base()};
    sum += row.time;
    rows.push_back(std::move(row));
  }
  for (auto& row : rows) row.share = sum > 0 ? row.time / sum : 0;
  std::stable_sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) { return a.time > b.time; });
  return rows;
}

/// The law calls behind one operator, its own roofline opened.
std::string derive_operator(const Subject& s, std::string_view name) {
  OpList<Traced> ops;
  const auto model = lift_view<Traced>(s.views.model);
  const auto plan = lift<Traced>(s.views.plan);
  const auto device = lift<Traced>(s.views.device);
  const auto links = lift<Traced>(s.views.links);
  (void)lower(model.structure, model.shape, model.layers, plan, ops);
  for (const auto& op : ops.span()) {
    if (op.name != name || std::find(s.passes.begin(), s.passes.end(), op.pass) == s.passes.end()) continue;
    Trace trace;
    const TraceScope scope(trace);
    (void)price(op, device, links);
    return to_text(read_trace(trace));
  }
  return {};
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
                   fmt::format("{}, {}, {}", source.ref, name_of(source.kind), source.verified.empty() ? "recorded " + source.recorded : "verified " + source.verified)});
  };
  add("compute.dense." + std::string(name_of(precision)));
  add("memory.bandwidth");
  add("memory.capacity");
  for (const char* share : {"matrix", "matrix_narrow", "burst", "attention", "memory", "link"})
    add(std::string("efficiency.") + share);
  for (const char* time : {"launch", "wave", "split", "attention_launch"}) add(std::string("kernels.") + time);
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
    const std::string line = fmt::format("  {:<28} {:<16} {}\n", a.name.view(), a.value.str(), a.source.view());
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

std::string operators_text(const Subject& s) {
  const auto rows = rows_of(s);
  std::string out = s.repeats_words.empty() ? "" : "  " + s.repeats_words + "\n";
  out += fmt::format("  {:<26} {:>6} {:>12} {:>7}  {}\n", "operator", "times", "time", "share", "limited by");
  constexpr std::size_t most = 10;
  double rest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    if (i >= most) {
      rest += row.time;
      continue;
    }
    const std::string name = row.pass == "forward" ? row.name : row.name + " (" + row.pass + ")";
    out += fmt::format("  {:<26} {:>6.4g} {:>12} {:>6.1f}%  {}\n", name, row.count, shown(Time<>::from_base(row.time)),
                       100 * row.share, row.limit);
  }
  if (rows.size() > most)
    out += fmt::format("  {:<26} {:>6} {:>12}\n", fmt::format("+ {} smaller", rows.size() - most), "", shown(Time<>::from_base(rest)));
  for (const auto& [name, time] : s.besides) out += fmt::format("  {:<26} {:>6} {:>12}\n", "+ " + name, "", shown(time));
  if (!rows.empty()) {
    out += fmt::format("\nthe largest term, {}, law by law\n", rows.front().name);
    out += derive_operator(s, rows.front().name);
  }
  return out;
}

/// Everything that one metric needs: a subject for times, a breakdown for memory, or a traced textbook core.
struct Answer {
  std::string value;
  std::string body;
};

/// The prefill (its last chunk), a decode step, or the check of drafted tokens.
Subject serving_subject(const ServingModel::Inputs& in, bool prefill, Notes& notes) {
  const auto v = prepare_serving(in, notes);
  const bool check = !prefill && in.draft_model != nullptr;
  Subject s;
  s.views = {prefill || check ? v.prefill : v.decode, v.plan, prefill ? v.prefill_device : v.decode_device, v.links};
  s.passes = {Pass::forward};
  s.repeats = v.plan.pp * (prefill ? v.chunks : 1);
  if (prefill && v.chunks > 1) s.repeats_words = fmt::format("the last of {} chunks:", v.chunks);
  s.views.plan.new_tokens = prefill ? (v.chunks > 1 ? v.chunk : v.prompt - v.cached) : 1;
  s.views.plan.context = prefill ? v.prompt : v.decode_context;
  if (check) {
    const double drafted = in.draft_tokens.value_or(conventions_or_standard(in.conventions).draft_tokens);
    s.views.plan.new_tokens = drafted + 1;
    s.views.plan.context = v.decode_context + drafted;
  }
  return s;
}

Answer serving_answer(const ResolvedScenario& r, std::string_view metric, Notes& notes) {
  const auto in = detail::serve_request(r);
  const auto result = ServingModel{}.solve(in, notes);
  if (metric == "memory") return {shown(result.memory.total), memory_text(result.memory)};
  const bool prefill = metric == "ttft";
  const Time<> total = prefill ? result.ttft : result.itl;
  if (result.fidelity == Fidelity::textbook) {
    Trace trace;
    const auto views = lift_view<Traced>(prepare_textbook_serving(in, notes));
    {
      const TraceScope scope(trace);
      (void)textbook_serving_core(views);
    }
    std::string body = to_text(read_trace(trace));
    if (!prefill && in.draft_model != nullptr)
      body += fmt::format("  the step above checks what {} proposes, at no cost for the further tokens (SpeculativeTokenTime)\n",
                          in.draft_model->name);
    return {shown(total), body};
  }
  Subject s = serving_subject(in, prefill, notes);
  s.total = total;
  s.besides = {{"dispatch", s.views.device.dispatch}};
  if (!prefill && in.draft_model != nullptr) {
    const double drafted = s.views.plan.new_tokens - 1;
    const double tokens = ExpectedAcceptedTokens::solve<double>({in.draft_acceptance_rate, drafted}).expected_tokens;
    OpList<> ops;
    const Time<> check = pass_time(s.views.model, s.views.plan, s.views.device, s.views.links, ops).total;
    s.repeats_words = fmt::format("the check of {:g} drafted tokens, which yields {:.3g} tokens on average:", drafted, tokens);
    s.besides.emplace_back(fmt::format("{:g} steps of {}", drafted, in.draft_model->name), total * tokens - check);
  }
  return {shown(total), operators_text(s)};
}

Answer training_answer(const ResolvedScenario& r, std::string_view metric, Notes& notes) {
  const auto in = detail::train_request(r);
  const auto result = DistributedModel{}.solve(in, notes);
  if (metric == "memory") return {shown(result.memory.total), memory_text(result.memory)};
  const Time<> total = result.step_latency_total;
  if (result.fidelity == Fidelity::textbook) {
    Trace trace;
    const TextbookStepViews<> views = prepare_textbook_distributed(in, notes);
    const auto traced = lift_view<Traced>(views);
    {
      const TraceScope scope(trace);
      (void)textbook_step_core(traced);
    }
    return {shown(total), to_text(read_trace(trace))};
  }
  Subject s;
  s.views = prepare_distributed(in, notes);
  s.passes = {Pass::forward, Pass::recompute, Pass::backward, Pass::weight_gradient};
  s.total = total;
  s.repeats_words = fmt::format("one of {} micro-batches on the slowest pipeline stage:", s.views.plan.microbatches);
  s.besides = {{"pipeline bubble", result.pipeline_bubble_latency},
               {"gradient exchange before overlap", result.dp_communication_latency}};
  if (in.offload_states > 0) {
    OpList<> ops;
    const auto parts = step_parts(s.views.model, s.views.plan, s.views.device, s.views.links, ops);
    s.besides.emplace_back("optimizer states over the host link before overlap", max(parts.first.update.host, parts.last.update.host));
  }
  if (in.straggler_factor > 1)
    s.besides.emplace_back(fmt::format("waiting for the slowest device, factor {:g}", in.straggler_factor),
                           (total - result.dp_communication_latency * (1 - 1 / in.congestion_factor)) * (1 - 1 / in.straggler_factor));
  return {shown(total), operators_text(s)};
}

Answer inference_answer(const ResolvedScenario& r, std::string_view metric, Notes& notes) {
  if (detail::is_whole_pass(r)) {
    const auto a = InferencePassModel{}.solve(detail::pass_request(r), notes);
    if (metric == "memory") return {shown(a.memory_footprint), memory_text(detail::pass_memory(r, a))};
    return {shown(a.latency), fmt::format("  {:g} runs of the network: arithmetic {}, memory {}, software {}: the slower of the first two, plus "
                                          "the third\n  each run reads {} of weights from {}, {} of table rows and {} of state, twice\n",
                                          a.evaluations, shown(a.latency_compute), shown(a.latency_memory), shown(a.latency_overhead),
                                          shown(a.weights), a.weights_in, shown(a.rows_read), shown(a.state))};
  }
  const auto in = detail::infer_request(r);
  const auto result = SingleNodeModel{}.solve(in, notes);
  if (metric == "memory") return {shown(result.memory.total), memory_text(result.memory)};
  if (result.fidelity == Fidelity::textbook) {
    std::string body = fmt::format("  arithmetic {}, memory {}, software {}: the slower of the first two, plus the third\n",
                                   shown(result.latency_compute), shown(result.latency_memory), shown(result.latency_overhead));
    return {shown(result.latency), body};
  }
  Subject s;
  s.views = prepare_single_node(in, notes);
  s.passes = {Pass::forward};
  s.total = result.latency;
  s.besides = {{"dispatch", s.views.device.dispatch}};
  return {shown(result.latency), operators_text(s)};
}

std::vector<std::string> metrics_of(Mode mode) {
  switch (mode) {
    case Mode::serve: return {"ttft", "itl", "memory"};
    case Mode::train: return {"step_latency", "memory"};
    case Mode::infer: break;
  }
  return {"latency", "memory"};
}

void require_metric(Mode mode, std::string_view metric) {
  const auto names = metrics_of(mode);
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
  throw LookupError({.id = "mlsysim.engine.020",
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

std::string explain(const Scenario& scenario, std::string_view metric) {
  NoteBook book;
  Notes notes(book);
  const ResolvedScenario r(scenario, notes);
  require_metric(r.mode(), metric);
  const Answer a = r.mode() == Mode::serve   ? serving_answer(r, metric, notes)
                   : r.mode() == Mode::train ? training_answer(r, metric, notes)
                                             : inference_answer(r, metric, notes);
  Notes quiet;
  const Fidelity fidelity = fidelity_or_default(scenario.fidelity, *scenario.workload, quiet);
  return title(r, metric, a.value, name_of(fidelity)) + "\n" + a.body + "\nfigures of the device\n" +
         figures_text(device_figures(scenario)) + "\nassumptions\n" + assumptions_text(book);
}

std::vector<DeviceFigure> device_figures(const Scenario& scenario) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  return figures_of(r.hardware(), precision_or_default(scenario.precision, r.hardware(), quiet));
}

std::vector<OperatorRow> operator_table(const Scenario& scenario, std::string_view metric) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  require_metric(r.mode(), metric);
  Subject s;
  if (r.mode() == Mode::serve) {
    s = serving_subject(detail::serve_request(r), metric == "ttft", quiet);
  } else if (r.mode() == Mode::train) {
    s.views = prepare_distributed(detail::train_request(r), quiet);
    s.passes = {Pass::forward, Pass::recompute, Pass::backward, Pass::weight_gradient, Pass::update};
  } else {
    s.views = prepare_single_node(detail::infer_request(r), quiet);
    s.passes = {Pass::forward};
  }
  return rows_of(s);
}

}  // namespace mlsysim
