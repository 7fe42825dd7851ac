#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/report/detail/markup.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/sizing/report.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/markup.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;
using detail::markup_escaped;

template <class D> std::string shown(const Quantity<D>& q) { return pretty(AnyQuantity(q), 3); }

bool trains(const SizedPlan& p) { return p.scenario.mode == Mode::train; }

std::string money(double x) { return x < 100 ? fmt::format("{:.3g}", x) : fmt::format("{:.0f}", x); }

/// "40 H200 = 5 replicas of 8 (tp 8)", "2 DGX_H100 (16 devices) = 2 replicas of 8 (tp 8)"
std::string devices_words(const SizedPlan& p, const std::string& machine) {
  const Fleet* fleet = p.scenario.fleet;
  const auto bought =
      fleet == nullptr
          ? fmt::format("{:g} {}", p.devices, machine)
          : fmt::format("{:g} {} ({:g} devices)", std::ceil(p.devices / fleet->node->accelerators_per_node),
                        machine, p.devices);
  if (p.prefill.workers > 0) return fmt::format("{} = {}", bought, p.degrees());
  const double each = p.replica_devices();
  return fmt::format("{} = {:g} {} of {:g} ({})", bought, p.replicas,
                     p.replicas == 1 ? "replica" : "replicas", each, p.degrees());
}

std::string numbers_words(const SizedPlan& p) {
  if (trains(p))
    return fmt::format("{} at {:.3g} % MFU; {:.3g} % of the time is lost to failures", shown(p.training_time),
                       100 * p.mfu, 100 * (1 - p.goodput_ratio));
  return fmt::format("first token {} (99 %: {}), then one every {}; {}", shown(p.ttft), shown(p.p99_ttft),
                     shown(p.itl), shown(p.token_throughput));
}

std::string cost_words(const SizedPlan& p) {
  if (!p.cost) return "no price is known: --price 'MACHINE=3.2 USD/h' gives one";
  std::string out = fmt::format("{} USD/h", money(p.cost->in(unit::USD / unit::h)));
  if (p.run_cost) out += fmt::format(", {} for the run", shown(*p.run_cost));
  return out;
}

std::string interval_words(double low, double high, int level) {
  return std::isfinite(high)
             ? fmt::format("{} % interval: {:.4g} to {:.4g}", level, low, high)
             : fmt::format("{} % interval: {:.4g} to no number (the limits may not be met at all)", level,
                           low);
}

Table plans_table(const SizeAnswer& a) {
  Table t{.schema = "mlsysim/size@1", .title = "plans", .columns = {}, .rows = {}, .footer = {}};
  const bool run = trains(a.best);
  t.columns = {{"devices"}, {"plan"}, {"replicas"}};
  if (run)
    for (const auto& c : {Table::Column{"training_time", "d"}, {"mfu"}, {"run_cost", "USD"}})
      t.columns.push_back(c);
  else
    for (const auto& c : {Table::Column{"serves at most", "request/s"},
                          {"limited by"},
                          {"ttft", "ms"},
                          {"p99_ttft", "ms"},
                          {"itl", "ms"}})
      t.columns.push_back(c);
  t.columns.push_back({"cost", "USD/h"});
  const auto add = [&](const SizedPlan& p) {
    std::vector<Table::Cell> row{p.devices, p.degrees(), p.replicas};
    if (run) {
      row.emplace_back(p.training_time);
      row.emplace_back(p.mfu);
      row.push_back(p.run_cost ? Table::Cell(*p.run_cost) : Table::Cell());
    } else {
      row.emplace_back(p.most_rate);
      row.emplace_back(p.limited_by);
      row.emplace_back(p.ttft);
      row.emplace_back(p.p99_ttft);
      row.emplace_back(p.itl);
    }
    row.push_back(p.cost ? Table::Cell(*p.cost) : Table::Cell());
    t.rows.push_back(std::move(row));
  };
  add(a.best);
  for (const auto& p : a.others) add(p);
  return t;
}

template <class D> Json number_in(const Quantity<D>& q, std::string_view unit) {
  return AnyQuantity(q).in(unit);
}

