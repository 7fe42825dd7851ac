#pragma once
/// Time in which a device would draw its full power for the work and traffic of its kernels [s].
///
///   loaded = work_draw work / peak + traffic_draw traffic / bandwidth + resident_draw resident
///
/// work [FLOP]. traffic [B]. resident: time in kernels [s].
/// *_draw: dynamic power over that at full load (1): at peak, at full bandwidth, or of a resident kernel.
/// Limits: mean energy per operation and byte. An operation of half the width costs half as much. The caller
/// limits `loaded` to the time of the step, because the regulator holds the mean at the cap.
/// Example: 1 TFLOP at 1000 TFLOP/s, 10 GB at 3.35 TB/s, 4 ms resident, draws 2.0, 0.18, 0.54 (defaults):
/// 2.0 + 0.537 + 2.16 = 4.70 ms.
/// @cite measured-h100, board power of products, attention, streams and decode steps on an H100
/// @cite horowitz2014energy on the form

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Load of a device as time at full power [s].
///
/// A resident kernel draws resident_draw for its schedulers, registers and waiting warps, whatever it
/// computes or moves and however many units it fills. The regulator averages over some ten milliseconds and
/// lowers the clock at the cap. Ranges: work, traffic, resident, draws >= 0; peak, bandwidth > 0.
/// @cite measured-h100, board power of products, attention, streams and decode steps on an H100;
/// ml-energy-leaderboard, of devices that serve dense models; aiconfigurator-kernels-b200, of products and
/// attention on a B200; horowitz2014energy on the form
struct OperatorLoad {
  static constexpr LawInfo info{"OperatorLoad",
                                "loaded = work_draw work / peak + traffic_draw traffic / bandwidth + "
                                "resident_draw resident",
                                "measured-h100", "board power of kernels and decode steps",
                                "average energy per operation, per byte and per second of a kernel"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    T work_draw{2.0}, traffic_draw{0.18};
    Time<T> resident{};
    T resident_draw{0.54};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, key::work).non_negative(),
          field(&Inputs::traffic, key::traffic).non_negative(), field(&Inputs::peak, key::peak),
          field(&Inputs::bandwidth, key::bandwidth).positive(),
          field(&Inputs::work_draw, "work_draw", "", "dynamic power of the full arithmetic rate")
              .non_negative()
              .defaulted("fit to an H100; 0.6 to 3"),
          field(&Inputs::traffic_draw, "traffic_draw", "", "dynamic power of the full bandwidth")
              .non_negative()
              .defaulted("3.92 pJ/bit of HBM (oconnor2017fgdram) on an H100"),
          field(&Inputs::resident, "resident", "ms", "time in kernels").non_negative().defaulted("none"),
          field(&Inputs::resident_draw, "resident_draw", "", "dynamic power of a kernel that is resident")
              .non_negative()
              .defaulted("fit to an H100; 0.5 to 0.7"));
    }
  };
  template <class T> struct Result {
    Time<T> loaded;
    static constexpr auto fields() {
      return rows(field(&Result::loaded, "loaded", "ms", "time at full power that draws as much"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.loaded = in.work / in.peak * in.work_draw + in.traffic / in.bandwidth * in.traffic_draw +
                      in.resident * in.resident_draw};
  }
};

}  // namespace mlsysim
