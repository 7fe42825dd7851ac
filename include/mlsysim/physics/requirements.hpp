#pragma once
/// Device rates that a latency target needs, tokens that hide a gradient exchange, and privacy of DP-SGD.
///
///   required_flops = work / (time efficiency),  required_bw = traffic / (time memory_share)
///   compute        = 6 params tokens / (peak efficiency)                                        [s]
///   network        = 2 (devices - 1) / devices params element_bytes / bandwidth                 [s]
///   mu             = sampling_rate sqrt(steps (exp(1 / noise_multiplier^2) - 1))
///
/// efficiency, memory_share: sustained shares of peak and bandwidth. tokens: of one device and step.
/// mu: parameter of Gaussian differential privacy, larger is less private.
/// Limits: full overlap, one network level, no start-up time. Many steps and a small sampling rate for mu.
/// Example: 1 TFLOP and 16 GB in 10 ms at shares 0.5 and 0.8: 200 TFLOP/s and 2 TB/s.
/// Example: 7 billion params, 8000 tokens, 64 devices of 1000 TFLOP/s at 0.4, 2 B, 50 GB/s: 840 and 551 ms.
/// @cite williams2009roofline, section 3
/// @cite patarasuk2009allreduce, section 3
/// @cite bu2020gdp, section 3.2

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Rates that do a given work and move given bytes in a given time [FLOP/s, B/s].
///
/// The roofline, solved for its two rates. balance is their ratio, the ridge point of the smallest machine.
/// Ranges: amounts > 0; time > 0; shares in (0, 1].
/// @cite williams2009roofline, section 3
struct RequiredRates {
  static constexpr LawInfo info{
      "RequiredRates",
      "required_flops = work / (time efficiency); required_bw = traffic / (time memory_share)",
      "williams2009roofline", "section 3", "arithmetic and traffic overlap fully"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> traffic;
    Time<T> time;
    T efficiency, memory_share{1.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::work, key::work).positive(),
                  field(&Inputs::traffic, key::traffic).positive(),
                  field(&Inputs::time, "time", "ms", "time that is left for them").positive(),
                  field(&Inputs::efficiency, key::efficiency),
                  field(&Inputs::memory_share, "memory_share", "", "sustained share of the memory bandwidth")
                      .within(1e-3, 1)
                      .defaulted("data-sheet bandwidth"));
    }
  };
  template <class T> struct Result {
    ComputeRate<T> required_flops;
    Bandwidth<T> required_bw;
    Intensity<T> balance;
    static constexpr auto fields() {
      return rows(
          field(&Result::required_flops, "required_flops", "TFLOP/s", "peak arithmetic rate that is needed"),
          field(&Result::required_bw, "required_bw", "GB/s", "memory bandwidth that is needed"),
          field(&Result::balance, "balance", "FLOP/B", "their ratio"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.required_flops = in.work / (in.time * in.efficiency),
            .required_bw = in.traffic / (in.time * in.memory_share),
            .balance = in.work / in.traffic * (in.memory_share / in.efficiency)};
  }
};

/// Compute and gradient exchange of one data-parallel step, and the tokens at which they take equally long
/// [s, tokens].
///
/// ridge_tokens, the tokens per device at which both are equal, does not depend on the size of the model.
/// Example: 5250 tokens for the devices of the opening. Ranges: amounts > 0; devices >= 1; efficiency in
/// (0, 1].
/// @cite patarasuk2009allreduce (volume of the exchange); williams2009roofline
struct DataParallelRoofline {
  static constexpr LawInfo info{"DataParallelRoofline",
                                "time = max(6 params tokens / (peak efficiency), 2 (devices - 1) / devices "
                                "params element_bytes / bandwidth)",
                                "patarasuk2009allreduce", "section 3",
                                "full overlap, one level of network, no start-up time"};
  template <class T> struct Inputs {
    Params<T> params;
    Tokens<T> tokens;
    Data<T> element_bytes;
    T devices;
    ComputeRate<T> peak;
    T efficiency;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::params, key::params).positive(),
          field(&Inputs::tokens, "tokens", "ktoken", "tokens of one device and step").positive(),
          field(&Inputs::element_bytes, "element_bytes", "B", "storage of one gradient").positive(),
          field(&Inputs::devices, key::devices).at_least(1).counted(), field(&Inputs::peak, key::peak),
          field(&Inputs::efficiency, key::efficiency),
          field(&Inputs::bandwidth, "bandwidth", "GB/s", "network of one device, one way").positive());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, network;
    Tokens<T> ridge_tokens;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "ms", "the longer of the two"),
                  field(&Result::compute, "compute", "ms", "forward and backward pass"),
                  field(&Result::network, "network", "ms", "gradient exchange"),
                  field(&Result::ridge_tokens, "ridge_tokens", "ktoken",
                        "tokens per device at which both take as long"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    constexpr auto per_pair = 6.0 * unit::FLOP / unit::param / unit::token;
    const auto rate = named("rate", in.peak * in.efficiency);
    const T passes = 2.0 - 2.0 / in.devices;
    const auto exchanged = in.element_bytes * passes / (1.0 * unit::param);
    const auto compute = in.params * in.tokens * per_pair / rate;
    const auto network = in.params * exchanged / in.bandwidth;
    return {.time = max(compute, network),
            .compute = compute,
            .network = network,
            .ridge_tokens = exchanged * rate / (in.bandwidth * per_pair)};
  }
};

/// Privacy of many noisy steps, as the separation of two unit Gaussians [dimensionless].
///
/// The central limit theorem of Gaussian differential privacy for DP-SGD with Poisson sampling. delta
/// follows from epsilon by delta = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2). Example:
/// rate 0.01, 10,000 steps, noise 1: mu 1.31. Ranges: sampling_rate in [0, 1]; steps >= 1; noise_multiplier
/// in [0.2, 1000].
/// @cite bu2020gdp, section 3.2; dong2022gdp, corollary 2.13 (delta)
struct GaussianPrivacy {
  static constexpr LawInfo info{
      "GaussianPrivacy", "mu = sampling_rate sqrt(steps (exp(1 / noise_multiplier^2) - 1))", "bu2020gdp",
      "section 3.2", "many steps, small sampling rate, Poisson sampling"};
  template <class T> struct Inputs {
    T sampling_rate, steps, noise_multiplier;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::sampling_rate, "sampling_rate", "", "share of the data in one batch").within(0, 1),
          field(&Inputs::steps, "steps", "", "optimizer steps").at_least(1).counted(),
          field(&Inputs::noise_multiplier, "noise_multiplier", "",
                "standard deviation of the noise over the clipping norm")
              .within(0.2, 1000));
    }
  };
  template <class T> struct Result {
    T mu;
    static constexpr auto fields() {
      return rows(field(&Result::mu, "mu", "", "privacy parameter: larger is less private"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T spread = exp(1.0 / (in.noise_multiplier * in.noise_multiplier)) - 1.0;
    return {.mu = in.sampling_rate * sqrt(in.steps * spread)};
  }
};

}  // namespace mlsysim