Json json_of(const SizedPlan& p) {
  Json j{{"devices", p.devices}, {"replicas", p.replicas}, {"tp_size", p.tp},
         {"pp_size", p.pp},      {"ep_size", p.ep},        {"limited_by", p.limited_by}};
  if (p.precision) j["precision"] = std::string(name_of(*p.precision));
  if (p.prefill.workers > 0)
    j["prefill"] = {
        {"workers", p.prefill.workers}, {"tp_size", p.prefill.each.tp}, {"ep_size", p.prefill.each.ep}};
  if (trains(p)) {
    j["training_time_d"] = number_in(p.training_time, "d");
    j["mfu"] = p.mfu;
    j["goodput_ratio"] = p.goodput_ratio;
    j["zero_stage"] = p.scenario.zero_stage;
    if (p.scenario.microbatch_size) j["microbatch_size"] = *p.scenario.microbatch_size;
    if (p.scenario.recomputation) j["recomputation"] = std::string(name_of(*p.scenario.recomputation));
    if (p.run_cost) j["run_cost_usd"] = number_in(*p.run_cost, "USD");
  } else {
    j["running_requests"] = p.running;
    j["most_rate_per_s"] = number_in(p.most_rate, "request/s");
    j["ttft_ms"] = number_in(p.ttft, "ms");
    j["p99_ttft_ms"] = number_in(p.p99_ttft, "ms");
    j["itl_ms"] = number_in(p.itl, "ms");
    j["request_latency_ms"] = number_in(p.e2e, "ms");
  }
  j["token_throughput_per_s"] = number_in(p.token_throughput, "token/s");
  j["cost_usd_per_h"] = p.cost ? number_in(*p.cost, "USD/h") : Json(nullptr);
  return j;
}

/// The question for programs: rate and limits.
Json json_of(const SizeQuestion& q) {
  Json limits = Json::array();
  for (const auto& l : q.limits)
    limits.push_back({{"result", std::string(l.result())}, {"most_ms", number_in(l.most, "ms")}});
  return {{"workload", q.scenario.workload->name},
          {"rate_per_s", number_in(q.rate, "request/s")},
          {"limits", std::move(limits)},
          {"seq_len", q.scenario.seq_len ? Json(*q.scenario.seq_len) : Json(nullptr)},
          {"output_tokens", q.scenario.output_tokens ? Json(*q.scenario.output_tokens) : Json(nullptr)}};
}

