#pragma once
/// Clock and time of a forward pass under a cap on power or on the clock.
///
///   budget  = (power_cap / tdp - idle_fraction) / (1 - idle_fraction)
///   moved   = memory_share min(traffic_load, time(1))
///   worked  = min(work_load + traffic_load, time(1)) - moved
///   time(f) = clocked / f + fixed,  load(f) = worked max(f, knee)^2 + moved
///   clock   = largest f <= clock_limit with load(f) <= budget time(f), but at least knee
///   slowed  = time(clock), or load(clock) / budget where the knee is too much
///
/// f, clock, knee: over the clock that full power sustains. clocked, fixed: time that follows the clock or
/// not [s]. *_load: time at full power that draws as much [s]. moved: load that ignores the clock.
/// Limits: voltage follows the clock above the knee and stays below it. A cap at the TDP changes nothing.
/// Example: clocked 8, fixed 2, work_load 8, traffic_load 2 ms, 500 of 700 W, defaults (idle_fraction 0.3,
/// memory_share 0.3, knee 0.6): clock 0.822, slowed 11.7 ms.
/// @cite horowitz2014energy, on voltage and frequency

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Clock, time and load of a device whose mean power over a pass may not exceed a cap.
///
/// Dynamic power is proportional to the clock and the square of the voltage. The voltage is proportional to
/// the clock, so an operation costs f^2. Below the knee a lower clock only takes longer. The memory's share
/// of a byte's energy does not depend on the clock, the chip's share does. clock is the one positive root
/// of a cubic, found by Newton's method from above without overshooting. Seven steps leave less than 1e-12
/// down to a knee of 0.4. Ranges: times, loads >= 0; tdp > 0; power_cap > idle_fraction tdp; memory_share
/// in [0, 1]; clock_limit in (0, 1]; knee in [0.4, 1].
/// @cite horowitz2014energy, on voltage and frequency; oconnor2017fgdram, 3.92 pJ/bit of HBM2, of the 95
/// pJ/B that a B200 draws; mlsysim-conventions on the knee
struct CappedClock {
  static constexpr LawInfo info{
      "CappedClock",
      "worked clock^3 + (moved - budget fixed) clock = budget clocked; "
      "slowed = max(clocked / clock + fixed, load / budget)",
      "horowitz2014energy", "on voltage and frequency",
      "voltage in proportion to the clock above a knee; the regulator holds the mean of a pass"};
  template <class T> struct Inputs {
    Time<T> clocked, fixed, work_load, traffic_load;
    Power<T> tdp, power_cap;
    T clock_limit{1.0}, idle_fraction{0.3}, memory_share{0.3}, knee{0.6};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::clocked, "clocked", "ms", "time that goes with the clock").non_negative(),
          field(&Inputs::fixed, "fixed", "ms", "time that does not").non_negative(),
          field(&Inputs::work_load, "work_load", "ms", "time at full power that the arithmetic draws")
              .non_negative(),
          field(&Inputs::traffic_load, "traffic_load", "ms", "time at full power that the traffic draws")
              .non_negative(),
          field(&Inputs::tdp, "tdp", "W", "power at full load").positive(),
          field(&Inputs::power_cap, "power_cap", "W", "most that may be drawn").positive(),
          field(&Inputs::clock_limit, "clock_limit", "", "highest clock over that at full power")
              .within(0.05, 1)
              .defaulted("as fast as the power allows"),
          field(&Inputs::idle_fraction, "idle_fraction", "", "share of the full power drawn when idle")
              .within(0, 0.99)
              .defaulted("convention of MLSys-im"),
          field(&Inputs::memory_share, "memory_share", "",
                "share of a byte's energy that memory itself takes")
              .within(0, 1)
              .defaulted("3.92 pJ/bit (oconnor2017fgdram) of the 95 pJ/B of a B200; 0.2 to 1"),
          field(&Inputs::knee, "knee", "", "clock below which the voltage stays, over that at full power")
              .within(0.4, 1)
              .defaulted("convention of MLSys-im; 0.4 to 0.75"));
    }
  };
  template <class T> struct Result {
    T clock{1.0};
    Time<T> slowed, load;
    static constexpr auto fields() {
      return rows(field(&Result::clock, "clock", "", "mean clock over that at full power"),
                  field(&Result::slowed, "slowed", "ms", "time under the cap"),
                  field(&Result::load, "load", "ms", "time at full power that draws as much"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T one{1.0};
    const T budget =
        clamp(T((in.power_cap / in.tdp - in.idle_fraction) / (1.0 - in.idle_fraction)), T{1e-3}, one);
    const Time<T> usual = in.clocked + in.fixed;
    const Time<T> moved = in.memory_share * min(in.traffic_load, usual);
    const Time<T> worked = min(Time<T>(in.work_load + in.traffic_load), usual) - moved;
    const auto load = [&](const T& clock) -> Time<T> {
      const T voltage = max(clock, in.knee);
      return worked * (voltage * voltage) + moved;
    };
    const auto longer = [&](const T& clock) -> Time<T> { return in.clocked / clock + in.fixed; };
    const T& most = in.clock_limit;
    const T floor = min(in.knee, most);
    const Time<T> whole = max(longer(most), Time<T>::from_base(T{1e-30}));  // a pass of nothing
    const T wanted = load(most) / whole, drawn = min(budget, wanted);
    T clock = most;
    for (int i = 0; i < 7; ++i) {
      const Time<T> over =
          worked * (clock * clock * clock) + (moved - drawn * in.fixed) * clock - drawn * in.clocked;
      const Time<T> slope = 3.0 * worked * (clock * clock) + moved - drawn * in.fixed;
      clock = clamp(T(clock - over / max(slope, Time<T>(whole * 1e-12))), floor, most);
    }
    clock = named("clock", select(budget < wanted, clock, most));
    const Time<T> drawing = named("load", load(clock));
    const Time<T> running = longer(clock), waiting = max(running, Time<T>(drawing / budget));
    return {.clock = clock, .slowed = select(floor < clock, running, waiting), .load = drawing};
  }
};

}  // namespace mlsysim
