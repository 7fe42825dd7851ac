#include "cli/commands_traffic.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/request_trace/traffic.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::cli {
namespace {

/// The distance that sampling alone stays below in 95 of 100 files that follow the law (Kolmogorov). Moments
/// that were fitted to the same file make it smaller still.
double sampling_distance(double count) { return 1.358 / std::sqrt(count); }

std::string fit_text(const CountedSpread& s) {
  if (s.laws.empty()) return "no law";
  return fmt::format("{}, distance {:.3f}", law_text(s.laws.front()), s.laws.front().distance);
}

/// Figures of what was counted, each with its closest law.
struct Counted {
  const char* what;
  const char* unit;
  const CountedSpread* spread;
};

std::vector<Counted> counted_of(const RecordedTraffic& t) {
  std::vector<Counted> out{{"prompt", "token", &t.prompt}};
  if (t.answer) out.push_back({"answer", "token", &*t.answer});
  if (t.arrivals && t.arrivals->gaps) out.push_back({"time between arrivals", "s", &*t.arrivals->gaps});
  if (t.prefixes && t.prefixes->found)
    out.push_back({"shared prefix, of prompts with one", "token", &*t.prefixes->found});
  return out;
}

Table laws_table(const RecordedTraffic& t, const RenderOptions& options) {
  Table table{.schema = "mlsysim/traffic_laws@1",
              .title = fmt::format("{} ({}, {:.0f} requests)", t.source, name_of(t.format), t.requests),
              .columns = {{"what"},
                          {"unit"},
                          {"count"},
                          {"mean"},
                          {"deviation"},
                          {"p50"},
                          {"p90"},
                          {"p99"},
                          {"max"},
                          {"law"},
                          {"distance"},
                          {"sampling"}}};
  for (const auto& c : counted_of(t)) {
    const CountedSpread& s = *c.spread;
    const std::size_t shown =
        options.verbosity == Verbosity::verbose ? s.laws.size() : std::min<std::size_t>(s.laws.size(), 1);
    std::vector<Table::Cell> row{c.what, c.unit, s.count, s.mean, s.deviation, s.p50, s.p90, s.p99, s.most};
    if (shown == 0) {
      row.insert(row.end(), {"", {}, {}});
      table.rows.push_back(std::move(row));
      continue;
    }
    for (std::size_t k = 0; k < shown; ++k) {
      auto one = k == 0 ? row : std::vector<Table::Cell>{c.what, c.unit, {}, {}, {}, {}, {}, {}, {}};
      one.insert(one.end(),
                 {law_text(s.laws[k]), s.laws[k].distance, sampling_distance(std::max(s.count, 1.0))});
      table.rows.push_back(std::move(one));
    }
  }
  table.footer =
      "distance: the largest difference between the distribution functions of law and file; sampling: what "
      "95 % of "
      "such files stay below where the law holds";
  return table;
}

Table inputs_table(const RecordedTraffic& t) {
  Table table{.schema = "mlsysim/traffic_inputs@1",
              .title = "What scenarios and resolvers take of it",
              .columns = {{"key"}, {"value"}}};
  for (const auto& [key, text] : traffic_inputs(t)) table.rows.push_back({key, text});
  return table;
}

/// Lines on arrivals, concurrency and shared prefixes, which the table does not show, and the notes.
std::vector<std::string> remarks(const RecordedTraffic& t) {
  std::vector<std::string> out;
  if (t.arrivals) {
    const auto& a = *t.arrivals;
    auto text = fmt::format("{:.4g} requests a second", a.rate.in(unit::request / unit::s));
    if (a.span > 0 * unit::s) text += fmt::format(" over {:.4g} s", a.span.in(unit::s));
    if (a.cv) text += fmt::format(", deviation of the gaps {:.2f} times their mean (Poisson: 1)", *a.cv);
    if (a.busiest) text += fmt::format(", the busiest minute has {:.2f} times the mean", *a.busiest);
    out.push_back(text);
  }
  if (t.concurrency) out.push_back(fmt::format("{:g} requests in flight at most", *t.concurrency));
  if (t.prefixes)
    out.push_back(fmt::format(
        "{:.1f} % of the tokens of prompts were in an earlier one, for a cache that forgets nothing{}",
        100 * t.prefixes->found_share,
        t.prefixes->sampled < 1 ? fmt::format(" (from {:.3g} % of the blocks)", 100 * t.prefixes->sampled)
                                : std::string()));
  out.insert(out.end(), t.notes.begin(), t.notes.end());
  return out;
}

/// The inputs that a question takes from a trace file, and those that it does not use, as "key=value".
struct Taken {
  std::vector<std::string> words, unused;

