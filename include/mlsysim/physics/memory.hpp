#pragma once
/// Training state on one device: weights, gradients and optimizer state under ZeRO sharding [B].
///
///   total = params (weight_bytes / w + gradient_bytes / g + optimizer_bytes / o)
///
/// w = dp_size for ZeRO stage 3, g for stages 2 and 3, o for stages 1 to 3, else 1. params: of one device,
/// after tensor, pipeline and expert parallelism. *_bytes [B/param].
/// Limits: even shards, the gather buffers of stage 3 are not counted, activations neither.
/// Example: 7 billion parameters in mixed precision with Adam (2 + 2 + 12 B): 112 GB.
/// Example: the 7 billion parameters with ZeRO stage 1 over 8 replicas: 7e9 (2 + 2 + 12 / 8) = 38.5 GB.
/// @cite rajbhandari2020zero, sections 3.1 and 5, figure 1

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Bytes of weights, gradients and optimizer states on each device under ZeRO sharding [B].
///
/// Stage 1 divides the optimizer states over dp_size replicas, stage 2 the gradients too, stage 3 the weights
/// too. Ranges: params and bytes >= 0; dp_size >= 1; zero_stage 0, 1, 2 or 3.
/// @cite rajbhandari2020zero, section 5 and figure 1
struct TrainingStateBytes {
  static constexpr LawInfo info{"TrainingStateBytes",
                                "total = params (weight_bytes / dp if stage 3 + gradient_bytes / dp if stage "
                                ">= 2 + optimizer_bytes / dp if stage >= 1)",
                                "rajbhandari2020zero", "section 5, figure 1",
                                "even shards; gather buffers not counted"};
  template <class T> struct Inputs {
    Params<T> params;
    DataPerParam<T> weight_bytes, gradient_bytes, optimizer_bytes;
    T dp_size{1.0}, zero_stage{0.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::params, key::params),
          field(&Inputs::weight_bytes, "weight_bytes", "B/param", "storage of the weights used in arithmetic")
              .non_negative(),
          field(&Inputs::gradient_bytes, "gradient_bytes", "B/param", "storage of the gradients")
              .non_negative(),
          field(&Inputs::optimizer_bytes, "optimizer_bytes", "B/param", "master weights and moments")
              .non_negative(),
          field(&Inputs::dp_size, key::dp_size).defaulted("one replica"),
          field(&Inputs::zero_stage, key::zero_stage).defaulted("no sharding"));
    }
  };
  template <class T> struct Result {
    Data<T> weights, gradients, optimizer_states, total;
    static constexpr auto fields() {
      return rows(field(&Result::weights, key::weights),
                  field(&Result::gradients, "gradients", "GB", "gradients"),
                  field(&Result::optimizer_states, "optimizer_states", "GB", "master weights and moments"),
                  field(&Result::total, "total", "GB", "all model states of one device"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T share = named("share", 1.0 / in.dp_size);
    const T whole(1.0);
    const auto weights = in.weight_bytes * in.params * select(in.zero_stage > 2.5, share, whole);
    const auto gradients = in.gradient_bytes * in.params * select(in.zero_stage > 1.5, share, whole);
    const auto optimizer = in.optimizer_bytes * in.params * select(in.zero_stage > 0.5, share, whole);
    return {.weights = weights,
            .gradients = gradients,
            .optimizer_states = optimizer,
            .total = weights + gradients + optimizer};
  }
};

/// Bytes of all states of mixed-precision training with Adam, unsharded [B].
///
/// 16 B per parameter: 2 for the weights and 2 for the gradients in half precision, 12 for the optimizer
/// (FP32 master weights, momentum and variance, 4 each). Range: params >= 0.
/// @cite rajbhandari2020zero, section 3.1
struct MixedPrecisionAdam {
  static constexpr LawInfo info{"MixedPrecisionAdam", "total = 16 B/param params", "rajbhandari2020zero",
                                "section 3.1",
                                "half-precision weights and gradients; FP32 master weights and two moments"};
  template <class T> struct Inputs {
    Params<T> params;
    static constexpr auto fields() { return rows(field(&Inputs::params, key::params)); }
  };
  template <class T> using Result = TrainingStateBytes::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const DataPerParam<T> half = 2.0 * unit::B / unit::param;
    const DataPerParam<T> adam = 12.0 * unit::B / unit::param;
    return apply<TrainingStateBytes, T>(
        {.params = in.params, .weight_bytes = half, .gradient_bytes = half, .optimizer_bytes = adam});
  }
};

}  // namespace mlsysim
