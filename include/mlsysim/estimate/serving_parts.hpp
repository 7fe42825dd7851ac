#pragma once
/// Parts of a served model's problem: draft model, prefill workers, draft acceptance and prompt launches.
///
/// Degrees of 0 in a PromptPool are those of the decode replicas.
///
/// Example: `PromptPool{.workers = 2, .tp = 4}` beside replicas with pp = ep = 1 has 2 x 4 = 8 devices.

#include <mlsysim/estimate/cache_rule.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <cstdint>

namespace mlsysim {

/// How many of the proposed tokens are kept: each with the same probability, with one that falls from token
/// to token, or as it was measured.
enum class Acceptance : std::uint8_t { independent, decaying, measured };

/// How the kernels of a prompt reach the device: replayed from a graph, launched one by one in the time of
/// the device, or in that of the engine.
enum class PromptLaunch : std::uint8_t { graph, device, engine };

/// A small model that proposes tokens for a larger one.
template <class T = double> struct DraftModel {
  ModelView<T> model;
  T tp{1.0};                     ///< devices that share each of its layers
  DataPerParam<T> weight_bytes;  ///< as its weights are stored

  static constexpr auto fields() {
    using D = DraftModel;
    return rows(field(&D::model, "", "", ""),
                field(&D::tp, "tp", "", "devices that share each layer of the draft model").at_least(1),
                field(&D::weight_bytes, "weight_bytes", "B/param", "storage of one weight").non_negative());
  }
};

/// Workers that only process prompts, beside the replicas that generate tokens. Degrees of 0 are those of the
/// replicas.
template <class T = double> struct PromptPool {
  T workers{1.0}, tp{0.0}, ep{0.0};
  T decode_replicas{1.0};
  bool apart = false;    ///< there is such a pool
  bool counted = false;  ///< the replicas are counted; else they are what the workers leave of the devices
  bool all = false;      ///< the devices are those of both pools, no more

  static constexpr auto fields() {
    using P = PromptPool;
    return rows(field(&P::workers, "prefill_replicas", "", "workers that only process prompts")
                    .within(1, 65536)
                    .counted(),
                field(&P::tp, "prefill_tp_size", "", ""), field(&P::ep, "prefill_ep_size", "", ""),
                field(&P::decode_replicas, "decode_replicas", "", "replicas that generate tokens")
                    .at_least(1)
                    .counted());
  }
  static constexpr auto categories() {
    using P = PromptPool;
    return rows(category(&P::apart, "apart", "prompts have workers of their own"),
                category(&P::counted, "counted", "the replicas that generate tokens are counted"),
                category(&P::all, "all", "the devices are those of both pools"));
  }
};

}  // namespace mlsysim