Json json_of(const SizeAnswer& a) {
  Json others = Json::array();
  for (const auto& p : a.others) others.push_back(json_of(p));
  Json j{{"workload", a.workload},
         {"hardware", a.hardware},
         {"software", a.software},
         {"best", json_of(a.best)},
         {"interval",
          {{"level", a.level},
           {"lower", a.lower},
           {"upper", a.upper},
           {"time_low", a.time_low},
           {"time_high", a.time_high}}},
         {"headroom", a.headroom},
         {"others", std::move(others)},
         {"plans", a.plans},
         {"fitting", a.fitting},
         {"pools", a.pools},
         {"launch", a.launch},
         {"class_figures", a.class_figures},
         {"warnings", a.warnings}};
  Json assumed = Json::array();
  for (const auto& s : a.assumptions)
    assumed.push_back({{"name", std::string(s.name.view())},
                       {"value", std::string(s.value.str())},
                       {"source", std::string(s.source.view())}});
  j["assumptions"] = std::move(assumed);
  return j;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

/// "80 %: +4 to +27 %", in which an end is open where a machine may miss its limits on any number of devices.
std::string against(const DecideOption& o, const DecideOption& choice, int level) {
  if (!o.compared) return "no price is known";
  if (choice.cost == 0) return "the choice costs nothing";
  const auto percent = [](double quotient) { return 100 * (quotient - 1); };
  const bool low = o.against_low > 0, high = std::isfinite(o.against_high);
  if (low && high)
    return fmt::format("{} %: {:+.0f} to {:+.0f} %", level, percent(o.against_low), percent(o.against_high));
  if (low)
    return fmt::format("{} %: from {:+.0f} %, or it may miss the limits", level, percent(o.against_low));
  if (high)
    return fmt::format("{} %: up to {:+.0f} %, or the choice may miss the limits", level,
                       percent(o.against_high));
  return fmt::format("{} %: either may miss the limits", level);
}

/// The most that the choice can lose, as a sentence without its end.
std::string regret_words(const DecideAnswer& a) {
  if (std::isfinite(a.regret))
    return fmt::format("the choice can lose {} {} at most, over all errors that {} % intervals hold",
                       money(a.regret), a.unit, a.level);
  return fmt::format(
      "what the choice can lose has no bound: within {} % intervals it may miss the limits on any number of "
      "devices where another machine meets them",
      a.level);
}

std::string verdict(const DecideQuestion& q, const DecideAnswer& a) {
  const auto& best = a.options.front();
  const auto cost = [&](const DecideOption& o) {
    return a.priced ? money(o.cost) + " USD/h" : fmt::format("{:g} devices", o.cost);
  };
  std::string out = fmt::format("{}: {} for {}", best.machine, cost(best), words_of(q.ask));
  const DecideOption* second = a.options.size() > 1 && a.options[1].meets_limits() ? &a.options[1] : nullptr;
  if (second == nullptr) return out + "; no other machine does it";
  if (!second->compared) return out + "; the price of the others is not known";
  if (best.cost == 0) return out + fmt::format("; {} costs {}", second->machine, cost(*second));
  const double more = 100 * (second->cost / best.cost - 1);
  if (second->apart)
    return out + fmt::format("; {} costs {:.0f} % more ({})", second->machine, more,
                             against(*second, best, a.level));
  return out + fmt::format("; {} cannot be told apart: {:+.0f} % ({})", second->machine, more,
                           against(*second, best, a.level));
}

std::vector<std::string> changes_of(const DecideAnswer& a) {
  std::vector<std::string> out;
  for (const auto& f : a.flips) {
    const std::string unit = f.unit.empty() ? "" : " " + f.unit;
    const std::string now = f.now ? fmt::format("now {:.4g}{}", *f.now, unit) : "no price is known";
    std::string line = fmt::format("{}: {} {} {:.4g}{} ({})", f.figure, f.winner,
                                   !f.now || f.at < *f.now ? "below" : "from", f.at, unit, now);
    if (f.deviations) line += fmt::format(", {:.1f} standard deviations away", *f.deviations);
    out.push_back(std::move(line));
  }
  return out;
}

Table options_table(const DecideAnswer& a) {
  Table t{.schema = "mlsysim/decision@1", .title = "machines", .columns = {}, .rows = {}, .footer = {}};
  const bool run =
      std::ranges::any_of(a.options, [](const auto& o) { return o.size && trains(o.size->best); });
  t.columns = {{"machine"}, {"feasible"}, {"meets limits"}, {"priced"}, {"devices"}, {"interval"}, {"plan"}};
  for (const auto* time : run ? std::vector{"run"} : std::vector{"first token", "per token"})
    t.columns.push_back({time});
  t.columns.insert(t.columns.end(), {{"cost", ""}, {"against the choice"}});
  for (const auto& o : a.options) {
    if (!o.meets_limits()) {
      t.rows.push_back({o.machine, o.fits ? "yes" : "no", "no", "", "", "", o.why_not});
      t.rows.back().resize(t.columns.size(), "");
      continue;
    }
    const auto& s = *o.size;
    t.rows.push_back({o.machine, "yes", "yes", s.best.cost ? "yes" : "no", s.best.devices,
                      std::isfinite(s.upper) ? fmt::format("{:.4g} to {:.4g}", s.lower, s.upper)
                                             : fmt::format("{:.4g} or more", s.lower),
                      s.best.degrees()});
    auto& row = t.rows.back();
    if (run)
      row.emplace_back(shown(s.best.training_time));
    else
      row.insert(row.end(), {shown(s.best.ttft), shown(s.best.itl)});
    row.insert(
        row.end(),
        {s.best.cost ? fmt::format("{} USD/h", money(s.best.cost->in(unit::USD / unit::h))) : "unknown",
         &o == &a.options.front() ? std::string("the choice")
                                  : against(o, a.options.front(), a.level) +
                                        (o.apart || !o.compared ? "" : ", cannot be told apart")});
  }
  return t;
}

Json json_of(const CostAt& c) {
  Json j{{"machine", c.machine}, {"factor", c.factor},   {"devices", c.devices}, {"cost", c.cost},
         {"tp_size", c.plan.tp}, {"pp_size", c.plan.pp}, {"ep_size", c.plan.ep}, {"pools", c.pools}};
  if (c.plan.precision) j["precision"] = std::string(name_of(*c.plan.precision));
  return j;
}

/// Costs of the machines with their intervals, in one picture.
std::string picture(const DecideAnswer& a) {
  std::vector<const DecideOption*> shown_options;
  double most = 0;
  for (const auto& o : a.options)
    if (o.meets_limits()) {
      shown_options.push_back(&o);
      if (o.compared) most = std::max({most, o.cost, std::isfinite(o.upper) ? o.upper : 0.0});
    }
  if (!(most > 0)) most = 1;
  constexpr int row = 34, left = 130, width = 520;
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"cost of each machine with its interval\">",
      left + width + 90, row * static_cast<int>(shown_options.size()) + 8);
  int y = 4;
  for (const auto* o : shown_options) {
    const auto x = [&](double v) {
      return left + width * std::min(1.0, (std::isfinite(v) ? v : most) / most);
    };
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", left - 10, y + 20,
                       markup_escaped(o->machine));
    if (!o->compared) {
      out += fmt::format("<text x=\"{}\" y=\"{}\">no price is known</text>", left, y + 20);
      y += row;
      continue;
    }
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"22\" fill=\"{}\"/>", left, y + 4,
                       x(o->cost) - left, o == &a.options.front() ? "#1f6f8b" : "#b9c7cc");
    out += fmt::format("<path d=\"M{:.1f} {} H{:.1f}\" stroke=\"#222\" stroke-width=\"2\"/>", x(o->lower),
                       y + 15, x(o->upper));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{} {}</text>",
                       x(std::max(o->cost, std::isfinite(o->upper) ? o->upper : most)) + 6, y + 20,
                       a.priced ? money(o->cost) : fmt::format("{:g}", o->cost), a.unit);
    y += row;
  }
  return out + "</svg>";
}