  void add(const std::pair<std::string, std::string>& input, bool free, bool known) {
    auto word = fmt::format("{}={}", input.first, input.second);
    if (free && known)
      words.push_back(std::move(word));
    else
      unused.push_back(word + (free ? "" : " (another is given)"));
  }
};

std::string joined(const std::vector<std::string>& words, std::string_view none) {
  return words.empty() ? std::string(none) : fmt::format("{}", fmt::join(words, ", "));
}

std::string taken_text(const RecordedTraffic& t, const Taken& taken) {
  std::string out = fmt::format("mlsysim: traffic: {}: prompts {}", t.source, fit_text(t.prompt));
  if (t.answer) out += fmt::format("; answers {}", fit_text(*t.answer));
  if (t.arrivals && t.arrivals->gaps) out += fmt::format("; gaps {}", fit_text(*t.arrivals->gaps));
  out += "\n";
  out += fmt::format("mlsysim: traffic: taken: {}\n", joined(taken.words, "nothing, all was given"));
  if (!taken.unused.empty()) out += fmt::format("mlsysim: traffic: not used: {}\n", joined(taken.unused, ""));
  return out;
}

}  // namespace

Answer traffic_show(const TrafficRequest& request, const RenderOptions& options) {
  const auto traffic = read_traffic(request.file, {request.block_tokens, request.characters_per_token});
  if (options.format == OutputFormat::json) return {traffic_json(traffic)};
  if (options.format == OutputFormat::csv) return {render(laws_table(traffic, options), options)};
  Answer out{render(laws_table(traffic, options), options) + "\n"};
  for (const auto& text : remarks(traffic)) out.payload += text + "\n";
  out.payload += "\n" + render(inputs_table(traffic), options);
  return out;
}

Answer traffic_import(const TrafficRequest& request) {
  const auto traffic = read_traffic(request.file, {request.block_tokens, request.characters_per_token});
  std::string text = fmt::format("# Requests of {} ({}, {:.0f} of them).\n", traffic.source,
                                 name_of(traffic.format), traffic.requests);
  for (const auto& c : counted_of(traffic))
    text += fmt::format("# {} [{}]: {}\n", c.what, c.unit, fit_text(*c.spread));
  for (const auto& remark : remarks(traffic)) text += "# " + remark + "\n";
  const auto inputs = traffic_inputs(traffic);
  const auto line = [&](const char* key) {
    for (const auto& [name, value] : inputs)
      if (name == key) text += fmt::format("  {}: {}\n", key, value);
  };
  text += fmt::format("version: \"1\"\nname: traffic\nmode: serve\nworkload:\n  name: {}\n", request.model);
  for (const char* key : {"arrival_rate", "seq_len", "output_tokens", "cached_prefix_len", "seq_len_cv",
                          "seq_len_law", "output_tokens_cv", "output_tokens_law"})
    line(key);
  text += fmt::format("hardware:\n  name: {}\n", request.hardware);
  (void)parse_plan(text, "plan", zoo())
      .build();  // a plan that is not taken is refused here, not when it is used
  return {text};
}

std::string take_traffic(std::vector<std::string>& words, std::span<const FieldInfo> inputs) {
  constexpr std::string_view own = "traffic_file=";
  const auto at = std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.starts_with(own); });
  if (at == words.end()) return {};
  const auto traffic = read_traffic(at->substr(own.size()));
  words.erase(at);
  Taken taken;
  for (const auto& input : traffic_inputs(traffic)) {
    const bool given = std::any_of(words.begin(), words.end(),
                                   [&](const auto& w) { return w.substr(0, w.find('=')) == input.first; });
    taken.add(input, !given, find_field(inputs, input.first) != nullptr);
  }
  words.insert(words.end(), taken.words.begin(), taken.words.end());
  return taken_text(traffic, taken);
}

std::string take_traffic(const TrafficRequest& request, ScenarioRequest& scenario) {
  if (request.file.empty()) return {};
  auto& words = scenario.targets;
  if (!words.empty() && names_a_resolver(words.front())) {
    // Behind the name, because the last word may be a result.
    std::vector<std::string> rest(words.begin() + 1, words.end());
    const auto before = rest.size();
    rest.push_back("traffic_file=" + request.file);
    const auto& resolver = ResolverRegistry::standard().at(words.front());
    auto said = take_traffic(rest, resolver.inputs());
    words.insert(words.begin() + 1, rest.begin() + static_cast<std::ptrdiff_t>(before), rest.end());
    return said;
  }
  const auto traffic = read_traffic(request.file, {request.block_tokens, request.characters_per_token});
  Taken taken;
  const auto fields = describe<Scenario>();
  for (const auto& input : traffic_inputs(traffic)) {
    const bool known = find_field(fields, input.first) != nullptr ||
                       (scenario.takes_longest && input.first == "max_seq_len");
    taken.add(input, !known || scenario.fields.try_emplace(input.first, input.second).second, known);
  }
  return taken_text(traffic, taken);
}

}  // namespace mlsysim::cli
