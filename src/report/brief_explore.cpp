// Sensitivities, differences and optima on one screen: the verdict first, labels for keys, the few rows that
// matter.

#include "detail/brief_explore.hpp"
#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/detail/axis_words.hpp>
#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/report/detail/verdict.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include "detail/human.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kLeverRows = 6;    // of a group
constexpr std::size_t kTermRows = 8;     // causes of a difference that are told apart
constexpr std::size_t kFrontRows = 12;   // of a front
constexpr std::size_t kSpreadParts = 3;  // figures that make a spread
constexpr double kLeastShare = 0.005;    // of a variance: less is noise of the sample
constexpr double kWorthSaying = 0.001;   // a smaller relative effect stands in no brief table

/// A value of an input for readers.
std::string value_words(double x, std::string_view unit, const Exponents& exps) {
  const bool whole = exps.dimensionless() && x == std::round(x) && std::abs(x) < 1e9;
  FieldInfo f;
  f.kind = exps.dimensionless() ? ValueKind::number : ValueKind::quantity;
  f.exps = exps;
  f.unit = unit;
  return field_text(f, x, whole ? 9 : 3);  // counts are exact
}

/// The end of a lever that improves the result, or the one that moves it most.
struct End {
  double at = 0, change = 0;
};
End better_end(const Lever& l, const Exponents& result) {
  const auto gain = [&](double change) { return better_when_less(result) ? -change : change; };
  const End up{l.upper, l.at_upper}, down{l.lower, l.at_lower};
  const bool up_is = std::isfinite(up.change), down_is = std::isfinite(down.change);
  if (!up_is || !down_is) return up_is ? up : down;
  const double best = std::max(gain(up.change), gain(down.change));
  if (best >= kWorthSaying) return gain(up.change) >= gain(down.change) ? up : down;
  return std::abs(up.change) >= std::abs(down.change) ? up : down;
}

/// The levers by the change that is told of each, the largest first.
std::vector<const Lever*> by_effect(const SensitivityReport& r) {
  std::vector<const Lever*> out;
  for (const auto& l : r.levers) out.push_back(&l);
  const auto effect = [&](const Lever* l) {
    const double change = std::abs(better_end(*l, r.exps).change);
    return std::isnan(change) ? 0.0 : change;
  };
  std::ranges::stable_sort(out, std::greater{}, effect);
  return out;
}

enum class LeverGroup { yours, hardware, hidden };
LeverGroup group_of_lever(std::string_view input) {
  if (input.find('.') == std::string_view::npos || input == "plan.weight_bytes" || input == "plan.kv_bytes")
    return LeverGroup::yours;
  for (const std::string_view shown :
       {"hardware.memory.", "hardware.compute.dense.", "hardware.compute.vector", "hardware.power.tdp",
        "hardware.kernels.launch", "hardware.efficiency.memory", "hardware.efficiency.matrix",
        "hardware.host_link.", "links.level1.bandwidth", "links.level2.bandwidth", "links.level2.latency",
        "engine.host_step"})
    if (input.starts_with(shown)) return LeverGroup::hardware;
  return LeverGroup::hidden;
}

/// "10 % more", "16 instead of 8".
std::string move_words(const Lever& l, double at) {
  if (l.counted)
    return fmt::format("{} instead of {}", value_words(at, l.unit, l.exps),
                       value_words(l.value, l.unit, l.exps));
  return at > l.value ? fmt::format("{:.3g} % more", 100 * (at / l.value - 1))
                      : fmt::format("{:.3g} % less", 100 * (1 - at / l.value));
}

std::string percent(double change) { return fmt::format("{:+.2g} %", 100 * change); }

using Columns = std::vector<std::vector<std::string>>;
/// Columns beside each other, the first to the left.
std::string aligned(const Columns& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (widths.size() <= k) widths.push_back(0);
      widths[k] = std::max(widths[k], shown_width(row[k]));
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) line += padded(row[k], widths[k] + 2);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

