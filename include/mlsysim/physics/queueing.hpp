#pragma once
/// Waiting times in a queue with several equal servers: probability, mean, percentiles and response time.
///
///   wait_probability = 1 / (1 + (1 - load / servers) (I - 1)),  I_k = 1 + (k / load) I_{k-1},  I_0 = 1
///   wait_given       = service_time (arrival_cv^2 + service_cv^2) / (2 servers (1 - utilization))     [s]
///   wait_mean        = wait_probability wait_given
///   wait (quantile)  = wait_given max(0, log(wait_probability / (1 - quantile)))
///
/// I = I_k at k = servers (Erlang C). load = utilization servers: mean busy servers. wait_given: mean wait of
/// requests that wait. *_cv: standard deviation over mean. quantile: 0.99 for P99.
/// Limits: steady state, first come, first served. Exact for M/M/c, an interpolation elsewhere.
/// Example: M/M/2, utilization 0.8, 100 ms of service: 71.1 % wait, mean wait 178 ms, P99 wait 1066 ms.
/// @cite erlang1917, the delay formula
/// @cite allencunneen1990, section 5.4
/// @cite gross2008queueing, section 3.3

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Probability that an arrival finds all servers busy and has to wait [probability].
///
/// I_k is the reciprocal of Erlang's loss probability with k servers. The wait probability is 1 for load >=
/// servers. Ranges: servers in [1, 65536], whole; load > 0 (mean number of busy servers).
/// @cite erlang1917, the delay formula (Erlang C)
struct ErlangC {
  static constexpr LawInfo info{
      "ErlangC", "wait_probability = 1 / (1 + (1 - load / servers)(I - 1)), I_k = 1 + (k / load) I_{k-1}",
      "erlang1917", "delay formula", "Poisson arrivals, exponential service, nobody gives up"};
  template <class T> struct Inputs {
    T servers, load;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::servers, "servers", "", "requests that are served at the same time")
              .within(1, 65536)
              .counted(),
          field(&Inputs::load, "load", "", "arrival rate times service time: mean number of busy servers")
              .positive());
    }
  };
  template <class T> struct Result {
    T wait_probability;
    static constexpr auto fields() {
      return rows(
          field(&Result::wait_probability, "wait_probability", "", "probability that an arrival waits"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    // 1e30 keeps the recursion finite for thousands of idle servers. The probability is then 1e-30.
    const auto step = [&](const T& inverse, const T& k) {
      return T(min(T(1.0 + (k + 1.0) / in.load * inverse), T(1e30)));
    };
    const T inverse = repeat<65536>(in.servers, T(1.0), step);
    const T idle = named("idle", 1.0 - min(T(in.load / in.servers), T(1.0)));
    return {.wait_probability = 1.0 / (1.0 + idle * (inverse - 1.0))};
  }
};

/// Mean wait in a queue with several equal servers, general arrivals and general service [s].
///
/// Exact for M/M/c (both cv 1) and for one server with Poisson arrivals (Pollaczek and Khinchine, M/D/1 at
/// service_cv 0). Ranges: utilization in [1e-9, 0.999999]. Above that a queue has no steady state.
/// @cite allencunneen1990, section 5.4; erlang1917
struct QueueWait {
  static constexpr LawInfo info{
      "QueueWait",
      "wait_mean = C service_time / (servers (1 - utilization)) (arrival_cv^2 + service_cv^2) / 2",
      "allencunneen1990", "section 5.4",
      "steady state; first come, first served; the two-moment interpolation of Allen and Cunneen"};
  template <class T> struct Inputs {
    T servers, utilization;
    Time<T> service_time;
    T arrival_cv{1.0}, service_cv{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::servers, "servers", "", "requests that are served at the same time")
              .within(1, 65536)
              .counted(),
          field(&Inputs::utilization, key::utilization).within(1e-9, 0.999999),
          field(&Inputs::service_time, "service_time", "ms", "mean time of one service").positive(),
          field(&Inputs::arrival_cv, "arrival_cv", "",
                "standard deviation over mean of the time between arrivals")
              .within(0, 100)
              .defaulted("Poisson arrivals"),
          field(&Inputs::service_cv, "service_cv", "", "standard deviation over mean of the service time")
              .within(0, 100)
              .defaulted("exponential service"));
    }
  };
  template <class T> struct Result {
    T wait_probability;
    Time<T> wait_mean, wait_given;
    T queue_length;
    static constexpr auto fields() {
      return rows(
          field(&Result::wait_probability, "wait_probability", "", "probability that an arrival waits"),
          field(&Result::wait_mean, "wait_mean", "ms", "mean wait of all arrivals"),
          field(&Result::wait_given, "wait_given", "ms", "mean wait of those who wait"),
          field(&Result::queue_length, "queue_length", "", "mean number of waiting requests"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T waits =
        apply<ErlangC, T>({.servers = in.servers, .load = in.utilization * in.servers}).wait_probability;
    const T variability =
        named("variability", (in.arrival_cv * in.arrival_cv + in.service_cv * in.service_cv) / 2.0);
    const auto given = in.service_time * (variability / (in.servers * (1.0 - in.utilization)));
    // Little's law: arrivals per service time are utilization servers.
    return {.wait_probability = waits,
            .wait_mean = given * waits,
            .wait_given = given,
            .queue_length = waits * variability * (1.0 / (1.0 / in.utilization - 1.0))};
  }
};

/// Wait that a given share of all arrivals does not exceed [s].
///
/// The waits of requests that wait are exponential. Exact for M/M/c. Ranges: wait_probability in (0, 1];
/// quantile in [0, 0.999999].
/// @cite gross2008queueing, section 3.3
struct WaitQuantile {
  static constexpr LawInfo info{"WaitQuantile",
                                "wait = wait_given max(0, log(wait_probability / (1 - quantile)))",
                                "gross2008queueing", "section 3.3", "exponential waits of those who wait"};
  template <class T> struct Inputs {
    T wait_probability;
    Time<T> wait_given;
    T quantile;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::wait_probability, "wait_probability", "", "probability that an arrival waits")
              .within(1e-300, 1),
          field(&Inputs::wait_given, "wait_given", "ms", "mean wait of those who wait").non_negative(),
          field(&Inputs::quantile, "quantile", "", "share of arrivals, 0.99 for P99").within(0, 0.999999));
    }
  };
  template <class T> struct Result {
    Time<T> wait;
    static constexpr auto fields() {
      return rows(field(&Result::wait, "wait", "ms", "wait at the quantile"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.wait = in.wait_given * max(T(log(in.wait_probability / (1.0 - in.quantile))), T(0.0))};
  }
};

namespace detail {
/// Probability that the sum of two independent exponential times of means `a` and `b` exceeds `t`; stable for
/// a = b.
template <class T> [[nodiscard]] T two_exponentials_exceed(const T& a, const T& b, const T& t) {
  const T slow = max(max(a, b), T(1e-12 * t)), fast = max(min(a, b), T(1e-12 * slow));
  const T gap = t / fast - t / slow;  // >= 0
  // (1 - exp(-gap)) / gap, by its series where the quotient loses its digits
  const T small = min(gap, T(1e-3)), safe = max(gap, T(1e-3));
  const T share = select(gap < 1e-3, T(1.0 - small * (0.5 - small * (1.0 / 6.0 - small / 24.0))),
                         T((1.0 - exp(-safe)) / safe));
  return min(T(exp(-(t / slow)) * (1.0 + t / slow * share)), T(1.0));
}
}  // namespace detail

/// Probability that wait and service together take longer than a given time [probability].
///
/// The wait is 0 with probability 1 - wait_probability and else exponential with mean wait_given. The service
/// has a fixed and an exponential part for service_cv <= 1, and is a balanced mixture of two exponentials
/// above. Wait and service are independent. Exact for M/M/c. Example: the queue of the opening exceeds 1 s
/// with probability 2.17 %. Ranges: times > 0; service_cv in [0, 100].
/// @cite gross2008queueing, section 3.3; whitt1983qna, eq. (36) for the mixture
struct ResponseTail {
  static constexpr LawInfo info{
      "ResponseTail", "exceed = P(wait + service > time)", "gross2008queueing", "section 3.3",
      "exponential waits of those who wait; service of two moments, independent of the wait"};
  template <class T> struct Inputs {
    Time<T> time;
    T wait_probability;
    Time<T> wait_given, service_time;
    T service_cv{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::time, key::time).positive(),
          field(&Inputs::wait_probability, "wait_probability", "", "probability that an arrival waits")
              .within(0, 1),
          field(&Inputs::wait_given, "wait_given", "ms", "mean wait of those who wait").positive(),
          field(&Inputs::service_time, "service_time", "ms", "mean time of one service").positive(),
          field(&Inputs::service_cv, "service_cv", "", "standard deviation over mean of the service time")
              .within(0, 100)
              .defaulted("exponential service"));
    }
  };
  template <class T> struct Result {
    T exceed;
    static constexpr auto fields() {
      return rows(field(&Result::exceed, "exceed", "", "probability that it takes longer"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T steady = min(in.service_cv, T(1.0)),
            wild = max(in.service_cv, T(1.0)) * max(in.service_cv, T(1.0));
    const T mean = in.service_time.base();
    const T rest = named("rest", max(T(in.time.base() - mean * (1.0 - steady)), T(0.0)));
    const T split = 0.5 * (1.0 + sqrt((wild - 1.0) / (wild + 1.0)));
    const T often = mean * steady / (2.0 * split), seldom = mean * steady / (2.0 * (1.0 - split));
    const T waits = in.wait_given.base();
    const auto part = [&](const T& m) {
      const T alone = exp(-(rest / max(m, T(1e-12 * mean))));
      const T after = detail::two_exponentials_exceed<T>(m, waits, rest);
      return T(alone + in.wait_probability * (after - alone));
    };
    const T both = named("both", split * part(often) + (1.0 - split) * part(seldom));
    return {.exceed = select(rest > 0.0, min(T(max(both, T(0.0))), T(1.0)), T(1.0))};
  }
};

}  // namespace mlsysim
