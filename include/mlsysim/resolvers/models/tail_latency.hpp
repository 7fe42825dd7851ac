#pragma once
/// Median and P99 latency of requests that queue for a set of servers (wall 7).
///
///   P(wait + service > p99_latency) = 0.01      utilization = arrival_rate service_latency / servers
///
/// Operator: quantiles of wait plus service, with the variation of arrivals and service (exact for M/M/1).
/// Textbook: mean service + quantile of the wait, scaled by (1 + service_cv^2) / 2.
/// Limits: one queue, first come first served. An unstable queue gives is_stable = false and no latencies.
/// Example: 80 requests/s, one server of 10 ms (M/M/1): utilization 0.8, median ln 2 / 20 s = 34.7 ms, P99
/// ln 100 / 20 s = 230 ms.
/// @cite deanbarroso2013tail; gross2008queueing, section 3.3; allencunneen1990, section 5.4

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// Latency quantiles of a queue, and the share of requests that meet a target.
struct TailLatencyModel : Model<TailLatencyModel> {
  static constexpr std::string_view id = "TailLatencyModel";
  static constexpr std::string_view about = "median and tail latency of requests that share servers";
  static constexpr std::string_view law = "P(wait + service > p99_latency) = 0.01";
  static constexpr std::string_view source = "deanbarroso2013tail";
  static constexpr std::array walls{7};
  static constexpr std::array fallacies{Fallacy{"Servers that are busy 90 % of the time have 10 % to spare.",
                                                "The wait grows as 1 / (1 - utilization): at 90 % a single "
                                                "server makes requests wait nine services."},
                                        Fallacy{"The tail is the mean with a safety factor.",
                                                "The tail follows the variation of arrivals and service; "
                                                "equal means give tails that differ tenfold."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    RequestRate<> arrival_rate;
    Time<> service_latency;
    double num_replicas = 1, service_time_cv = 1, arrival_cv = 1;
    std::optional<Time<>> target_latency{};
    std::optional<Fidelity> fidelity{};

    template <class I = Inputs> static constexpr auto fields() {
      return rows(field(&I::arrival_rate, "arrival_rate", "request/s", "requests that arrive").positive(),
                  field(&I::service_latency, key::service_latency),
                  field(&I::num_replicas, "num_replicas", "", "servers that share the line")
                      .within(1, 65536)
                      .counted()
                      .defaulted("one server"),
                  field(&I::service_time_cv, "service_time_cv", "",
                        "standard deviation over mean of the service time")
                      .within(0, 100)
                      .defaulted("exponential service"),
                  field(&I::arrival_cv, "arrival_cv", "",
                        "standard deviation over mean of the time between arrivals; textbook: 1")
                      .within(0, 100)
                      .defaulted("Poisson arrivals"),
                  field(&I::target_latency, key::target_latency).defaulted("no target"),
                  field(&I::fidelity, key::fidelity).defaulted("operator: quantiles of the sum"));
    }
  };
  struct Result {
    bool is_stable = false;
    double queue_utilization = 0, wait_probability = 0;
    std::optional<Time<>> p50_latency, p99_latency, mean_wait;
    std::optional<double> queue_length, slo_headroom_ratio, slo_attainment;
    double stable_replicas = 1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::is_stable, "is_stable", "", "the line has a steady state"),
          field(&R::queue_utilization, "queue_utilization", "",
                "arrivals over what the servers can do; above 1 the line grows for ever"),
          field(&R::wait_probability, "wait_probability", "", "probability that a request waits"),
          field(&R::p50_latency, "p50_latency", "ms", "half of the requests take no longer"),
          field(&R::p99_latency, "p99_latency", "ms", "99 % of the requests take no longer"),
          field(&R::mean_wait, "mean_wait", "ms", "mean wait of all requests"),
          field(&R::queue_length, "queue_length", "", "mean number of waiting requests"),
          field(&R::slo_headroom_ratio, "slo_headroom_ratio", "",
                "P99 wait over five services, convention of MLSys-im"),
          field(&R::slo_attainment, "slo_attainment", "", "share of requests within the target latency"),
          field(&R::stable_replicas, "stable_replicas", "", "fewest servers with a steady state"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