Json json_of(const DecideQuestion& q, const DecideAnswer& a) {
  Json options_json = Json::array(), flips = Json::array(), next = Json::array();
  for (const auto& o : a.options) {
    Json j{{"machine", o.machine},
           {"feasible", o.fits},
           {"meets_limits", o.meets_limits()},
           {"priced", o.priced()}};
    if (o.meets_limits() && !o.compared) {
      j["size"] = json_of(*o.size);
    } else if (o.meets_limits()) {
      j["cost"] = o.cost;
      j["lower"] = o.lower;
      j["upper"] = o.upper;
      j["own_time"] = {o.time_low, o.time_high};
      j["against_choice"] = {o.against_low, o.against_high};
      j["apart"] = o.apart;
      j["size"] = json_of(*o.size);
    } else {
      j["why_not"] = o.why_not;
      j["smallest_change"] = o.change;
    }
    options_json.push_back(std::move(j));
  }
  const auto parts_of = [](const std::vector<RegretPart>& parts, const char* factor) {
    Json out = Json::array();
    for (const auto& p : parts)
      out.push_back({{factor, {p.low, p.high}},
                     {"choice", json_of(p.choice)},
                     {"other", json_of(p.other)},
                     {"bound", p.bound}});
    return out;
  };
  for (const auto& f : a.flips)
    flips.push_back({{"figure", f.figure},
                     {"unit", f.unit},
                     {"now", f.now ? Json(*f.now) : Json(nullptr)},
                     {"at", f.at},
                     {"winner", f.winner},
                     {"deviations", f.deviations ? Json(*f.deviations) : Json(nullptr)}});
  const auto measurement = [](const NextMeasurement& m) {
    Json j{{"machine", m.machine},
           {"device", m.device},
           {"what", m.what},
           {"gpu_minutes", m.minutes},
           {"regret_left", m.regret}};
    if (m.kernel) j["kernel"] = Json::parse(m.kernel->json());
    return j;
  };
  for (const auto& m : a.next) next.push_back(measurement(m));
  return Json{{"schema", "mlsysim/decision@1"},
              {"question", words_of(q.ask)},
              {"asked", json_of(q.ask)},
              {"verdict", verdict(q, a)},
              {"unit", a.unit},
              {"level", a.level},
              {"options", std::move(options_json)},
              {"regret",
               {{"most", a.regret},
                {"correlation", a.shared},
                {"common", {a.common_low, a.common_high}},
                {"certificate", parts_of(a.certificate, "common")},
                {"same_device", parts_of(a.same_device, "factor")}}},
              {"flips", std::move(flips)},
              {"next", std::move(next)},
              {"run", a.run ? measurement(*a.run) : Json(nullptr)}};
}

}  // namespace

