// Forms of traffic in JSON.

#include "request_trace/detail/readers.hpp"

#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/whole.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <string>

namespace mlsysim::detail {
namespace {

using Json = nlohmann::json;

constexpr double kMostTime = 1e15;  // in ticks

std::string shown(const Json& j) {
  auto text = detail::json_text(j);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

/// A count of tokens.
std::uint64_t tokens(const TrafficValue& v, const Json& j, std::string_view name) {
  const double x = j.is_number() ? j.get<double>() : -1;
  if (!(x >= 0) || x > kMostTokens || x != std::floor(x))
    refuse_traffic(v.file, v.line, fmt::format("'{}' is {}", name, shown(j)),
                   fmt::format("a whole number of tokens up to {}", kMostTokens));
  return static_cast<std::uint64_t>(x);
}

const Json& member(const TrafficValue& v, const char* name) {
  const auto at = v.json.find(name);
  if (at == v.json.end())
    refuse_traffic(v.file, v.line, fmt::format("no '{}' in {}", name, shown(v.json)),
                   fmt::format("'{}'", name));
  return *at;
}

double number_at(const Json& j, const char* name, double otherwise) {
  const auto at = j.find(name);
  return at != j.end() && at->is_number() && std::isfinite(at->get<double>()) ? at->get<double>() : otherwise;
}

/// Characters of a text, not bytes.
double characters(const std::string& text) {
  double out = 0;
  for (const char c : text) out += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u ? 1 : 0;
  return out;
}

/// The first two turns of a conversation, which is what benchmarks take of these files.
void read_conversation(const TrafficValue& v, const TrafficHow& how, RequestTally& tally) {
  if (!(how.characters_per_token > 0))
    refuse_traffic(v.file, v.line, "texts, and no tokenizer is at hand",
                   "lengths in tokens, or --characters-per-token N to take texts by their length");
  std::array<std::uint64_t, 2> lengths{};
  const Json& turns = member(v, "conversations");
  if (!turns.is_array() || turns.size() < 2) return;  // of these benchmarks take nothing either
  for (std::size_t k = 0; k < 2; ++k) {
    if (!turns[k].is_object() || !turns[k].contains("value") || !turns[k]["value"].is_string())
      refuse_traffic(v.file, v.line, fmt::format("the turn {}", shown(turns[k])),
                     "an object with a text 'value'");
    const double count = characters(turns[k]["value"].get_ref<const std::string&>());
    lengths[k] = detail::whole<std::uint64_t>(std::ceil(count / how.characters_per_token));
  }
  tally.add({.prompt = lengths[0], .answer = lengths[1]});
}

constexpr std::array<std::array<const char*, 2>, 5> kLengthNames{{{"prompt_len", "output_len"},
                                                                  {"input_len", "output_len"},
                                                                  {"prompt_tokens", "completion_tokens"},
                                                                  {"input_tokens", "output_tokens"},
                                                                  {"input_length", "output_length"}}};

bool has(const Json& j, const char* name) { return j.is_object() && j.contains(name); }

}  // namespace

TrafficFormat form_of_value(const Json& j, const std::string& file, std::uint64_t line) {
  if (has(j, "hash_ids") || (has(j, "timestamp") && has(j, "input_length"))) return TrafficFormat::mooncake;
  if (has(j, "input_lens") || has(j, "total_input_tokens")) return TrafficFormat::vllm_bench;
  if (has(j, "input_sequence_length")) return TrafficFormat::genai_perf;
  if (has(j, "benchmarks") && j["benchmarks"].is_array()) return TrafficFormat::guidellm;
  bool lengths = has(j, "conversations") || (j.is_array() && j.size() == 2);
  for (const auto& names : kLengthNames) lengths = lengths || (has(j, names[0]) && has(j, names[1]));
  if (lengths) return TrafficFormat::lengths;
  refuse_traffic(
      file, line, shown(j),
      "a line of Mooncake's traces, lengths of a prompt and an answer, or a result of vllm bench, SGLang's "
      "bench_serving, genai-perf or GuideLLM");
}

void read_mooncake(const TrafficValue& v, RequestTally& tally) {
  StatedRequest r{.prompt = tokens(v, member(v, "input_length"), "input_length"),
                  .answer = tokens(v, member(v, "output_length"), "output_length")};
  const Json& time = member(v, "timestamp");
  if (!time.is_number() || !(std::fabs(time.get<double>()) < kMostTime))
    refuse_traffic(v.file, v.line, fmt::format("'timestamp' is {}", shown(time)), "milliseconds");
  r.time = std::llround(time.get<double>());
  std::vector<std::uint64_t> blocks;
  if (const auto at = v.json.find("hash_ids"); at != v.json.end()) {
    if (!at->is_array())
      refuse_traffic(v.file, v.line, fmt::format("'hash_ids' is {}", shown(*at)),
                     "an array of whole numbers");
    for (const auto& id : *at) {
      if (!id.is_number_integer())
        refuse_traffic(v.file, v.line, fmt::format("{} among 'hash_ids'", shown(id)), "whole numbers");
      blocks.push_back(static_cast<std::uint64_t>(id.get<std::int64_t>()));
    }
  }
  r.blocks = blocks;
  tally.add(r);
}

void read_lengths(const TrafficValue& v, const TrafficHow& how, RequestTally& tally) {
  if (v.json.is_array() && v.json.size() == 2)
    return tally.add({.prompt = tokens(v, v.json[0], "prompt"), .answer = tokens(v, v.json[1], "answer")});
  for (const auto& names : kLengthNames)
    if (has(v.json, names[0]) && has(v.json, names[1]))
      return tally.add(
          {.prompt = tokens(v, v.json[names[0]], names[0]), .answer = tokens(v, v.json[names[1]], names[1])});
  if (has(v.json, "conversations")) return read_conversation(v, how, tally);
  refuse_traffic(v.file, v.line, shown(v.json), "lengths of a prompt and an answer, as above");
}

namespace {

/// The load that a benchmark offered: `request_rate` with gaps of the shape `burstiness`, or so many requests
/// in flight.
void take_offered_load(const Json& j, RecordedTraffic& out) {
  const double rate = number_at(j, "request_rate", 0), burstiness = number_at(j, "burstiness", 1);
  if (rate > 0) {
    Arrivals a;
    a.rate = rate * (unit::request / unit::s);
    if (burstiness > 0) a.cv = 1 / std::sqrt(burstiness);
    out.arrivals = a;
    out.notes.emplace_back("the rate of arrivals is the one that the benchmark was asked for");
  }
  if (const double most = number_at(j, "max_concurrency", 0); most >= 1) out.concurrency = most;
}

}  // namespace

void read_vllm_bench(const TrafficValue& v, RequestTally& tally, RecordedTraffic& out) {
  const Json& j = v.json;
  if (has(j, "input_lens") && has(j, "output_lens")) {
    const Json &in = j["input_lens"], &answers = j["output_lens"];
    if (!in.is_array() || !answers.is_array() || in.size() != answers.size())
      refuse_traffic(v.file, v.line, "'input_lens' and 'output_lens' of different sizes",
                     "a length for each request");
    const auto starts = j.find("start_times");
    const bool timed = starts != j.end() && starts->is_array() && starts->size() == in.size();
    for (std::size_t k = 0; k < in.size(); ++k) {
      StatedRequest r{.prompt = tokens(v, in[k], "input_lens"),
                      .answer = tokens(v, answers[k], "output_lens")};
      if (timed && (*starts)[k].is_number() && std::fabs((*starts)[k].get<double>()) < 1e9)
        r.time = std::llround(1e6 * (*starts)[k].get<double>());
      tally.add(r);
    }
  } else {
    const double requests = number_at(j, "completed", number_at(j, "num_prompts", 0));
    if (!(requests >= 1))
      refuse_traffic(v.file, v.line, "neither lengths nor a count of requests",
                     "'input_lens', or 'completed'");
    out.requests = requests;
    const auto mean = [&](const char* name) {
      CountedSpread s{.count = requests, .mean = number_at(j, name, 0) / requests};
      return s;
    };
    out.prompt = mean("total_input_tokens");
    if (has(j, "total_output_tokens")) out.answer = mean("total_output_tokens");
    out.notes.emplace_back(
        "the result has sums alone: means without laws; --save-detailed of vllm bench keeps lengths");
  }
  take_offered_load(j, out);
}

namespace {

/// Keys of a mean, a deviation and the object of the quantiles; null where they stand beside the mean.
struct SpreadNames {
  const char *mean, *deviation, *quantiles;
};
constexpr SpreadNames kGenaiPerf{"avg", "std", nullptr}, kGuideLlm{"mean", "std_dev", "percentiles"};

/// Mean, deviation and quantiles of one figure of a result, with laws that are compared at the quantiles.
CountedSpread spread_of(const TrafficValue& v, const char* name, double requests,
                        const SpreadNames& names = kGenaiPerf) {
  const Json& j = member(v, name);
  const double mean = number_at(j, names.mean, -1);
  if (!(mean >= 0) || mean > kMostTokens)
    refuse_traffic(v.file, v.line, fmt::format("'{}' is {}", name, shown(j)),
                   fmt::format("an object with '{}'", names.mean));
  CountedSpread s{
      .count = requests, .mean = mean, .deviation = std::max(0.0, number_at(j, names.deviation, 0))};
  s.least = number_at(j, "min", mean);
  s.most = number_at(j, "max", mean);
  if (!(s.least >= 0 && s.least <= s.most && s.most <= kMostTokens && s.deviation <= kMostTokens))
    refuse_traffic(v.file, v.line, fmt::format("'{}' is {}", name, shown(j)),
                   "'min' of at most 'max', lengths of prompts and answers");
  const bool apart = names.quantiles != nullptr && has(j, names.quantiles);
  const Json& quantiles = apart ? j[names.quantiles] : j;
  s.p50 = number_at(quantiles, "p50", number_at(j, "median", mean));
  s.p90 = number_at(quantiles, "p90", s.most);
  s.p99 = number_at(quantiles, "p99", s.most);
  std::vector<CountedShare> counted;
  constexpr std::array<std::pair<const char*, double>, 6> kQuantiles{
      {{"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}}};
  for (const auto& [key, share] : kQuantiles)
    if (has(quantiles, key) && quantiles[key].is_number())
      counted.push_back({quantiles[key].get<double>(), share});
  // A mean without a deviation says nothing of the law.
  if (has(j, names.deviation)) s.laws = fit_laws(s.mean, s.deviation, counted);
  return s;
}

const Json& at(const Json& j, const char* name) {
  static const Json none;
  return has(j, name) ? j[name] : none;
}

/// Takes how many requests a result is of.
void take_requests(const Json& j, const char* name, RecordedTraffic& out) {
  out.requests = j.is_object() ? number_at(j, name, 0) : 0;
  if (out.requests >= 1) return;
  out.requests = 0;
  out.notes.emplace_back("the result does not say how many requests it is of");
}

/// The least number of requests in flight that a stimulus names, at any of the places where versions keep it.
double concurrency_of(const Json& j) {
  const auto config = j.find("input_config");
  if (config == j.end() || !config->is_object()) return 0;
  if (const double here = number_at(*config, "concurrency", 0); here >= 1) return here;
  const Json* at = &*config;
  for (const char* name : {"perf_analyzer", "stimulus"}) {
    if (!has(*at, name)) return 0;
    at = &(*at)[name];
  }
  return number_at(*at, "concurrency", 0);
}

}  // namespace

void read_genai_perf(const TrafficValue& v, RecordedTraffic& out) {
  take_requests(at(v.json, "request_count"), "avg", out);
  out.prompt = spread_of(v, "input_sequence_length", out.requests);
  if (has(v.json, "output_sequence_length"))
    out.answer = spread_of(v, "output_sequence_length", out.requests);
  if (const double most = concurrency_of(v.json); most >= 1) out.concurrency = most;
  out.notes.emplace_back("the result has quantiles alone: distances of the laws are those at the quantiles");
}

namespace {

/// The load of a strategy: a rate, or streams that each wait for their answer.
void take_strategy(const Json& strategy, RecordedTraffic& out) {
  const auto type = at(strategy, "type_").is_string() ? at(strategy, "type_").get<std::string>() : "";
  if (const double rate = number_at(strategy, "rate", 0); rate > 0) {
    Arrivals a;
    a.rate = rate * (unit::request / unit::s);
    a.cv = type == "constant" ? 0.0 : 1.0;
    out.arrivals = a;
    out.notes.emplace_back("the rate of arrivals is the one that the benchmark was asked for");
  }
  const double streams = number_at(strategy, "streams", type == "synchronous" ? 1 : 0);
  if (streams >= 1) out.concurrency = streams;
}

}  // namespace

void read_guidellm(const TrafficValue& v, RecordedTraffic& out) {
  const Json& runs = v.json["benchmarks"];
  if (runs.empty()) refuse_traffic(v.file, v.line, "no benchmark", "at least one in 'benchmarks'");
  const Json& run = runs[0];
  const Json &prompt = at(at(at(run, "metrics"), "prompt_token_count"), "successful"),
             &answer = at(at(at(run, "metrics"), "output_token_count"), "successful");
  if (prompt.is_null())
    refuse_traffic(v.file, v.line, shown(run), "'metrics.prompt_token_count.successful' of each benchmark");
  take_requests(prompt, "count", out);
  const Json lengths{{"prompt", prompt}, {"answer", answer}};
  const TrafficValue both{lengths, v.file, v.line};
  out.prompt = spread_of(both, "prompt", out.requests, kGuideLlm);
  if (!answer.is_null()) out.answer = spread_of(both, "answer", out.requests, kGuideLlm);
  out.notes.emplace_back("the result has quantiles alone: distances of the laws are those at the quantiles");
  if (runs.size() == 1)
    return take_strategy(at(at(run, has(run, "args") ? "args" : "config"), "strategy"), out);
  out.notes.push_back(
      fmt::format("of {} benchmarks the lengths of the first: state the load that is meant", runs.size()));
}

}  // namespace mlsysim::detail
