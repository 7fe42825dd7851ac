// The scorecard on one screen: verdict, memory, latency, throughput, cost, energy, what was assumed, at most
// three notes.

#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/report/detail/text_layout.hpp>
#include <mlsysim/report/detail/verdict.hpp>
#include <mlsysim/report/scorecard_report.hpp>
#include "detail/human.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using detail::Paint;
using LevelStatus = EvaluationLevel::Status;

constexpr std::size_t kCardRows = 20;   // of the screen
constexpr std::size_t kCardNotes = 3;   // that are shown
constexpr std::size_t kCardHead = 12;   // columns of "Throughput  "
constexpr std::size_t kCardLabel = 20;  // columns of "first token (TTFT)  "
constexpr std::size_t kCardBar = 28;

/// Finite numbers of a level by name.
std::optional<double> number_in(const EvaluationLevel& level, std::string_view name) {
  const auto* m = level.find(name);
  const auto* x = m == nullptr ? nullptr : std::get_if<double>(&m->value);
  return x != nullptr && std::isfinite(*x) ? std::optional(*x) : std::nullopt;
}

/// The screen, filled line by line.
class Screen {
 public:
  explicit Screen(const RenderOptions& o) : width_(std::max<std::size_t>(o.width, 60)), colour_(o.colour) {}

  /// A paragraph behind a heading; further lines stand below its text.
  void block(std::string_view heading, std::string_view text, Paint paint = Paint::bold) {
    bool first = true;
    for (const auto& l : detail::wrapped(text, width_ - kCardHead)) {
      lines_.push_back((first ? detail::painted(detail::padded(heading, kCardHead), paint, colour_)
                              : std::string(kCardHead, ' ')) +
                       l);
      first = false;
    }
  }
  /// A paragraph from the first column on.
  void text(std::string_view words, Paint paint = Paint::plain) {
    for (const auto& l : detail::wrapped(words, width_)) lines_.push_back(detail::painted(l, paint, colour_));
  }
  void raw(std::string line) { lines_.push_back(std::move(line)); }
  [[nodiscard]] std::size_t rows() const { return lines_.size(); }
  /// Rows that a paragraph of notes takes.
  [[nodiscard]] std::size_t rows_of(std::string_view words) const {
    return detail::wrapped(words, width_).size();
  }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] Colour colour() const { return colour_; }
  [[nodiscard]] std::string str() const { return fmt::format("{}\n", fmt::join(lines_, "\n")); }

 private:
  std::size_t width_;
  Colour colour_;
  std::vector<std::string> lines_;
};

void memory_rows(Screen& s, const SystemEvaluation& e) {
  const auto used = number_in(e.feasibility, "memory_used"),
             room = number_in(e.feasibility, "memory_capacity");
  if (!used || !room || *room <= 0) return;
  const double share = *used / *room;
  const Paint paint = share > 1 ? Paint::bad : share > 0.9 ? Paint::warn : Paint::good;
  const auto words = fmt::format("{} of {} per device ({:.3g} %)", detail::human(*used, dim::data::exps),
                                 detail::human(*room, dim::data::exps), 100 * share);
  const bool has_room = kCardHead + words.size() + 2 + kCardBar <= s.width();
  s.raw(detail::painted(detail::padded("Memory", kCardHead), Paint::bold, s.colour()) + words +
        (has_room ? "  " + detail::painted(detail::bar(share, kCardBar), paint, s.colour()) : ""));
  std::vector<std::string> parts;
  double rest = 0;
  for (const auto& m : e.memory) {
    const double bytes = std::get<double>(m.value);
    if (bytes < 0.005 * *used)
      rest += bytes;
    else
      parts.push_back(fmt::format("{} {}", label_of(m.name.view()), detail::human(bytes, m.exps)));
  }
  if (rest > 0) parts.push_back("other " + detail::human(rest, dim::data::exps));
  s.block("", fmt::format("{}", fmt::join(parts, ", ")));
  if (const auto host = number_in(e.feasibility, "host_memory_used"))
    s.block("", fmt::format("host memory of a node {}", detail::human(*host, dim::data::exps)));
}

/// "  80 % range 20.3 to 26.3 ms"
std::string range_of(std::span<const NumberInterval> intervals, std::string_view name) {
  for (const auto& i : intervals)
    if (i.result == name && i.lower > 0 && std::isfinite(i.upper))
      return fmt::format("{} % range {}", i.level, detail::human_range(i.lower, i.upper, i.exps));
  return {};
}

