#pragma once
/// Utilization: useful or executed arithmetic over what the devices could have done.

#include <mlsysim/reflect/law.hpp>

namespace mlsysim {

/// Share of the devices' peak that the model's own arithmetic used [share].
///
/// mfu = work / (devices peak time). work is what the model needs, recomputation excluded, so that a wasteful
/// implementation cannot look good. Ranges: work >= 0; devices >= 1; peak, time > 0. Not limited to 1: a
/// larger value shows that work, peak or time is wrong (sparse peak, wrong precision).
/// @cite chowdhery2022palm, appendix B
struct ModelFlopsUtilisation {
  static constexpr LawInfo info{"ModelFlopsUtilisation", "mfu = work / (devices peak time)",
                                "chowdhery2022palm", "appendix B",
                                "peak of the precision that is used, without sparsity"};
  template <class T> struct Inputs {
    Work<T> work;
    T devices;
    ComputeRate<T> peak;
    Time<T> time;
    static constexpr auto fields() {
      return rows(field(&Inputs::work, key::work),
                  field(&Inputs::devices, key::devices).at_least(1).counted(),
                  field(&Inputs::peak, key::peak), field(&Inputs::time, key::time).positive());
    }
  };
  template <class T> struct Result {
    T mfu;
    static constexpr auto fields() { return rows(field(&Result::mfu, key::mfu)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.mfu = in.work / (in.devices * in.peak * in.time)};
  }
};

/// Share of the devices' peak that all executed arithmetic used [share].
///
/// hfu = (work + recomputed) / (devices peak time): at least the model utilization, equal without
/// recomputation. Ranges as for ModelFlopsUtilization; recomputed >= 0.
/// @cite korthikanti2022recomputation, section 6.3; @cite chowdhery2022palm, appendix B
struct HardwareFlopsUtilisation {
  static constexpr LawInfo info{"HardwareFlopsUtilisation", "hfu = (work + recomputed) / (devices peak time)",
                                "korthikanti2022recomputation", "section 6.3",
                                "peak of the precision that is used, without sparsity"};
  template <class T> struct Inputs {
    Work<T> work, recomputed;
    T devices;
    ComputeRate<T> peak;
    Time<T> time;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, key::work),
          field(&Inputs::recomputed, "recomputed", "GFLOP", "arithmetic done a second time").non_negative(),
          field(&Inputs::devices, key::devices).at_least(1).counted(), field(&Inputs::peak, key::peak),
          field(&Inputs::time, key::time).positive());
    }
  };
  template <class T> struct Result {
    T hfu;
    static constexpr auto fields() { return rows(field(&Result::hfu, key::hfu)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.hfu = (in.work + in.recomputed) / (in.devices * in.peak * in.time)};
  }
};

}  // namespace mlsysim