/// "153 output tokens/s per device", "ITL 29.9 ms".
std::string number_words(std::string_view key, double x, const Exponents& exps) {
  const auto label = label_of(key);
  if (label.find("/s") != std::string::npos) return fmt::format("{} {}", grouped(x), label);
  return fmt::format("{} {}", short_label(key), human(x, exps));
}

/// "memory bandwidth, 10 % more, cuts ITL (11.2 ms) by 4.7 %."
std::string lever_words(const SensitivityReport& r, const Lever& l) {
  const auto end = better_end(l, r.exps);
  return fmt::format("{}, {}, {} {} ({}) by {:.2g} %.", label_of(l.input), move_words(l, end.at),
                     end.change < 0 ? "cuts" : "raises", short_label(r.result),
                     value_words(r.value, r.unit, r.exps), 100 * std::abs(end.change));
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// Figures by their share of the variance, the largest first: "device price 94 %, kernel tile: tile n 4 %".
std::string spread_words(const UncertaintyReport& r, const UncertainNumber& x) {
  std::vector<std::pair<double, std::string>> parts;
  for (std::size_t i = 0; i < r.figures.size(); ++i)
    if (x.total[i] > kLeastShare) parts.emplace_back(x.total[i], label_of(r.figures[i]));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < std::min(parts.size(), kSpreadParts); ++i)
    out += fmt::format("{}{} {:.2g} %", out.empty() ? "" : ", ", parts[i].second, 100 * parts[i].first);
  return out.empty() ? "nothing that varies" : out;
}

/// Indices of at most `most` of `n` rows, evenly spread, both ends included.
std::vector<std::size_t> spread_rows(std::size_t n, std::size_t most) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < std::min(n, most); ++i) out.push_back(n <= most ? i : i * (n - 1) / (most - 1));
  return out;
}

}  // namespace

std::string brief_solve(const SolveAnswer& a) {
  const auto shown = [&](double x) { return field_text(a.input, x, 6); };
  const auto& all = a.inversion.solutions;
  std::string bound;
  if (all.size() == 1 && !all[0].jump && all[0].low != all[0].high) {
    if (a.value == all[0].low && all[0].high == a.inversion.high) bound = "at least ";
    if (a.value == all[0].high && all[0].low == a.inversion.low) bound = "at most ";
  }
  const bool everywhere = a.inversion.outcome == InverseOutcome::everywhere;
  const auto found = everywhere ? fmt::format("any between {} and {} meets it", shown(a.inversion.low),
                                              shown(a.inversion.high))
                                : bound + shown(a.value);
  const auto at = everywhere ? fmt::format("at {}", shown(a.value)) : std::string("there");
  std::string out = fmt::format("{}: {}. {} is {} {}.\n{}, {}\n", capital(label_of(a.free)), found,
                                capital(short_label(a.result.name)), human(a.at_value, a.result.exps), at,
                                a.subject, a.condition);
  if (everywhere && a.free == "batch_size" && a.result.name.ends_with("itl"))
    out += "Requests beyond those that fit at once wait for a slot, which TTFT counts.\n";
  else if (bound.empty())
    for (std::size_t i = 0; i < std::min(all.size(), kLeverRows); ++i)
      out += all[i].jump ? fmt::format("At {} the result jumps over the target.\n", shown(all[i].low))
             : all[i].low == all[i].high
                 ? fmt::format("Met at {}.\n", shown(all[i].low))
                 : fmt::format("Met from {} to {}.\n", shown(all[i].low), shown(all[i].high));
  if (all.size() > kLeverRows) out += fmt::format("Met in {} more places.\n", all.size() - kLeverRows);
  if (!a.memory.empty()) out += fmt::format("Memory      {}\n", a.memory);
  if (a.beside)
    out += fmt::format("Checked     {} meets the condition{}, {} does not.\n", shown(a.value),
                       a.memory.empty() ? "" : " and fits", shown(*a.beside));
  if (!a.inversion.exhaustive)
    out += "Searched    by a scan: solutions that lie closer together may be missed (--verbose)\n";
  return out;
}