/// Whether requests end with their first token: a burst without answers.
bool answers_nothing(const EvaluationLevel& p) {
  const auto first = number_in(p, "ttft"), whole = number_in(p, "request_latency");
  return first && whole && number_in(p, "itl") && *whole <= *first;
}

void latency_rows(Screen& s, const SystemEvaluation& e, std::span<const NumberInterval> intervals) {
  const auto& p = e.performance;
  bool first = true;
  const auto row = [&](std::string_view name, std::string_view tail_name = {}) {
    const auto x = number_in(p, name);
    if (!x) return false;
    const auto value = detail::human(*x, dim::time::exps);
    std::string line = detail::padded(label_of(name), kCardLabel) + detail::padded(value, 9);
    auto range = range_of(intervals, name);
    if (const auto tail = tail_name.empty() ? std::nullopt : number_in(p, tail_name); tail && *tail > *x)
      range +=
          fmt::format("{}99 % below {}", range.empty() ? "" : ", ", detail::human(*tail, dim::time::exps));
    while (line.ends_with(' ') && range.empty()) line.pop_back();
    s.block(first ? "Latency" : "", line + (range.empty() ? "" : "  " + range));
    first = false;
    return true;
  };
  /// Parts of the time above, where they are not zero.
  const auto parts = [&](std::initializer_list<std::string_view> names) {
    std::vector<std::string> out;
    for (const auto name : names)
      if (const auto x = number_in(p, name); x && *x > 0)
        out.push_back(fmt::format("{} {}", label_of(name), detail::human(*x, dim::time::exps)));
    if (out.size() > 1) s.block("", fmt::format("  {}", fmt::join(out, ", ")));
  };
  row("itl", "p99_itl");
  if (row("ttft", "p99_ttft"))
    parts({"ttft_ingress", "ttft_queue", "ttft_dispatch", "ttft_prefill", "ttft_egress"});
  if (!answers_nothing(p)) row("request_latency", "p99_request_latency");
  if (row("step_latency"))
    parts({"latency_compute", "latency_memory", "communication_latency", "pipeline_bubble_latency",
           "host_transfer_latency"});
  row("training_time");
  if (row("latency")) parts({"latency_compute", "latency_memory", "latency_overhead"});
}

void throughput_row(Screen& s, const EvaluationLevel& p) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view name, std::string_view unit) {
    if (const auto x = number_in(p, name)) out.push_back(fmt::format("{} {}", detail::grouped(*x), unit));
  };
  const auto share = [&](std::string_view name) {
    if (const auto x = number_in(p, name))
      out.push_back(fmt::format("{} {:.3g} %", label_of(name), 100 * *x));
  };
  add("token_throughput", "tokens/s");
  add("throughput_per_accelerator", "per device");
  add("request_throughput", "requests/s");
  add("throughput", "samples/s");
  if (number_in(p, "step_latency")) add("effective_throughput", "samples/s");
  if (const auto n = number_in(p, "replicas"); n && *n > 1)
    out.push_back(fmt::format("{} replicas", detail::grouped(*n)));
  if (const auto n = number_in(p, "dp_size"); n && *n > 1)
    out.push_back(fmt::format("{} data-parallel replicas", detail::grouped(*n)));
  share("prefill_mfu");
  share("mfu");
  if (const auto hfu = number_in(p, "hfu"), mfu = number_in(p, "mfu"); hfu && mfu && *hfu > *mfu)
    share("hfu");
  if (const auto g = number_in(p, "goodput_ratio"); g && *g < 0.999) share("goodput_ratio");
  if (!out.empty()) s.block("Throughput", fmt::format("{}", fmt::join(out, ", ")));
}

