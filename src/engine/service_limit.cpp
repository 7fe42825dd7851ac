#include <mlsysim/engine/service_limit.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

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
    throw InputError(
        {.id = "mlsysim.explore.184",
         .message = fmt::format("this is no limit on {}", time),
         .key = std::string(time),
         .found = std::move(found),
         .expected =
             fmt::format("a time with a unit, alone (the mean) or behind one of {}", statistics_of(time)),
         .hint = fmt::format("e.g. --{0} '{1}' or --{0} 'p99 {1}'", time, time == "itl" ? "30 ms" : "2 s")});
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
