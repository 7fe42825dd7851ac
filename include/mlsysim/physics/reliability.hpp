#pragma once
/// Failures of a job on many devices, and the share of time that checkpoints and restarts leave useful.
///
///   mtbf        = part_mtbf / parts                                                           [s]
///   probability = 1 - exp(-time / mtbf)
///   interval    = sqrt(2 checkpoint_time mtbf)                                                [s]
///   goodput     = interval exp(-restart_time / mtbf) / (mtbf (exp((interval + checkpoint_time) / mtbf) - 1))
///
/// part_mtbf: mean time between failures of one part. interval: work between two checkpoints.
/// restart_time: from a failure to useful work.
/// Limits: independent exponential failures, any of which stops the job. checkpoint_time is far below mtbf.
/// Example: 1000 parts of 50,000 h: mtbf 50 h, and 38.1 % probability of a failure in 24 h. With checkpoints
/// of 60 s and restarts of 10 min the interval is 77.5 min, and the goodput 97.1 %.
/// @cite young1974
/// @cite daly2006, failure model and complete cost function

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

namespace detail {
/// exp(x) - 1 without losing the digits of a small x: below 1e-5 the series to third order, exact to 1e-16.
template <class T> [[nodiscard]] constexpr T exp_minus_one(T x) {
  const T small = clamp(x, T(-1e-5), T(1e-5));  // keeps the unused series tight on a range
  const T series = small * (1.0 + small * (0.5 + small / 6.0));
  return select(abs(x) < 1e-5, series, T(exp(x) - 1.0));
}
}  // namespace detail

/// Mean time between failures of a set of equal parts [s].
///
/// Ranges: part_mtbf > 0; parts >= 1.
/// @cite daly2006
struct ClusterMtbf {
  static constexpr LawInfo info{"ClusterMtbf", "mtbf = part_mtbf / parts", "daly2006", "failure model",
                                "independent exponential failures; any one stops the job"};
  template <class T> struct Inputs {
    Time<T> part_mtbf;
    T parts;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::part_mtbf, "part_mtbf", "h", "mean time between failures of one part").positive(),
          field(&Inputs::parts, "parts", "", "parts that must all work").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    Time<T> mtbf;
    static constexpr auto fields() {
      return rows(field(&Result::mtbf, "mtbf", "h", "mean time between failures of the whole"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.mtbf = in.part_mtbf / in.parts};
  }
};

/// Failures to expect in a period, and the probability of at least one [count, probability].
///
/// expected = time / mtbf. Ranges: time >= 0; mtbf > 0.
/// @cite daly2006
struct FailureProbability {
  static constexpr LawInfo info{"FailureProbability", "probability = 1 - exp(-time / mtbf)", "daly2006",
                                "failure model", "exponential failures"};
  template <class T> struct Inputs {
    Time<T> time, mtbf;
    static constexpr auto fields() {
      return rows(field(&Inputs::time, "time", "h", "period").non_negative(),
                  field(&Inputs::mtbf, "mtbf", "h", "mean time between failures of the whole").positive());
    }
  };
  template <class T> struct Result {
    T expected, probability;
    static constexpr auto fields() {
      return rows(field(&Result::expected, "expected", "", "failures in the period"),
                  field(&Result::probability, "probability", "", "probability of at least one failure"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T expected = in.time / in.mtbf;
    return {.expected = expected, .probability = -detail::exp_minus_one<T>(-expected)};
  }
};

/// Interval between checkpoints that loses least, to first order [s].
///
/// A checkpoint_time beyond mtbf / 2 leaves no useful interval. Ranges: checkpoint_time >= 0; mtbf > 0.
/// @cite young1974
struct YoungInterval {
  static constexpr LawInfo info{"YoungInterval", "interval = sqrt(2 checkpoint_time mtbf)", "young1974",
                                "first-order optimum", "checkpoint time far below the time between failures"};
  template <class T> struct Inputs {
    Time<T> checkpoint_time, mtbf;
    static constexpr auto fields() {
      return rows(field(&Inputs::checkpoint_time, "checkpoint_time", "s", "time to write one checkpoint")
                      .non_negative(),
                  field(&Inputs::mtbf, "mtbf", "h", "mean time between failures of the whole").positive());
    }
  };
  template <class T> struct Result {
    Time<T> interval;
    static constexpr auto fields() {
      return rows(field(&Result::interval, "interval", "s", "work between two checkpoints"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.interval = sqrt(2.0 * in.checkpoint_time * in.mtbf)};
  }
};

/// Useful share of the elapsed time of a job that writes checkpoints and restarts after failures [share].
///
/// The exact mean for exponential failures, which may strike during checkpoints and restarts too. To first
/// order the loss is checkpoint_time / interval + interval / (2 mtbf) + restart_time / mtbf. The middle
/// term is the work lost. Ranges: interval > 0; checkpoint_time, restart_time >= 0; mtbf > 0. A segment
/// above 500 mtbf is taken as 500, which keeps the exponential finite: the goodput is below 1e-200 there.
/// @cite daly2006, complete cost function
struct CheckpointGoodput {
  static constexpr LawInfo info{"CheckpointGoodput",
                                "goodput = (interval / mtbf) exp(-restart_time / mtbf) / (exp((interval + "
                                "checkpoint_time) / mtbf) - 1)",
                                "daly2006", "complete cost function",
                                "exponential failures; no spare capacity model"};
  template <class T> struct Inputs {
    Time<T> interval, checkpoint_time, restart_time, mtbf;
    static constexpr auto fields() {
      return rows(field(&Inputs::interval, "interval", "s", "work between two checkpoints").positive(),
                  field(&Inputs::checkpoint_time, "checkpoint_time", "s", "time to write one checkpoint")
                      .non_negative(),
                  field(&Inputs::restart_time, "restart_time", "s", "time from a failure to useful work")
                      .non_negative(),
                  field(&Inputs::mtbf, "mtbf", "h", "mean time between failures of the whole").positive());
    }
  };
  template <class T> struct Result {
    T goodput;
    static constexpr auto fields() {
      return rows(field(&Result::goodput, "goodput", "", "useful share of the elapsed time"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T work = in.interval / in.mtbf;
    const T segment = named("segment", min(T((in.interval + in.checkpoint_time) / in.mtbf), T(500.0)));
    const T cycle = detail::exp_minus_one<T>(segment);
    return {.goodput = work * exp(-(in.restart_time / in.mtbf)) / cycle};
  }
};

}  // namespace mlsysim