std::string brief_front(const ExploreAnswer& a) {
  const auto n = a.front.size();
  std::string out =
      fmt::format("{}: {} of {} plans are better than every other plan in some respect.\n{}\n\n",
                  a.complete && a.exactness != Exactness::heuristic ? "BEST TRADE-OFFS" : "FOUND",
                  grouped(static_cast<double>(n)), grouped(a.total), a.title);
  Columns rows(1);
  for (const auto& axis : a.axes) rows[0].push_back(label_of(axis));
  for (const auto& o : a.objectives) rows[0].push_back(label_of(o.text));
  for (const auto& s : a.show) rows[0].push_back(label_of(s));
  const auto number = [](std::string_view key, double x, const Exponents& exps) {
    return label_of(key).find("/s") != std::string::npos ? grouped(x) : human(x, exps);
  };
  for (const auto i : spread_rows(n, kFrontRows)) {
    const auto& p = a.front[i];
    std::vector<std::string> row(p.labels.begin(), p.labels.end());
    for (std::size_t k = 0; k < p.objectives.size(); ++k)
      row.push_back(number(a.objectives[k].text, p.objectives[k], a.exps[k]));
    for (std::size_t k = 0; k < p.shown.size(); ++k)
      row.push_back(number(a.show[k], p.shown[k], a.show_exps[k]));
    rows.push_back(std::move(row));
  }
  out += aligned(rows);
  if (n > kFrontRows) out += fmt::format("{} more: --verbose or -o csv\n", n - kFrontRows);
  return out + "Searched    ";
}

std::string brief_uncertainty(const UncertaintyReport& r) {
  if (r.results.empty()) return {};
  const auto& first = r.results.front();
  std::string out =
      fmt::format("{} is {}. What is not known of the inputs spreads it from {}, mostly by {}.\n{}\n\n",
                  capital(short_label(first.result)), human(first.value, first.exps),
                  human_range(first.low, first.high, first.exps), spread_words(r, first), r.subject);
  Columns rows{{"Result", "value", "by inputs", "bounds", "spread comes from"}};
  for (const auto& x : r.results)
    rows.push_back({label_of(x.result), human(x.value, x.exps), human_range(x.low, x.high, x.exps),
                    x.bound_low ? human_range(*x.bound_low, *x.bound_high, x.exps) : "none known",
                    spread_words(r, x)});
  out += aligned(rows);
  if (r.ranking)
    out += fmt::format("{} stays below that of {} with probability {:.3g}.\n",
                       capital(short_label(r.ranking->result)), r.ranking->other, r.ranking->below);
  if (r.not_finite > 0)
    out += fmt::format("{} samples have no finite number and are left out.\n", r.not_finite);
  return out + fmt::format("{} evaluations. Each distribution with its source: --verbose\n",
                           grouped(static_cast<double>(r.evaluations)));
}

