#pragma once
/// Sizing: the fewest devices, with their plan, that serve a load within limits or end a training run in
/// time.
///
///   replicas = max(1, ceil(rate / most_rate_per_replica))        devices = replicas * tp * pp * ep
///
/// most_rate_per_replica: highest rate at which one replica meets all limits, found by bisection [request/s].
/// Every tp, pp, ep of powers of two is tried, and the whole node, in each format that is named. Training
/// also tries ZeRO, micro-batch, recomputation. The interval of devices repeats the search with all times
/// scaled by the ends of the interval of ITL or step time. Assumes that all times grow with the load.
/// Example: Llama3_8B on H100, 20 requests/s, 1,024 tokens in, 256 out, p99 TTFT <= 2 s, ITL <= 30 ms: tp 1,
/// 2 replicas, 2 devices (interval 1 to 2). They serve up to 35.6 requests/s, where ITL limits.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/engine/service_limit.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/resolver_api/outcome.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mlsysim {

class ErrorBook;

/// Degrees of parallelism of one replica, and its format where several are tried.
struct Degrees {
  double tp = 1, pp = 1, ep = 1;
  std::optional<Precision> precision{};  ///< absent: that of the scenario
  [[nodiscard]] double devices() const { return tp * pp * ep; }
};

/// The name of a fleet, of a node or of a device, with the number of devices where it is stated.
[[nodiscard]] std::string machine_name(const Scenario& scenario);

/// Workers that process prompts, beside replicas that generate tokens.
struct PrefillPool {
  Degrees each;        ///< of a worker
  double workers = 0;  ///< none where the replicas take their prompts themselves
};

/// A load to be served, or a run to be trained. The counts and degrees of the scenario are ignored: they are
/// the answer.
struct SizeQuestion {
  Scenario scenario;                 ///< model, machine, lengths, formats, software, prices
  RequestRate<> rate;                ///< requests that arrive, of a served model
  std::vector<ServiceLimit> limits;  ///< that they must meet
  std::optional<Time<>> within;      ///< in which the run must end
  double most_devices = 65536;       ///< in all
  double most_replica_devices = 64;  ///< that one replica may take
  int level = 80;                    ///< percent of the interval; 0: none is made
  std::set<std::string, std::less<>>
      stated{};  ///< fields that are not searched, though they may be at their default
  std::optional<double> longest_request{};  ///< [token] that a replica is launched for; absent: the lengths
  bool disaggregated = false;               ///< pools for prompts and for tokens are plans as well
  std::vector<Precision> precisions{};      ///< formats that are tried; none: that of the scenario
  const ErrorBook* book = nullptr;          ///< measurements behind the interval; null: the tables of the zoo
};

/// A sizing question as texts. An empty text sets no limit.
struct SizeTexts {
  std::string ttft, itl, e2e;  ///< limits: "2 s", "p99 2 s"
  std::string within;          ///< time of a training run: "90 d"
  double most_devices = 65536, most_replica_devices = 64;
  int level = 80;
  bool disaggregated = false;
  std::vector<std::string> precisions{};  ///< "bf16", "fp8"
};
/// @param scenario with the rate as its arrivals @throws InputError for a text that cannot be read, and for
/// formats beside one that the scenario states
[[nodiscard]] SizeQuestion size_question(const Scenario& scenario, const SizeTexts& texts);

/// One plan with its devices, times and cost.
struct SizedPlan {
  double tp = 1, pp = 1, ep = 1;
  std::optional<Precision> precision{};  ///< where several were tried
  double replicas = 1, devices = 1;
  PrefillPool prefill;              ///< whose devices count
  double running = 0;               ///< requests that run on a replica at the rate that was asked
  RequestRate<> most_rate;          ///< that all replicas serve within the limits
  std::string limited_by;           ///< what allows no more: a limit, or the cache
  Time<> ttft, p99_ttft, itl, e2e;  ///< at the rate that was asked
  TokenRate<> token_throughput;     ///< of all devices
  Time<> training_time;             ///< of a run, failures included
  double mfu = 0, goodput_ratio = 1;
  std::optional<MoneyRate<>> cost;  ///< of all devices; absent where a price is not known
  std::optional<Money<>> run_cost;  ///< of a training run
  Scenario scenario;                ///< the plan as a scenario

  /// "tp 8", "tp 2 x ep 4, zero 1, micro-batch 2", "prefill 2 x (tp 1) + decode 4 x (tp 1)"
  [[nodiscard]] std::string degrees() const;
  [[nodiscard]] double replica_devices() const { return tp * pp * ep; }
  [[nodiscard]] Degrees replica() const { return {tp, pp, ep, precision}; }
};

/// The fewest devices, and the interval of their number.
struct SizeAnswer {
  std::string workload, hardware, software;
  SizedPlan best;
  std::vector<SizedPlan> others;       ///< the next best, up to four
  double lower = 1, upper = 1;         ///< devices of the interval
  double time_low = 1, time_high = 1;  ///< factors on all times that it stands for
  int level = 80;
  double headroom = 0;                 ///< share of the rate, or of the time, that is left
  std::size_t plans = 0, fitting = 0;  ///< that were evaluated, and that meet the limits with enough devices
  std::size_t pools = 0;               ///< pairs of pools that were evaluated, or cannot take fewer devices
  std::string launch;  ///< command that starts a replica; empty without the component of launches
  std::string
      class_figures;  ///< which share of the machine's figures are estimates of its class; may be empty
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  std::shared_ptr<const void> keep;  ///< owns what the plans point to
};

/// Finds the plan with the fewest devices. Among equals, the plan that can serve most wins.
///
/// A replica whose times are f times as long serves 1 / f of the rate that it would under limits of 1 / f.
/// @return the answer, or why no plan meets the limits and what would have to change
/// @throws InputError, DomainError for a question that contradicts itself
[[nodiscard]] Outcome<SizeAnswer> size(const SizeQuestion& question);

}  // namespace mlsysim
