#pragma once
/// How much of its power a device draws while its kernels run.

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time in which a device would draw its full power for what its kernels compute and move [s].
///
///     loaded = work_draw work / peak + traffic_draw traffic / bandwidth + streaming_draw streaming
/// Traffic is counted by its bytes, or by the time in which kernels stream: a kernel that streams draws the
/// same power whatever share of the bandwidth it reaches. Arithmetic and traffic draw power beside each
/// other. The regulator holds the mean of some ten milliseconds at the cap by lowering the clock, so a caller
/// takes no more of this than the time of a step. work_draw is the dynamic power of the full arithmetic rate
/// over what lies between idle and full power: 3 means that a third of the peak reaches the cap. An operation
/// of half the width costs half as much, as the peaks say. With an idle share of 0.3 an H100 draws 1.5
/// pJ/FLOP in bf16 and 110 pJ/B of HBM, operand delivery and caches included. PyTorch on an H100 draws 119 W
/// idle, 1.05 pJ/FLOP and 410 W beside it while it streams: an addition of 1.6 GB arrays 128 pJ/B at 3.04
/// TB/s, a norm 214 pJ/B at 1.96. Ranges: work, traffic, draws >= 0; peak, bandwidth > 0.
/// @cite ml-energy-leaderboard, board power of H100s that serve ten dense models, fitted with each model left
/// out (power 7.7 % off in the median); horowitz2014energy on the form
struct OperatorLoad {
  static constexpr LawInfo info{"OperatorLoad",
                                "loaded = work_draw work / peak + traffic_draw traffic / bandwidth + "
                                "streaming_draw streaming",
                                "ml-energy-leaderboard", "board power and throughput of dense models",
                                "average energy per operation and per byte"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    T work_draw{3.0}, traffic_draw{0.75};
    Time<T> streaming{};
    T streaming_draw{0.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, key::work).non_negative(),
          field(&Inputs::traffic, key::traffic).non_negative(), field(&Inputs::peak, key::peak),
          field(&Inputs::bandwidth, key::bandwidth).positive(),
          field(&Inputs::work_draw, "work_draw", "", "dynamic power of the full arithmetic rate")
              .non_negative()
              .defaulted("fit to H100s that serve ten dense models; 2.8 to 3.3"),
          field(&Inputs::traffic_draw, "traffic_draw", "", "dynamic power of the full bandwidth")
              .non_negative()
              .defaulted("fit to H100s that serve ten dense models; 0.73 to 0.77"),
          field(&Inputs::streaming, "streaming", "ms", "time in which kernels stream")
              .non_negative()
              .defaulted("none"),
          field(&Inputs::streaming_draw, "streaming_draw", "", "dynamic power of a kernel that streams")
              .non_negative()
              .defaulted("none"));
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
                      in.streaming * in.streaming_draw};
  }
};

}  // namespace mlsysim