void macro_rows(Screen& s, const SystemEvaluation& e) {
  const auto& m = e.macro;
  if (m.status == LevelStatus::skipped) return s.block("Cost", m.summary.str());
  const auto days = number_in(m, "duration_days");
  if (const auto total = number_in(m, "tco")) {
    std::vector<std::string> parts;
    for (const auto* name : {"capex", "maintenance", "energy_cost"})
      if (const auto x = number_in(m, name))
        parts.push_back(fmt::format("{} {}", label_of(name), detail::dollars(*x)));
    auto text = fmt::format("{} in {:g} days{}", detail::dollars(*total), days.value_or(0),
                            parts.empty() ? ", rented" : ": ");
    text += fmt::format("{}", fmt::join(parts, ", "));
    if (const auto run = number_in(m, "run_cost"))
      text += fmt::format("; the whole run {}", detail::dollars(*run));
    s.block("Cost", text);
  } else if (const auto power = number_in(m, "energy_cost")) {
    s.block("Cost", fmt::format("power {} in {:g} days; the price of the device is not known",
                                detail::dollars(*power), days.value_or(0)));
  }
  const auto* grid = m.find("region");
  const auto where = grid == nullptr ? std::string() : fmt::format(" (grid {})", grid->text());
  if (const auto joule = number_in(m, "energy_per_token"), gram = number_in(m, "carbon_per_token");
      joule && gram)
    s.block("Energy", fmt::format("{:.3g} kWh and {:.3g} kgCO2e per million tokens{}", *joule / 3.6,
                                  *gram * 1e3, where));
  else if (const auto all = number_in(m, "energy"), carbon = number_in(m, "carbon_footprint"); all && carbon)
    s.block("Energy", fmt::format("{} and {} in {:g} days{}", detail::human(*all, dim::energy::exps),
                                  detail::human(*carbon, dim::carbon::exps), days.value_or(0), where));
}

/// The assumptions that a reader asks about first.
std::string assumed_words(const std::vector<Assumption>& all) {
  std::vector<std::string> out;
  for (const std::string_view name :
       {"mode", "batch_size", "seq_len", "output_tokens", "precision", "accelerators", "kwh_price"})
    for (const auto& a : all)
      if (a.name.view() == name) {
        out.push_back(fmt::format("{} {}", label_of(name), a.value.str()));
        break;
      }
  if (all.size() > out.size())
    out.push_back(
        fmt::format("{}{} (--verbose)", all.size() - out.size(), out.empty() ? " values" : " more"));
  return fmt::format("{}", fmt::join(out, ", "));
}

/// "; 15T tokens take 62.9 d and cost $565,847" of a training run. Without a number of tokens the price of
/// one is what there is.
std::string run_words(const SystemEvaluation& e, std::string_view dollars_per_token) {
  const auto tokens = number_in(e.performance, "training_tokens"),
             time = number_in(e.performance, "training_time"), cost = number_in(e.macro, "run_cost");
  if (!tokens || !time)
    return fmt::format("{}{}", dollars_per_token,
                       number_in(e.performance, "token_throughput") ? "; --tokens prices a run" : "");
  return fmt::format("; {} tokens take {}{}", detail::short_count(*tokens),
                     detail::human(*time, dim::time::exps),
                     cost ? fmt::format(" and cost {}", detail::dollars(*cost)) : "");
}

}  // namespace

std::string as_options(std::string_view change) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < change.size();) {
    const auto end = std::min(change.find(' ', at), change.size());
    words.emplace_back(change.substr(at, end - at));
    at = end + 1;
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i + 1 < words.size();) {
    const auto& w = words[i];
    if (w == "with" || w == "and") {
      ++i;
    } else if (w.starts_with("(now") || w == "instead") {  // "(now 8)", "instead of 16"
      i += w == "instead" ? 3 : 2;
    } else if (w.find_first_not_of("0123456789") == std::string::npos) {
      out.push_back(fmt::format("--{} {}", words[i + 1], w));
      i += 2;
    } else if (w.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos) {
      out.push_back(fmt::format("--{} {}", w, words[i + 1]));
      i += 2;
    } else {
      return std::string(change);
    }
  }
  auto text = fmt::format("{}", fmt::join(out, " "));
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string limit_of(const EvaluationLevel& level) {
  const auto* m = level.find("bottleneck");
  if (m == nullptr) return {};
  const auto key = m->text();
  const auto limit = choice_of<Bottleneck>(key);
  return limit ? std::string(limit_words(*limit)) : key;
}

