#pragma once
/// Judges a stated throughput: impossible, heroic or ordinary.
///
///   bound = max over plans and n of n / (ITL(n) at peak rates * devices)
///   impossible: claimed > bound        heroic: percentile > 95        else ordinary
///
/// n: requests in flight that memory and a limit on ITL allow. bound: decode steps alone, without prompts and
/// launches [token/s per device]. percentile: rank of claimed / predicted among measured / predicted of
/// similar setups, in percent. Plans are powers of two for tp and ep, and 1, 2 or 4 for pp, unless the
/// scenario states a degree.
/// Example: "Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms", 2,048 tokens in, 256 out: bound 2,829 (memory
/// bandwidth), predicted 135, percentile 97.5: heroic.

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
  std::string lengths;    ///< of the requests, in words
};
[[nodiscard]] std::string_view name_of(ClaimVerdict::Kind kind);

/// Judges a claim by two searches over all plans and numbers of requests. Devices that fill no replica are
/// idle, and count.
/// @param scenario the model on the devices; its load is searched
/// @throws InputError for a scenario with a load, DomainError where no plan fits
[[nodiscard]] ClaimVerdict judge(const Claim& claim, const Scenario& scenario);

}  // namespace mlsysim