std::string words_of(const SizeQuestion& q) {
  const Scenario& s = q.scenario;
  const std::string& model = s.workload->name;
  if (s.mode == Mode::train || q.within || s.training_tokens) {
    Notes quiet;
    std::string out = fmt::format("training of {} with a batch of {:g}", model, s.batch_size);
    if (s.workload->hidden())
      out += fmt::format(" sequences of {:.0f} tokens", seq_len_or_default(s.seq_len, *s.workload, 0, quiet));
    if (const auto tokens = s.tokens_of_run()) out += fmt::format(" on {}", shown(*tokens));
    if (q.within) out += fmt::format(" within {}", shown(*q.within));
    return out;
  }
  std::vector<std::string> limits;
  for (const auto& l : q.limits) limits.push_back(l.text());
  return fmt::format("{} of {} ({}){}{}", shown(q.rate), model, length_words(s, Load::rate),
                     limits.empty() ? "" : " within ", fmt::join(limits, ", "));
}

std::string render(const SizeQuestion& q, const SizeAnswer& a, const RenderOptions& options) {
  if (options.format == OutputFormat::json) {
    Json j{{"schema", "mlsysim/size@1"}, {"question", words_of(q)}, {"asked", json_of(q)}};
    j.update(json_of(a));
    return detail::json_document(j);
  }
  if (options.format == OutputFormat::csv) return render(plans_table(a), options);
  const auto& p = a.best;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}, for {}", devices_words(p, a.hardware), words_of(q)));
  lines.push_back(
      fmt::format("{} devices; software: {}", interval_words(a.lower, a.upper, a.level), a.software));
  if (trains(p))
    lines.push_back(fmt::format("{}; {:.0f} % of the time is left", numbers_words(p), 100 * a.headroom));
  else
    lines.push_back(fmt::format(
        "{:.3g} requests run on each replica; limited by {}; {:.0f} % headroom; one more replica from {}",
        p.running, p.limited_by, 100 * a.headroom, shown(p.most_rate)));
  if (!trains(p)) lines.push_back("at this load: " + numbers_words(p));
  lines.push_back("cost: " + cost_words(p));
  if (!a.class_figures.empty()) lines.push_back("not measured: " + a.class_figures);
  lines.push_back(fmt::format(
      "proof: all {} plans of powers of two were evaluated{}, {} meet the limits{}", a.plans,
      trains(p) ? " at the stages of ZeRO, micro-batches and recomputations that are open" : "", a.fitting,
      a.pools > 0 ? fmt::format("; {} pairs of pools were evaluated or cannot take fewer "
                                "devices",
                                a.pools)
                  : ""));
  if (!trains(p) && !q.disaggregated)
    lines.push_back(
        "not searched: workers for prompts of their own, whose measured steps are slower than predicted "
        "(--disaggregated searches them as well)");
  if (p.ep > 1)
    lines.push_back(
        fmt::format("ep {:g}: so many groups of devices have requests of their own "
                    "(data-parallel attention), and a part of the experts",
                    p.ep));
  if (!a.launch.empty()) lines.push_back("launch of a replica: " + a.launch);
  std::string out;
  if (options.format == OutputFormat::markdown)
    for (const auto& line : lines) out += fmt::format("* {}\n", line);
  else
    out = joined(lines);
  if (!a.others.empty()) out += "\n" + render(plans_table(a), options);
  if (options.verbosity == Verbosity::verbose)
    for (const auto& s : a.assumptions)
      out += fmt::format("assumed: {} {} ({})\n", s.name.view(), s.value.str(), s.source.view());
  else
    out += fmt::format("{} assumptions, with their sources: --verbose\n", a.assumptions.size());
  for (const auto& w : a.warnings) out += "warning: " + w + "\n";
  return out;
}