std::string verdict_of(const SystemEvaluation& e, std::span<const AssertionResult> assertions) {
  const auto& p = e.performance;
  std::string out;
  if (e.feasibility.status == LevelStatus::fail) {
    const auto used = number_in(e.feasibility, "memory_used"),
               room = number_in(e.feasibility, "memory_capacity");
    if (!used || !room || *used <= *room) return "DOES NOT FIT: " + e.feasibility.summary.str();
    return fmt::format("DOES NOT FIT: needs {} per device, which has {} ({} short).",
                       detail::human(*used, dim::data::exps), detail::human(*room, dim::data::exps),
                       detail::human(*used - *room, dim::data::exps));
  }
  std::vector<std::string> missed;
  for (const auto& a : assertions)
    if (!a.passed)
      missed.push_back(fmt::format("{} {} {} (found {})", a.metric.substr(a.metric.rfind('.') + 1),
                                   a.bound == AssertionResult::Bound::max ? "<=" : ">=", a.limit, a.found));
  if (!missed.empty()) out = fmt::format("MISSES {}.", fmt::join(missed, " and "));
  if (p.status == LevelStatus::fail) return "FITS, BUT: " + p.summary.str();
  if (out.empty()) out = "FITS.";
  const auto time = [&](std::string_view name) {
    return detail::human(*number_in(p, name), dim::time::exps);
  };
  const auto cost = number_in(e.macro, "cost_per_token");
  const auto dollars =
      cost ? fmt::format(", {} per million tokens", detail::dollars(*cost * 1e6)) : std::string();
  const auto limit = limit_of(p);
  if (answers_nothing(p))  // what a token of an answer costs was not asked
    return out +
           fmt::format(" TTFT {} for the last of the prompts, {} per token.", time("ttft"), time("itl"));
  if (number_in(p, "itl") && number_in(p, "ttft"))
    return out +
           fmt::format(" {} per token, TTFT {}{}. Limited by {}.", time("itl"), time("ttft"), dollars, limit);
  if (number_in(p, "step_latency")) {
    out += fmt::format(" A step takes {}", time("step_latency"));
    if (const auto mfu = number_in(p, "mfu")) out += fmt::format(" at {:.3g} % MFU", 100 * *mfu);
    return out + fmt::format("{}. It is limited by {}.", run_words(e, dollars), limit);
  }
  if (number_in(p, "latency"))
    return out + fmt::format(" A batch takes {}, limited by {}.", time("latency"), limit);
  return out + " " + p.summary.str() + ".";
}

std::string brief_card(const SystemEvaluation& e, const RenderOptions& o,
                       std::span<const AssertionResult> assertions,
                       std::span<const NumberInterval> intervals) {
  Screen s(o);
  const bool fails = !e.passed_all() || std::any_of(assertions.begin(), assertions.end(),
                                                    [](const auto& a) { return !a.passed; });
  s.text(verdict_of(e, assertions), fails ? Paint::bad : Paint::good);
  auto title = fmt::format("{} on {}, {}", e.workload, e.hardware, e.mode);
  for (const auto* part : {&e.load, &e.lengths, &e.runtime})
    if (!part->empty()) title += ", " + *part;
  title += fmt::format(", {} fidelity", e.fidelity);
  if (!e.guess.empty()) title += ", shape guessed";
  if (!e.scenario_name.empty() && e.scenario_name != "scenario") title = e.scenario_name + ": " + title;
  s.text(title);
  if (e.feasibility.status == LevelStatus::fail) {
    if (e.remedies.empty()) s.text("No single change of batch, precision or number of devices makes it fit.");
    for (bool first = true; const auto& r : e.remedies) {
      s.block(first ? "Fits with" : "  or", fmt::format("{}  ({})", as_options(r.change), r.effect),
              Paint::plain);
      first = false;
    }
  }
  s.raw("");
  memory_rows(s, e);
  if (e.feasibility.status != LevelStatus::fail) {
    latency_rows(s, e, intervals);
    throughput_row(s, e.performance);
    macro_rows(s, e);
  }
  for (const auto& level : e.further) {
    s.block(level.level_name, level.summary.str());
    for (const auto& m : level.metrics) s.block("", fmt::format("{} {}", label_of(m.name.view()), m.text(3)));
  }
  for (const auto& a : assertions)
    s.block(a.passed ? "Held" : "MISSED",
            fmt::format("{} {} {}, found {}{}", a.metric,
                        a.bound == AssertionResult::Bound::max ? "<=" : ">=", a.limit, a.found,
                        a.note.empty() ? "" : "; " + a.note),
            a.passed ? Paint::good : Paint::bad);
  if (!e.assumptions.empty()) s.block("Assumed", assumed_words(e.assumptions));
  std::size_t notes = 0;
  for (const auto& w : e.warnings) {
    const auto words = "note: " + w;
    if (notes == kCardNotes || (notes > 0 && s.rows() + s.rows_of(words) >= kCardRows)) break;
    s.text(words, Paint::warn);
    ++notes;
  }
  if (notes < e.warnings.size()) s.text(fmt::format("More notes: --verbose ({})", e.warnings.size() - notes));
  return s.str();
}

}  // namespace mlsysim
