#pragma once
/// Queueing delay of jobs that share a fleet (wall 16).
///
///   avg_wait_time = C(slots, load) duration (1 + duration_cv^2) / (2 slots (1 - utilization))
///   utilization = load / slots      load = arrival rate x duration      slots = floor(devices / job width)
///
/// C: probability of waiting (Erlang C). duration_cv: standard deviation over mean of the run time.
/// Textbook: the fleet is one slot and run times are equal (M/D/1). Operator: M/G/c with `slots` servers.
/// Assumed: Poisson arrivals, first come first served, equal widths. Without a steady state there are no
/// waits.
/// Example: 0.4 jobs a day of 2 days on the whole fleet: utilization 0.8, wait 0.8 x 2 / (2 x 0.2) = 4 days.
/// @cite jeon2019philly; gross2008queueing, section 3.3; allencunneen1990, section 5.4

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>

namespace mlsysim {

/// Mean and 95th-percentile wait of a job, and the load of the fleet.
struct OrchestrationModel : Model<OrchestrationModel> {
  static constexpr std::string_view id = "OrchestrationModel";
  static constexpr std::string_view about = "wait of jobs for their share of a fleet";
  static constexpr std::string_view law =
      "avg_wait_time = C(slots, load) duration (1 + duration_cv^2) / (2 slots (1 - utilization))";
  static constexpr std::string_view source = "jeon2019philly";
  static constexpr std::array walls{16};
  static constexpr std::array fallacies{
      Fallacy{"A full cluster is a well-used cluster.",
              "Above four fifths of utilization the wait of a job passes its run time."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Fleet* fleet = nullptr;
    double arrival_rate_jobs_per_day = 0;
    Time<> avg_job_duration;
    std::optional<double> accelerators_per_job{};
    double duration_cv = 1;
    std::optional<Fidelity> fidelity{};

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::fleet, key::fleet),
          field(&I::arrival_rate_jobs_per_day, "arrival_rate_jobs_per_day", "", "jobs that arrive in a day")
              .positive(),
          field(&I::avg_job_duration, "avg_job_duration", "d", "mean run time of a job").positive(),
          field(&I::accelerators_per_job, "accelerators_per_job", "", "devices of one job; textbook: all")
              .at_least(1)
              .counted()
              .defaulted("the whole fleet"),
          field(&I::duration_cv, "duration_cv", "",
                "standard deviation over mean of the run time; textbook: 0")
              .within(0, 100)
              .defaulted("exponential run times"),
          field(&I::fidelity, key::fidelity).defaulted("operator: slots and variation"));
    }
  };
  struct Result {
    bool is_stable = false;
    double cluster_utilization = 0, slots = 1;
    std::optional<Time<>> avg_wait_time, p95_wait_time;
    std::optional<double> avg_queue_length;
    double wait_probability = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::is_stable, "is_stable", "", "the line has a steady state"),
                  field(&R::cluster_utilization, "cluster_utilization", "",
                        "offered work over the fleet; above 1 the line grows for ever"),
                  field(&R::slots, "slots", "", "jobs that run at a time"),
                  field(&R::avg_wait_time, "avg_wait_time", "d", "mean wait of a job"),
                  field(&R::p95_wait_time, "p95_wait_time", "d", "95 % of the jobs wait no longer"),
                  field(&R::avg_queue_length, "avg_queue_length", "", "mean number of waiting jobs"),
                  field(&R::wait_probability, "wait_probability", "", "probability that a job waits"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