std::string render(const DecideQuestion& q, const DecideAnswer& a, const RenderOptions& options) {
  if (options.format == OutputFormat::json) return detail::json_document(json_of(q, a));
  const Table table = options_table(a);
  if (options.format == OutputFormat::csv) return render(table, options);
  const bool markdown = options.format == OutputFormat::markdown;
  const auto item = [&](const std::string& text) { return (markdown ? "* " : "  ") + text + "\n"; };
  std::string out = verdict(q, a) + "\n";
  if (!a.priced)
    out +=
        "compared by devices: the price of a machine is not known; --price 'MACHINE=3.2 USD/h' gives one\n";
  if (a.options.size() > 1 && a.options[1].meets_limits()) out += regret_words(a) + "\n";
  if (q.ask.limits.empty() && a.options.front().meets_limits() && !trains(a.options.front().size->best))
    out +=
        "no limit on a time: each plan is the cheapest at this rate (--ttft '2 s', --itl '50 ms' set "
        "limits)\n";
  std::set<std::string_view> said;  // of machines with one device once
  for (const auto& o : a.options)
    if (o.meets_limits() && !o.size->class_figures.empty() && said.insert(o.size->class_figures).second)
      out += "not measured: " + o.size->class_figures + "\n";
  out += "\n" + render(table, options);
  if (const auto changes = changes_of(a); !changes.empty()) {
    out += "\nwhat would change it\n";
    for (const auto& c : changes) out += item(c);
  }
  if (!a.next.empty()) {
    out += "\nwhat to measure next\n";
    for (const auto& m : a.next)
      out += item(fmt::format("{}: {} ({}); {:g} GPU minutes, leaves a regret of {} {}", m.machine,
                              m.kernel->text(), m.what, m.minutes, money(m.regret), a.unit));
    out += item("--points FILE writes them for `mlsysim measure --points FILE`");
  }
  if (a.run)
    out += fmt::format(
        "\nor run the plan itself\n{}",
        item(fmt::format("{}: {}; {:.0f} GPU minutes, leaves a regret of {} {} (--measured FILE)",
                         a.run->machine, a.run->what, a.run->minutes, money(a.run->regret), a.unit)));
  bool launches = false;
  for (const auto& o : a.options)
    if (o.meets_limits() && !o.size->launch.empty()) {
      if (!launches) out += "\nlaunch of a replica\n";
      launches = true;
      out += item(fmt::format("{}: {}", o.machine, o.size->launch));
    }
  return out;
}

std::string decision_page(const DecideQuestion& q, const DecideAnswer& a) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>" +
      markup_escaped(words_of(q.ask)) +
      "</title>\n<style>body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:46em;color:#222}"
      "h1{font-size:1.25em}table{border-collapse:collapse;width:100%;font-size:.9em}td,th{padding:.25em .5em;"
      "border-bottom:1px solid #ddd;text-align:left}svg{width:100%;height:auto;font:13px "
      "system-ui,sans-serif}"
      ".small{font-size:.8em;color:#555}@page{size:A4;margin:1.5cm}</style>\n";
  out += fmt::format("<h1>{}</h1>\n", markup_escaped(verdict(q, a)));
  if (a.options.size() > 1 && a.options[1].meets_limits())
    out += fmt::format("<p>{}.</p>\n", markup_escaped(regret_words(a)));
  out += picture(a) +
         "\n<table><tr><th>machine<th>devices<th>plan<th>interval<th>cost<th>first token (99 %)<th>between "
         "tokens</tr>\n";
  for (const auto& o : a.options) {
    if (!o.meets_limits()) {
      out += fmt::format("<tr><td>{}<td colspan=6>{}</tr>\n", markup_escaped(o.machine),
                         markup_escaped(o.why_not));
      continue;
    }
    const auto& p = o.size->best;
    out += fmt::format("<tr><td>{}<td>{:g}<td>{} x ({})<td>{:.4g} to {:.4g}<td>{}<td>{} ({})<td>{}</tr>\n",
                       markup_escaped(o.machine), p.devices, p.replicas, p.degrees(), o.size->lower,
                       o.size->upper, markup_escaped(cost_words(p)), shown(p.ttft), shown(p.p99_ttft),
                       shown(p.itl));
  }
  out += "</table>\n";
  if (const auto changes = changes_of(a); !changes.empty()) {
    out += "<h2 style=\"font-size:1em\">What would change it</h2><ul>\n";
    for (std::size_t i = 0; i < changes.size() && i < 6; ++i)
      out += fmt::format("<li>{}\n", markup_escaped(changes[i]));
    out += "</ul>\n";
  }
  out += "<p class=\"small\">";
  for (const auto& o : a.options) {
    if (!o.meets_limits()) continue;
    if (!o.size->class_figures.empty()) out += markup_escaped(o.size->class_figures) + ". ";
    if (!o.size->launch.empty())
      out += fmt::format("{}: <code>{}</code>. ", markup_escaped(o.machine),
                         markup_escaped(o.size->launch.substr(0, 300)));
  }
  out += "Assumptions: ";
  std::size_t listed = 0;
  for (const auto& s : a.options.front().size->assumptions)
    if (listed++ < 12)
      out += fmt::format("{} {}; ", markup_escaped(s.name.view()), markup_escaped(s.value.str()));
  return out + fmt::format("{} more in the JSON form. Made by mlsysim.</p>\n</html>\n",
                           a.options.front().size->assumptions.size() - std::min<std::size_t>(12, listed));
}

}  // namespace mlsysim