std::string brief_sensitivity(const SensitivityReport& r) {
  Columns yours, hardware;
  const Lever* first[2]{};  // of your choices, of the hardware
  std::size_t hidden = 0;
  const bool few = r.levers.size() <= kLeverRows;  // chosen by the reader: all of them are shown
  for (const Lever* lever : by_effect(r)) {
    const Lever& l = *lever;
    auto group = group_of_lever(l.input);
    if (few && group == LeverGroup::hidden)
      group = l.input.starts_with("hardware.") || l.input.starts_with("links.") ? LeverGroup::hardware
                                                                                : LeverGroup::yours;
    const auto end = better_end(l, r.exps);
    if (group == LeverGroup::hidden || !(std::abs(end.change) >= kWorthSaying)) {
      ++hidden;
      continue;
    }
    const bool own = group == LeverGroup::yours;
    if (first[own ? 0 : 1] == nullptr) first[own ? 0 : 1] = &l;
    auto& rows = own ? yours : hardware;
    if (rows.size() == kLeverRows) {
      ++hidden;
      continue;
    }
    const bool limited = std::isfinite(l.ceiling) && std::abs(l.ceiling) > std::abs(end.change) && !l.counted;
    rows.push_back({"  " + label_of(l.input), value_words(l.value, l.unit, l.exps),
                    l.counted ? value_words(end.at, l.unit, l.exps) : percent(end.at / l.value - 1),
                    percent(end.change), limited ? percent(l.ceiling) : ""});
  }
  std::string verdict;
  if (first[1] != nullptr) verdict = "Largest effect of the hardware: " + lever_words(r, *first[1]);
  if (first[0] != nullptr)
    verdict +=
        (verdict.empty() ? "" : "\n") + ("Largest effect of your choices: " + lever_words(r, *first[0]));
  if (verdict.empty())
    verdict = fmt::format("No choice and no hardware parameter moves {} ({}) nearby.", short_label(r.result),
                          value_words(r.value, r.unit, r.exps));
  std::string out = fmt::format("{}\n{}\n\n", verdict, r.subject);
  Columns rows;
  const auto head = [&](const char* title) { rows.push_back({title, "now", "change", "effect", "at most"}); };
  if (!yours.empty()) {
    head("You can change");
    rows.insert(rows.end(), yours.begin(), yours.end());
  }
  if (!hardware.empty()) {
    head("Hardware and engine");
    rows.insert(rows.end(), hardware.begin(), hardware.end());
  }
  out += aligned(rows);
  if (hidden > 0) out += fmt::format("{} more inputs, with slopes and keys: --verbose\n", hidden);
  return out;
}

std::string brief_difference(const DifferenceReport& r, const NumberInterval* from,
                             const NumberInterval* to) {
  const auto name = short_label(r.result);
  const double moved = r.at_to - r.at_from;
  const bool ranges = from != nullptr && to != nullptr;
  const bool overlap = ranges && from->lower <= to->upper && to->lower <= from->upper;
  std::string verdict =
      fmt::format("{}: {} instead of {}", name, human(r.at_to, r.exps), human(r.at_from, r.exps));
  if (moved == 0) {
    verdict = fmt::format("Both have the same {}: {}.", name, human(r.at_to, r.exps));
  } else {
    const bool better = (moved < 0) == better_when_less(r.exps);
    verdict += r.at_from != 0 ? fmt::format(" ({:+.3g} %).", 100 * moved / r.at_from) : ".";
    verdict += fmt::format(" The second is {}{}.", overlap ? "probably " : "", better ? "better" : "worse");
  }
  std::string out = fmt::format("{}\nFirst  {}\nSecond {}\n", verdict, r.from, r.to);
  if (ranges)
    out +=
        fmt::format("The {} % ranges {}: {} and {}.\n", from->level, overlap ? "overlap" : "do not overlap",
                    human_range(from->lower, from->upper, r.exps), human_range(to->lower, to->upper, r.exps));
  Columns rows{{"Cause", "first", "second", "effect"}};
  double rest = 0;
  std::size_t others = 0;
  for (const auto& d : r.terms) {
    if (d.part == 0) continue;
    if (rows.size() > kTermRows) {
      rest += d.part;
      ++others;
      continue;
    }
    const bool number = d.input != "structure";
    rows.push_back({number ? label_of(d.input) : "operators and kernels",
                    number ? value_words(d.from, d.unit, d.exps) : "",
                    number ? value_words(d.to, d.unit, d.exps) : "",
                    fmt::format("{}{}", d.part > 0 ? "+" : "", human(d.part, r.exps))});
  }
  if (others > 0)
    rows.push_back({fmt::format("{} others together", others), "", "",
                    fmt::format("{}{}", rest > 0 ? "+" : "", human(rest, r.exps))});
  if (rows.size() > 1) out += "\n" + aligned(rows);
  out += fmt::format("The effects add up to the difference{}. Keys and shares: --verbose\n",
                     r.exact ? "" : ", each a mean over orders of the changes");
  return out;
}

