#include "request_trace/detail/json_values.hpp"
#include "request_trace/detail/readers.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mlsysim {
namespace detail {

void refuse_traffic(const std::string& file, std::uint64_t line, std::string found, std::string expected) {
  const auto where = line > 0 ? fmt::format("{}:{}", file, line) : file;
  throw InputError({.id = "mlsysim.traffic.001",
                    .message = fmt::format("'{}' is no traffic that is known", where),
                    .key = where,
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = "docs/how-to/traffic.md shows a line of each form"});
}

namespace {

using Json = nlohmann::json;

/// Keys of results that hold one number for each token, or texts: they are not kept.
constexpr std::array<std::string_view, 5> kLong{"itls", "generated_texts", "errors", "ttfts", "inputs"};

/// Values of a JSON file, in the form of the first.
class JsonReader {
 public:
  JsonReader(std::string file, const TrafficHow& how, RequestTally& tally, RecordedTraffic& out)
      : file_(std::move(file)), how_(how), tally_(tally), out_(out) {}

  void take(std::string_view text, std::uint64_t line) {
    const auto kept = [](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth != 1 || event != Json::parse_event_t::key) return true;
      return std::find(kLong.begin(), kLong.end(), parsed.get_ref<const std::string&>()) == kLong.end();
    };
    const auto json = Json::parse(text, kept, false);
    if (json.is_discarded()) refuse_traffic(file_, line, fmt::format("'{}'", printable_head(text)), "JSON");
    const auto form = form_of_value(json, file_, line);
    if (any_ && form != out_.format)
      refuse_traffic(file_, line, fmt::format("a value of the form {}", name_of(form)),
                     fmt::format("{}, as above", name_of(out_.format)));
    const bool document = form == TrafficFormat::vllm_bench || form == TrafficFormat::genai_perf ||
                          form == TrafficFormat::guidellm;
    if (any_ && document) refuse_traffic(file_, line, "a second result", "one result in a file");
    any_ = true;
    out_.format = form;
    read(TrafficValue{json, file_, line});
  }

 private:
  static std::string printable_head(std::string_view text) {
    std::string out(text.substr(0, 40));
    for (char& c : out)
      if (c < ' ' || c > '~') c = '?';
    return out;
  }

  void read(const TrafficValue& value) {
    switch (out_.format) {
      case TrafficFormat::mooncake:
        tally_.set_tick(1e-3);
        return read_mooncake(value, tally_);
      case TrafficFormat::lengths:
        return read_lengths(value, how_, tally_);
      case TrafficFormat::vllm_bench:
        return read_vllm_bench(value, tally_, out_);
      case TrafficFormat::genai_perf:
        return read_genai_perf(value, out_);
      case TrafficFormat::guidellm:
        return read_guidellm(value, out_);
      case TrafficFormat::azure:
        break;  // no JSON
    }
  }

  std::string file_;
  const TrafficHow& how_;
  RequestTally& tally_;
  RecordedTraffic& out_;
  bool any_ = false;
};

}  // namespace
}  // namespace detail

namespace {

void check(const TrafficHow& how) {
  struct Option {
    const char* name;
    double value, low, high;
    const char* expected;
  };
  for (const auto& [name, value, low, high, expected] :
       {Option{"--block-tokens", how.block_tokens, 1, 1e6, "1 to 1e6 tokens"},
        Option{"--characters-per-token", how.characters_per_token, 0, 100, "up to 100"}})
    if (!(value >= low && value <= high))
      throw InputError("mlsysim.traffic.002", fmt::format("{} is out of range", name), name,
                       fmt::format("{:g}", value), expected, "leave it out");
}

}  // namespace

RecordedTraffic read_traffic(const std::filesystem::path& path, const TrafficHow& how) {
  check(how);
  const auto file = path.generic_string();
  RecordedTraffic out;
  out.source = file;
  detail::RequestTally tally(1e-6, how.block_tokens);
  detail::AzureReader azure(file, tally);
  detail::JsonReader reader(file, how, tally, out);
  detail::JsonValues values([&](std::string_view text, std::uint64_t line) { reader.take(text, line); });
  std::optional<bool> json;
  const auto fault = [&](const std::string& found) {
    if (!found.empty())
      detail::refuse_traffic(file, values.line(), found, "JSON values, or lines of a table");
  };
  auto wrong = files::read_unpacked(path, [&](std::string_view piece) {
    if (!json) {
      const auto first = piece.find_first_not_of(" \t\r\n");
      if (first == std::string_view::npos) return;
      json = piece[first] == '{' || piece[first] == '[';
    }
    if (*json)
      fault(values.add(piece));
    else
      azure.add(piece);
  });
  if (!wrong.empty()) detail::refuse_traffic(file, 0, wrong, "a file that can be read, plain or gzip");
  if (json.value_or(true)) {
    fault(values.finish());
  } else {
    azure.finish();
    out.format = TrafficFormat::azure;
  }
  const bool stated = out.requests > 0 || out.prompt.mean > 0;
  const auto offered = out.arrivals;
  if (!stated || tally.requests() > 0) tally.finish(out);
  if (!out.arrivals) out.arrivals = offered;
  if (out.prompt.count == 0 && out.prompt.mean == 0)
    detail::refuse_traffic(file, 0, "no requests", "at least one request");
  return out;
}

std::vector<std::pair<std::string, std::string>> traffic_inputs(const RecordedTraffic& t) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto whole = [&](const char* key, double x, double least) {
    out.emplace_back(key, fmt::format("{:.0f}", std::max(least, std::round(x))));
  };
  whole("seq_len", t.prompt.mean, 1);
  if (t.answer) whole("output_tokens", t.answer->mean, 1);
  const auto spread = [&](const std::string& length, const CountedSpread& s) {
    if (s.laws.empty()) return;  // a mean alone
    out.emplace_back(length + "_cv", fmt::format("{:.9g}", std::min(s.cv(), 100.0)));
    out.emplace_back(length + "_law", std::string(name_of(s.laws.front().law)));
  };
  spread("seq_len", t.prompt);
  if (t.answer) spread("output_tokens", *t.answer);
  if (t.total_mean) whole("mean_request_tokens", *t.total_mean, 1);
  if (t.longest) whole("max_seq_len", *t.longest, 1);
  if (t.prefixes && t.prefixes->mean >= 0.5)
    whole("cached_prefix_len", std::min(t.prefixes->mean, std::max(0.0, std::round(t.prompt.mean) - 1)), 0);
  if (t.arrivals) {
    out.emplace_back("arrival_rate",
                     fmt::format("{:.9g} request/s", t.arrivals->rate.in(unit::request / unit::s)));
    if (t.arrivals->cv)
      out.emplace_back("arrival_cv", fmt::format("{:.9g}", std::min(*t.arrivals->cv, 100.0)));
  } else if (t.concurrency) {
    whole("concurrency", *t.concurrency, 1);
  }
  // Decoding takes a step for each token of the answer, so times in service vary as answers do.
  if (t.answer && !t.answer->laws.empty())
    out.emplace_back("service_time_cv", fmt::format("{:.9g}", std::min(t.answer->cv(), 100.0)));
  if (t.answer && !t.prompt.laws.empty() && t.prompt.deviation == 0 && t.answer->deviation == 0)
    out.emplace_back("equal_lengths", "true");
  return out;
}

}  // namespace mlsysim
