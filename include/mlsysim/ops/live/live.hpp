#pragma once
/// Compares a running vLLM or SGLang engine with its prediction, from the engine's Prometheus page.
///
///   measured = (sum - sum_before) / (count - count_before)
///   low      = (1 - slack) * min(p_low, predicted)
///   high     = (1 + slack) * max(p_high, predicted)
///
/// p_low, p_high: ends of the central `coverage` share of 512 samples of the zoo's ranges. TTFT: the band's
/// low end also covers a prompt that is computed alone (batch size 1).
/// Example: slack 0.1, no uncertain inputs, predicted ITL 15.2 ms: the band is 13.7 to 16.7 ms, and 20 ms is
/// above it.

#include <mlsysim/ops/export/fetch.hpp>
#include <mlsysim/ops/export/metrics.hpp>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// Means over the requests of an engine, from its counters: since it started, or since an exposition before.
struct LiveNumbers {
  std::string engine, model;  ///< "vllm" or "sglang", and the name under which it serves
  double requests = 0;        ///< that got their first token
  std::optional<Time<>> ttft{}, itl{}, e2e{};
  std::optional<double> prompt_tokens{}, output_tokens{};  ///< of a request
  std::optional<double> running{}, waiting{};              ///< requests, at the time of asking
  std::optional<double> cache_use{}, prefix_hits{};        ///< shares from 0 to 1
};
/// One entry for each model that is served. Counters that went back (a restart) are taken as they are.
[[nodiscard]] std::vector<LiveNumbers> live_numbers(const Exposition& now,
                                                    const Exposition* before = nullptr);

/// Position of a measured number relative to its band.
enum class InBand : std::uint8_t { inside, below, above };
template <> inline constexpr auto names_of<InBand> = ChoiceNames{"place in a band"};

/// A measured number and the band that is predicted for it.
struct WatchedNumber {
  std::string name;  ///< "ttft", "itl"
  Time<> measured{}, low{}, predicted{}, high{};
  InBand place = InBand::inside;
};

/// The scenario to predict, and the width of the bands.
struct WatchPlan {
  std::string workload, hardware;
  std::map<std::string, std::string> fields;  ///< of the scenario; other fields come from the measured load
  double coverage = 0.9;  ///< share of the samples of the zoo's ranges that a band contains
  double slack = 0.1;     ///< relative widening of a band on both sides
};
/// TTFT and ITL as measured, with their bands. The TTFT band reaches from a prompt that is computed alone to
/// the prompts of all running requests at once.
/// @throws as a scenario does, InputError where the engine has not served a request
[[nodiscard]] std::vector<WatchedNumber> watched_numbers(const LiveNumbers& live, const WatchPlan& plan,
                                                         const Zoo& zoo);

/// Measurements and predictions for one server, or why there are none.
struct WatchedServer {
  std::string url;      ///< without user and password
  std::string trouble;  ///< why there is nothing; empty where there is
  LiveNumbers live;
  std::vector<WatchedNumber> numbers;
  std::vector<std::string> notes;
};
/// Measured and predicted as metrics; a server that gave nothing has mlsysim_watch_up 0.
[[nodiscard]] std::vector<MetricFamily> watch_metrics(const std::vector<WatchedServer>& servers);

}  // namespace mlsysim
