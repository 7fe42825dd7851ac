#pragma once
/// Textbook formulas from totals alone: step latency, prefill FLOP and ITL (the `textbook` fidelity).
///
///   latency = overhead + max(work batch / (peak efficiency),
///                            (weights (1 + share batch) + gathered) / bandwidth)      [s]
///   prefill = 2 params new_tokens batch + 4 layers width new_tokens context batch               [FLOP]
///   itl     = (weights + kv_cache) / bandwidth + layers layer_overhead                          [s]
///
/// overhead = dispatch + layers layer_overhead passes. work: of one sample [FLOP]. share: activation_share.
/// gathered: table rows read [B]. width: heads times head width. context: tokens after the pass.
/// Limits: weights are read once, no causal mask, software time is not hidden, only arithmetic is derated.
/// Example: 16 GFLOP, 16 GB, 989 TFLOP/s at 0.5, 3.35 TB/s, 32 layers of 5 us, dispatch 10 us: 4.946 ms.
/// Example: 8 billion params, 32 layers of width 4096, 2048 tokens: 32.77 + 2.20 = 34.97 TFLOP.
/// @cite pope2023inference, section 2
/// @cite mlsysim-py-solvers

#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Latency of one batch or step on one device from totals [s].
///
/// Each sample moves a given share of the weight bytes as activations. Ranges: amounts >= 0, rates > 0, 0 <
/// efficiency <= 1.
/// @cite williams2009roofline, section 3; mlsysim-py-solvers, SingleNodeModel
struct TextbookPass {
  static constexpr LawInfo info{
      "TextbookPass",
      "latency = max(work batch / (peak efficiency), (weights + share weights batch + gathered) / bandwidth) "
      "+ dispatch + layers "
      "layer_overhead passes",
      "williams2009roofline", "section 3",
      "activation traffic is a fixed share of the weights; software time is not hidden"};
  template <class T> struct Inputs {
    Work<T> work;
    Data<T> weights;
    T batch_size{1.0}, efficiency{0.0}, activation_share{0.0}, layers{1.0}, passes{1.0};
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Time<T> layer_overhead, dispatch;
    Data<T> gathered;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::work, "work", "GFLOP", "arithmetic of one sample").non_negative(),
          field(&Inputs::weights, key::weights),
          field(&Inputs::batch_size, key::batch_size).at_least(1).defaulted("one sample"),
          field(&Inputs::efficiency, key::efficiency),
          field(&Inputs::activation_share, "activation_share", "",
                "activation traffic of a sample over weights")
              .non_negative(),
          field(&Inputs::layers, "layers", "", "layers").non_negative().defaulted("one"),
          field(&Inputs::passes, "passes", "", "1 for inference, 3 for a training step")
              .at_least(1)
              .defaulted("inference"),
          field(&Inputs::peak, key::peak), field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::layer_overhead, "layer_overhead", "us", "software time of one layer").non_negative(),
          field(&Inputs::dispatch, "dispatch", "us", "fixed time of one invocation").non_negative(),
          field(&Inputs::gathered, "gathered", "kB", "rows of tables that the batch reads")
              .non_negative()
              .defaulted("none"));
    }
  };
  template <class T> struct Result {
    Time<T> latency, latency_compute, latency_memory, latency_overhead;
    Data<T> traffic;
    static constexpr auto fields() {
      return rows(
          field(&Result::latency, key::latency), field(&Result::latency_compute, key::latency_compute),
          field(&Result::latency_memory, key::latency_memory),
          field(&Result::latency_overhead, key::latency_overhead), field(&Result::traffic, key::traffic));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto traffic =
        named("traffic", in.weights * (1.0 + in.activation_share * in.batch_size) + in.gathered);
    const auto roof = apply<Roofline, T>({.work = in.work * in.batch_size,
                                          .traffic = traffic,
                                          .peak = in.peak * in.efficiency,
                                          .bandwidth = in.bandwidth});
    const auto overhead = named("overhead", in.dispatch + in.layer_overhead * (in.layers * in.passes));
    return {.latency = roof.time + overhead,
            .latency_compute = roof.compute,
            .latency_memory = roof.memory,
            .latency_overhead = overhead,
            .traffic = traffic};
  }
};

/// Arithmetic of a prefill from totals [FLOP].
///
/// Every new token passes all weights once and attends to the whole final context. A causal kernel does about
/// half of the second term.
/// @cite pope2023inference, section 2; mlsysim-py-solvers, ServingModel
struct TextbookPrefillWork {
  static constexpr LawInfo info{"TextbookPrefillWork",
                                "work = 2 params tokens batch + 4 layers width tokens context batch",
                                "pope2023inference", "section 2", "no causal mask"};
  template <class T> struct Inputs {
    Params<T> params;
    T layers{0.0}, width{0.0}, new_tokens{0.0}, context{0.0}, batch_size{1.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::params, "params", "Gparam", "weights that a token uses").non_negative(),
                  field(&Inputs::layers, "layers", "", "layers").non_negative(),
                  field(&Inputs::width, "width", "", "query heads times head width").non_negative(),
                  field(&Inputs::new_tokens, "new_tokens", "", "new tokens per sequence").non_negative(),
                  field(&Inputs::context, "context", "", "tokens per sequence after the pass").non_negative(),
                  field(&Inputs::batch_size, key::batch_size).at_least(1).defaulted("one sequence"));
    }
  };
  template <class T> struct Result {
    Work<T> work;
    static constexpr auto fields() { return rows(field(&Result::work, key::work)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto projections = named("projections", Work<T>::from_base(2.0 * in.params.base() * in.new_tokens));
    const auto scores =
        named("scores", Work<T>::from_base(4.0 * in.layers * in.width * in.new_tokens * in.context));
    return {.work = (projections + scores) * in.batch_size};
  }
};

/// Inter-token latency from totals [s].
///
/// Decoding reads every weight and every cached key and value once per token. Example: 16 + 4 GB at 3.35
/// TB/s, 32 layers of 5 us: 6.13 ms.
/// @cite pope2023inference, section 2
struct TextbookDecode {
  static constexpr LawInfo info{"TextbookDecode",
                                "itl = (weights + kv_cache) / bandwidth + layers layer_overhead",
                                "pope2023inference", "section 2", "no arithmetic limit"};
  template <class T> struct Inputs {
    Data<T> weights, kv_cache;
    Bandwidth<T> bandwidth;
    Time<T> layer_overhead;
    T layers{0.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::weights, key::weights),
          field(&Inputs::kv_cache, "kv_cache", "GB", "keys and values of the whole batch").non_negative(),
          field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::layer_overhead, "layer_overhead", "us", "software time of one layer").non_negative(),
          field(&Inputs::layers, "layers", "", "layers").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> itl;
    static constexpr auto fields() { return rows(field(&Result::itl, key::itl)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.itl = (in.weights + in.kv_cache) / in.bandwidth + in.layer_overhead * in.layers};
  }
};

}  // namespace mlsysim
