#pragma once
/// Model and hardware FLOP utilization: arithmetic done over the peak of all devices in that time.
///
///   mfu = work / (devices peak time)
///   hfu = (work + recomputed) / (devices peak time)
///
/// work: arithmetic that the model needs [FLOP]. recomputed: arithmetic done a second time [FLOP].
/// peak: dense rate of the precision in use, per device [FLOP/s]. time [s].
/// Limits: not limited to 1. A larger value shows that work, peak or time is wrong.
/// Example: 100 PFLOP in 30 s on 8 devices of 989 TFLOP/s: MFU 42.1 %. With 33 PFLOP recomputed: HFU 56.0 %.
/// @cite chowdhery2022palm, appendix B
/// @cite korthikanti2022recomputation, section 6.3

#include <mlsysim/reflect/law.hpp>

namespace mlsysim {

/// Share of the devices' peak that the model's own arithmetic used [share].
///
/// work excludes recomputation, so that a wasteful implementation cannot look good. A value above 1 often
/// means a sparse peak or the wrong precision. Ranges: work >= 0; devices >= 1; peak, time > 0.
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
/// At least the model utilization, equal without recomputation. Ranges as for ModelFlopsUtilisation;
/// recomputed >= 0.
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
