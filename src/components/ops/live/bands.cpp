#include <mlsysim/ops/live/live.hpp>

#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::size_t kSamples = 512;  // a band is drawn each time that a server is asked

/// The band of one number of the scenario.
struct Band {
  Time<> low, value, high;
};
Band band_of(const WatchPlan& plan, const std::map<std::string, std::string>& fields,
             const std::string& result, const Zoo& zoo) {
  ScenarioBuilder builder(zoo);
  builder.set("workload", plan.workload).hardware(plan.hardware);
  for (const auto& [name, text] : fields) builder.set(name, text);
  const auto built = builder.build();
  const auto subject = subject_of(built.scenario);
  const auto report =
      uncertainty(subject, {.results = {result}, .samples = kSamples, .coverage = plan.coverage});
  const auto& n = report.results.front();
  const auto time = [](double base) { return Time<>::from_base(base); };
  // Without ranges behind it a number has no samples that differ, and the slack is all of its band.
  return {time(std::min(n.low, n.value) * (1 - plan.slack)), time(n.value),
          time(std::max(n.high, n.value) * (1 + plan.slack))};
}

WatchedNumber placed(std::string name, Time<> measured, const Band& band) {
  WatchedNumber out{std::move(name), measured, band.low, band.value, band.high, InBand::inside};
  if (measured < band.low) out.place = InBand::below;
  if (measured > band.high) out.place = InBand::above;
  return out;
}

std::string count_text(double x) { return fmt::format("{}", std::max(1.0, std::round(x))); }

/// The scenario that the engine runs, where the plan does not say otherwise.
std::map<std::string, std::string> fields_of(const LiveNumbers& live, const WatchPlan& plan) {
  auto out = plan.fields;
  out.try_emplace("mode", "serve");
  if (live.running) out.try_emplace("batch_size", count_text(*live.running));
  if (live.prompt_tokens) out.try_emplace("seq_len", count_text(*live.prompt_tokens));
  if (live.output_tokens) out.try_emplace("output_tokens", count_text(*live.output_tokens));
  if (live.prompt_tokens && live.prefix_hits && *live.prefix_hits > 0) {
    const double most = std::max(0.0, std::round(*live.prompt_tokens) - 1);
    const double cached = std::min(most, std::floor(*live.prompt_tokens * std::min(1.0, *live.prefix_hits)));
    if (cached > 0) out.try_emplace("cached_prefix_len", fmt::format("{}", cached));
  }
  return out;
}

std::map<std::string, std::string> labels_of(const WatchedServer& s) {
  return {{"server", s.url}, {"engine", s.live.engine}, {"model_name", s.live.model}};
}

}  // namespace

std::vector<WatchedNumber> watched_numbers(const LiveNumbers& live, const WatchPlan& plan, const Zoo& zoo) {
  if (live.requests <= 0)
    throw InputError({.id = "mlsysim.watch.001",
                      .message = "the engine has not served a request in this time",
                      .found = "0 requests",
                      .expected = "requests to compare with",
                      .hint = "ask again when it has load, or leave more time between two askings"});
  const auto fields = fields_of(live, plan);
  std::vector<WatchedNumber> out;
  if (live.ttft) {
    auto alone = fields;
    alone["batch_size"] = "1";
    auto band = band_of(plan, fields, "ttft", zoo);
    band.low = std::min(band.low, band_of(plan, alone, "ttft", zoo).low);
    out.push_back(placed("ttft", *live.ttft, band));
  }
  if (live.itl) out.push_back(placed("itl", *live.itl, band_of(plan, fields, "itl", zoo)));
  return out;
}

std::vector<MetricFamily> watch_metrics(const std::vector<WatchedServer>& servers) {
  MetricFamily up{"mlsysim_watch_up", "Whether the server gave numbers.", MetricType::gauge, {}};
  MetricFamily measured{
      "mlsysim_watch_measured_seconds", "Mean that the engine measured.", MetricType::gauge, {}};
  MetricFamily predicted{
      "mlsysim_watch_predicted_seconds", "Predicted value and the ends of its band.", MetricType::gauge, {}};
  MetricFamily outside{"mlsysim_watch_outside",
                       "1 where the measured mean lies outside of the predicted band.",
                       MetricType::gauge,
                       {}};
  for (const auto& s : servers) {
    // A server that gave nothing has no engine and no model: these labels are those of what it serves.
    if (std::none_of(up.samples.begin(), up.samples.end(),
                     [&](const MetricSample& m) { return m.labels.at("server") == s.url; }))
      up.samples.push_back({{{"server", s.url}}, s.trouble.empty() ? 1.0 : 0.0, {}});
    for (const auto& n : s.numbers) {
      auto labels = labels_of(s);
      labels["number"] = n.name;
      measured.samples.push_back({labels, n.measured / unit::s, {}});
      outside.samples.push_back({labels, n.place == InBand::inside ? 0.0 : 1.0, {}});
      const std::array<std::pair<const char*, Time<>>, 3> bounds{
          {{"low", n.low}, {"value", n.predicted}, {"high", n.high}}};
      for (const auto& [bound, time] : bounds) {
        labels["bound"] = bound;
        predicted.samples.push_back({labels, time / unit::s, {}});
      }
    }
  }
  return {std::move(up), std::move(measured), std::move(predicted), std::move(outside)};
}

}  // namespace mlsysim
