#pragma once
/// How requests reach a served model, and the host time that the engine of a replica adds to each pass.
///
///     host = host_step + host_request requests
///     pass = device + host                       host work before the pass
///     pass = sqrt(device^2 + host^2)             host work beside the device (asynchronous scheduling)
///
/// requests: requests of a rank in the pass. device: time of the pass on the device [s].
///
/// Example: 10 ms on the device, 1 ms + 16 x 50 us of host work: 11.8 ms in turn, 10.16 ms beside.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/scalars/scalars.hpp>

#include <cstdint>

namespace mlsysim {

/// The load that a served model is asked about.
///
/// `concurrency`: so many requests are in flight, a new one for each that ends (a closed loop). `rate`:
/// requests arrive by themselves (Poisson). `burst`: so many arrive at once and run to their ends together, a
/// static batch; the last prompt in line makes the time to the first token.
enum class Load : std::uint8_t { concurrency, rate, burst };
template <> inline constexpr auto names_of<Load> = ChoiceNames{"load"};

/// Times that the software of a replica adds to its passes.
template <class T = double> struct EngineTimes {
  Time<T> host_step, host_request;  ///< host time of a pass, and of each request in it
  Time<T> sampling;                 ///< part of host_request in which the device samples
  Time<T> request_time;             ///< outside the engine
  T lookahead{0.0};                 ///< passes by which a first token is seen late
  bool beside = false;              ///< host work runs beside the device
  bool mixed = true;                ///< prompts and steps share passes
  bool reserves_whole = false;      ///< a request holds the pages of its last token from the start

  static constexpr auto fields() {
    using E = EngineTimes;
    return rows(
        field(&E::host_step, "host_step", "ms", "host time of one pass").non_negative(),
        field(&E::host_request, "host_request", "us", "host time of each request in a pass").non_negative(),
        field(&E::sampling, "sampling", "us", "part of host_request in which the device samples")
            .non_negative(),
        field(&E::request_time, "request_time", "ms", "time of a request outside the engine").non_negative(),
        field(&E::lookahead, "lookahead", "", "passes by which a first token is seen late").non_negative());
  }
  static constexpr auto categories() {
    using E = EngineTimes;
    return rows(category(&E::beside, "beside", "passes are prepared while another runs"),
                category(&E::mixed, "mixed", "prompts and steps share a pass"),
                category(&E::reserves_whole, "reserves_whole",
                         "a request holds the pages of its last token from the start"));
  }
};

/// Host time of a pass over `requests`.
template <class T> [[nodiscard]] Time<T> host_time(const EngineTimes<T>& e, const T& requests) {
  return e.host_step + e.host_request * requests;
}
/// A pass that takes this long on the device: the host works before it, or beside it (soft maximum).
template <class T>
[[nodiscard]] Time<T> with_host(const EngineTimes<T>& e, const Time<T>& device, const T& requests) {
  const Time<T> host = host_time(e, requests);
  return e.beside ? quadrature(device, host) : device + host;
}

}  // namespace mlsysim