void add_axis_values(std::string_view names, std::string_view values, std::vector<std::string>& to) {
  constexpr std::string_view between_names = ", ", between_values = " x ";
  const auto name_end = names.find(between_names), value_end = values.find(between_values);
  if (name_end == std::string_view::npos || value_end == std::string_view::npos) {
    to.push_back(fmt::format("{} {}", label_of(names), values));
    return;
  }
  to.push_back(fmt::format("{} {}", label_of(names.substr(0, name_end)), values.substr(0, value_end)));
  add_axis_values(names.substr(name_end + between_names.size()),
                  values.substr(value_end + between_values.size()), to);
}

namespace {

/// Names a constraint that every search holds. Empty for a limit that was stated.
std::string_view unasked_words(std::string_view text) {
  if (text.starts_with("plan_fits")) return "a plan that the model or the nodes do not allow";
  return text.starts_with("memory_used <= memory_capacity") ? "memory" : "";
}

/// "p99 TTFT <= 2 s" of "p99_ttft <= 2 s".
std::string limit_words(std::string_view text) {
  const auto end = std::min(text.find(' '), text.size());
  return short_label(text.substr(0, end)) + std::string(text.substr(end));
}

}  // namespace

std::string brief_optimum(const ExploreAnswer& a) {
  const auto& p = a.best.front();
  std::vector<std::string> plan, numbers;
  for (std::size_t k = 0; k < p.labels.size(); ++k) add_axis_values(a.axes[k], p.labels[k], plan);
  const auto number = [&](const std::string& text, double x, const Exponents& exps) {
    numbers.push_back(number_words(text, x, exps));
  };
  for (std::size_t k = 0; k < p.objectives.size(); ++k)
    number(a.objectives[k].text, p.objectives[k], a.exps[k]);
  for (std::size_t k = 0; k < p.shown.size(); ++k) number(a.show[k], p.shown[k], a.show_exps[k]);
  const bool whole = a.complete && a.exactness != Exactness::heuristic;
  std::string out = fmt::format("{}: {}: {}.\n{}\n", whole ? "BEST" : "BEST FOUND", fmt::join(plan, ", "),
                                fmt::join(numbers, ", "), a.title);
  const char* head = "Limited by";
  for (const auto& c : a.constraints) {
    if (c.violated == 0) continue;
    std::vector<std::string> admitted;
    if (c.nearest)
      for (std::size_t k = 0; k < c.nearest->labels.size(); ++k)
        add_axis_values(a.axes[k], c.nearest->labels[k], admitted);
    const auto unasked = unasked_words(c.text);  // its relaxation would be a larger device
    out += fmt::format("{:<12}{} rejects {} of {} points{}\n", head,
                       unasked.empty() ? limit_words(c.text) : std::string(unasked), grouped(c.violated),
                       grouped(a.total),
                       !unasked.empty() || c.need.empty()
                           ? ""
                           : fmt::format("; {} would admit {}", c.need, fmt::join(admitted, ", ")));
    head = "";
  }
  return out + "Searched    ";
}

}  // namespace mlsysim::detail

namespace mlsysim {

LeverSentences lever_sentences(const SensitivityReport& r) {
  LeverSentences out;
  for (const Lever* lever : detail::by_effect(r)) {
    const Lever& l = *lever;
    const auto group = detail::group_of_lever(l.input);
    const auto end = detail::better_end(l, r.exps);
    if (group == detail::LeverGroup::hidden || !(std::abs(end.change) >= detail::kWorthSaying)) continue;
    auto& to = group == detail::LeverGroup::yours ? out.choices : out.hardware;
    auto words = detail::capital(detail::lever_words(r, l));
    if (!l.counted && std::isfinite(l.ceiling) && std::abs(l.ceiling) > std::abs(end.change)) {
      words.pop_back();
      words += fmt::format(", at most {:.2g} %.", 100 * std::abs(l.ceiling));
    }
    to.push_back(std::move(words));
  }
  return out;
}

}  // namespace mlsysim
