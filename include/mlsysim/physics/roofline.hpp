#pragma once
/// Roofline: time of work on a machine that computes at one rate and moves bytes at another.
///
///   time         = max(work / peak, traffic / bandwidth)                        [s]
///   rounded time = ((work / peak)^4 + (traffic / bandwidth)^4)^(1/4)            [s]
///   ridge point  = peak / bandwidth                                             [FLOP/B]
///   rate         = min(peak, bandwidth intensity)                               [FLOP/s]
///
/// work [FLOP]. traffic: bytes from and to memory [B]. intensity: work per byte [FLOP/B].
/// Limits: one memory level, no start-up time, full overlap (imperfect near the ridge in the rounded form).
/// Example: 137.4 GFLOP and 100.7 MB at 989 TFLOP/s and 3.35 TB/s: 138.9 us (memory 30.1). Rounded: 139.0.
/// Example: the ridge point of that machine is 989 / 3.35 = 295 FLOP/B.
/// @cite williams2009roofline, section "The Roofline Model"

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of a piece of work when arithmetic and memory traffic overlap fully [s].
///
/// Ranges: work, traffic >= 0; peak, bandwidth > 0. No work and no traffic cost exactly 0.
/// @cite williams2009roofline, section "The Roofline Model" (the time form of the attainable rate)
struct Roofline {
  static constexpr LawInfo info{"Roofline", "time = max(work / peak, traffic / bandwidth)",
                                "williams2009roofline", "section The Roofline Model",
                                "one memory level; arithmetic and transfers overlap fully"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(field(&Inputs::work, key::work), field(&Inputs::traffic, key::traffic),
                  field(&Inputs::peak, key::peak), field(&Inputs::bandwidth, key::bandwidth));
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time),
                  field(&Result::compute, "compute", "ms", "time that arithmetic alone needs"),
                  field(&Result::memory, "memory", "ms", "time that memory traffic alone needs"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto compute = named("compute", in.work / in.peak);
    const auto memory = named("memory", in.traffic / in.bandwidth);
    return {.time = max(compute, memory), .compute = compute, .memory = memory};
  }
};

/// Work per byte at which arithmetic and memory take equally long [FLOP/B].
///
/// Below it a kernel is memory-bound, above it compute-bound. Ranges: peak >= 0; bandwidth > 0.
/// @cite williams2009roofline, section "The Roofline Model" ("ridge point")
struct RidgePoint {
  static constexpr LawInfo info{"RidgePoint", "intensity = peak / bandwidth", "williams2009roofline",
                                "section The Roofline Model", "one memory level"};
  template <class T> struct Inputs {
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(field(&Inputs::peak, key::peak).non_negative(), field(&Inputs::bandwidth, key::bandwidth));
    }
  };
  template <class T> struct Result {
    Intensity<T> intensity;
    static constexpr auto fields() {
      return rows(field(&Result::intensity, "intensity", "FLOP/B", "work per byte at the ridge"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.intensity = in.peak / in.bandwidth};
  }
};

/// Arithmetic rate that work of a given intensity can reach [FLOP/s].
///
/// The line that is drawn as "the roof". Ranges: peak, bandwidth, intensity >= 0.
/// @cite williams2009roofline, eq. (1)
struct AttainableRate {
  static constexpr LawInfo info{"AttainableRate", "rate = min(peak, bandwidth * intensity)",
                                "williams2009roofline", "eq. (1)",
                                "one memory level; arithmetic and transfers overlap fully"};
  template <class T> struct Inputs {
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Intensity<T> intensity;
    static constexpr auto fields() {
      return rows(field(&Inputs::peak, key::peak).non_negative(),
                  field(&Inputs::bandwidth, key::bandwidth).non_negative(),
                  field(&Inputs::intensity, key::arithmetic_intensity).non_negative());
    }
  };
  template <class T> struct Result {
    ComputeRate<T> rate;
    static constexpr auto fields() {
      return rows(field(&Result::rate, "rate", "TFLOP/s", "attainable arithmetic rate"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.rate = min(in.peak, in.bandwidth * in.intensity)};
  }
};

/// Roofline with a rounded corner: near the ridge both sides slow each other down [s].
///
/// At most 2^(1/4) = 1.189 times the roofline, reached where both sides are equal, and within 1 % of it
/// once they differ by a factor of 2.3. The order 4 is fixed, so that two square roots replace a power.
/// Times between 1e-75 and 1e75 s. Ranges as for Roofline. The rounding is a convention of this library;
/// the roofs are Williams'.
/// @cite williams2009roofline, section "The Roofline Model"
struct SoftRoofline {
  static constexpr LawInfo info{"SoftRoofline", "time = ((work / peak)^4 + (traffic / bandwidth)^4)^(1/4)",
                                "williams2009roofline",
                                "section The Roofline Model, corner rounded with order 4",
                                "one memory level; overlap is imperfect near the ridge"};
  template <class T> using Inputs = Roofline::Inputs<T>;
  template <class T> using Result = Roofline::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto compute = named("compute", in.work / in.peak);
    const auto memory = named("memory", in.traffic / in.bandwidth);
    return {
        .time = sqrt(quadrature(compute * compute, memory * memory)), .compute = compute, .memory = memory};
  }
};

}  // namespace mlsysim
