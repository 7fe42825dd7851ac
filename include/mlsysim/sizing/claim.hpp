#pragma once
/// Whether a throughput that somebody states can be.

#include <mlsysim/sizing/size.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mlsysim {

/// "Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms"
struct Claim {
  std::string model, machine;           ///< as they are written: "8xH100"
  TokenRate<> rate;                     ///< generated tokens a second
  bool per_device = false;              ///< the rate is of one device
  std::optional<ServiceLimit> limit{};  ///< under which it holds

  /// @throws InputError saying which of model, machine and rate is missing, or which word is not understood
  [[nodiscard]] static Claim parse(std::string_view text);
};

/// The verdict on a claim, with the bound and the prediction behind it.
struct ClaimVerdict {
  enum class Kind { impossible, heroic, ordinary };
  Kind kind = Kind::ordinary;
  double devices = 1;     ///< of the machine
  TokenRate<> claimed;    ///< of one device
  TokenRate<> bound;      ///< of one device: no prompts, peak rates, no launches
  std::string bound_by;   ///< memory bandwidth, arithmetic, memory capacity; or why the bound is 0
  TokenRate<> predicted;  ///< of one device, in steady state, by the best plan
  std::string plan;       ///< that plan: "tp 4, 2 replicas, 96 in flight"
  double percentile = 0;  ///< of measured rates at this prediction, in percent
  std::string basis;      ///< rows that this rests on
};
[[nodiscard]] std::string_view name_of(ClaimVerdict::Kind kind);

/// Judges a claim by two searches over all plans of powers of two, or of the degrees that the scenario
/// states, and all numbers of requests. Devices that fill no replica are idle, and count.
///
/// Impossible: above the bound, in which each step reads its weights and caches once at the peak bandwidth,
/// multiplies at the peak rate, and no prompt is computed. Heroic: above 95 % of what measurements of such
/// predictions were.
/// @param scenario the model on the devices; its load is searched
/// @throws InputError for a scenario with a load, DomainError where no plan fits
[[nodiscard]] ClaimVerdict judge(const Claim& claim, const Scenario& scenario);

}  // namespace mlsysim
