#pragma once
/// Compares the measurements of a running engine with their predictions.

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
  std::optional<double> cache_use{}, prefix_hits{};        ///< shares
};
/// One entry for each model that is served. Counters that went back (a restart) are taken as they are.
[[nodiscard]] std::vector<LiveNumbers> live_numbers(const Exposition& now,
                                                    const Exposition* before = nullptr);

/// Where a measured number lies.
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
  std::map<std::string, std::string>
      fields;             ///< of the scenario; what is not here is taken from what the engine runs
  double coverage = 0.9;  ///< share of what the zoo's ranges allow that a band holds
  double slack = 0.1;     ///< by which bands are wider than that, on both sides
};
/// The numbers that were measured, with their bands. Of the time to the first token the band reaches from a
/// prompt that is computed alone to the prompts of all running requests at once.
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
