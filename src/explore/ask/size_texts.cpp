// Questions of size as people write them.

#include <mlsysim/explore/ask/size.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace mlsysim {
namespace {

struct NamedTime {
  std::string_view time, statistic, result;
};
constexpr std::array<NamedTime, 10> kTimes{{{"ttft", "mean", "ttft"},
                                            {"ttft", "p50", "p50_ttft"},
                                            {"ttft", "p90", "p90_ttft"},
                                            {"ttft", "p95", "p95_ttft"},
                                            {"ttft", "p99", "p99_ttft"},
                                            {"itl", "mean", "itl"},
                                            {"itl", "p90", "p90_itl"},
                                            {"itl", "p99", "p99_itl"},
                                            {"e2e", "mean", "request_latency"},
                                            {"e2e", "p99", "p99_request_latency"}}};

std::string statistics_of(std::string_view time) {
  std::vector<std::string_view> out;
  for (const auto& t : kTimes)
    if (t.time == time) out.push_back(t.statistic);
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

ServiceLimit ServiceLimit::parse(std::string_view time, std::string_view text) {
  ServiceLimit out{.time = std::string(time)};
  std::string_view rest = text;
  const auto skip = [&] {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '<' || rest.front() == '='))
      rest.remove_prefix(1);
  };
  skip();
  const auto refuse = [&](std::string found) {
    throw InputError({.id = "mlsysim.explore.184",
                      .message = fmt::format("this is no limit on {}", time),
                      .key = std::string(time),
                      .found = std::move(found),
                      .expected = fmt::format("a time, of the mean or behind one of {}", statistics_of(time)),
                      .hint = fmt::format("e.g. --{} 'p99 2 s'", time)});
  };
  const auto starts_word = [&](std::string_view word) {
    return rest.starts_with(word) && rest.find_first_of(" _<=", word.size()) == word.size();
  };
  if (!rest.empty() && (rest.front() == 'p' || rest.starts_with("mean"))) {
    const auto end = rest.find_first_of(" _<=");
    if (end == std::string_view::npos) refuse(fmt::format("'{}'", text));
    out.statistic = rest.substr(0, end);
    rest.remove_prefix(rest[end] == '_' ? end + 1 : end);
    skip();
  }
  for (const auto name : {time, time == "itl" ? std::string_view("tpot") : time})  // "p99 ttft <= 2 s"
    if (starts_word(name)) rest.remove_prefix(name.size());
  skip();
  if (out.result().empty()) refuse(fmt::format("'{}' of '{}'", out.statistic, text));
  try {
    out.most = AnyQuantity::parse(rest).as<dim::time>();
  } catch (const Error&) {
    refuse(fmt::format("'{}'", text));
  }
  if (!(out.most > Time<>())) refuse(fmt::format("'{}'", text));
  return out;
}

/// The most devices that somebody asks for pass the gate of every other count.
static double checked_devices(const char* name, double x) {
  FieldInfo f;
  f.name = name;
  f.meaning = "devices at most";
  f.low = 1;
  f.integral = true;
  check_range(f, x);
  return x;
}

SizeQuestion size_question(const Scenario& scenario, const SizeTexts& texts) {
  SizeQuestion q{.scenario = scenario};
  q.rate = scenario.arrival_rate.value_or(RequestRate<>());
  q.scenario.arrival_rate.reset();
  const std::array<std::pair<std::string_view, const std::string*>, 3> limits{
      {{"ttft", &texts.ttft}, {"itl", &texts.itl}, {"e2e", &texts.e2e}}};
  for (const auto& [time, text] : limits)
    if (!text->empty()) q.limits.push_back(ServiceLimit::parse(time, *text));
  if (!texts.tokens.empty()) {
    const bool named = texts.tokens.find("tok") != std::string::npos;
    q.tokens = AnyQuantity::parse(named ? texts.tokens : texts.tokens + "token").as<dim::tokens>().base();
  }
  if (!texts.within.empty()) q.within = AnyQuantity::parse(texts.within).as<dim::time>();
  const auto positive = [](const char* name, bool is, const std::string& text) {
    if (!is)
      throw InputError({.id = "mlsysim.explore.189",
                        .message = "there is nothing to train",
                        .key = name,
                        .found = fmt::format("{} '{}'", name, text),
                        .expected = "more than 0",
                        .hint = "e.g. --tokens 15T --within '90 d'"});
  };
  positive("tokens", !q.tokens || *q.tokens > 0, texts.tokens);
  positive("within", !q.within || *q.within > Time<>(), texts.within);
  q.most_devices = checked_devices("most_devices", texts.most_devices);
  q.most_replica_devices = checked_devices("most_replica_devices", texts.most_replica_devices);
  q.level = texts.level;
  q.disaggregated = texts.disaggregated;
  return q;
}

std::string_view ServiceLimit::result() const {
  for (const auto& t : kTimes)
    if (t.time == time && t.statistic == statistic) return t.result;
  return {};
}

std::string ServiceLimit::condition() const {
  return fmt::format("{} <= {}", result(), AnyQuantity(most).to("ms").str());
}

std::string ServiceLimit::text() const {
  return fmt::format("{}{} <= {}", statistic == "mean" ? "" : statistic + " ", time,
                     pretty(AnyQuantity(most), 3));
}

}  // namespace mlsysim
