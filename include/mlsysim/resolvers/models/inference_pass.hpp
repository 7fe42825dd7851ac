#pragma once
/// One inference of a diffusion, state-space, recommendation or tiny model (walls 1 and 2).
///
///   latency = evaluations max(compute, memory) + overhead
///   compute = work / (peak efficiency)      memory = weights / bandwidth + (2 state + rows) / ram
///
/// evaluations: network runs per batch, one or two per denoising step. state: recurrent state, read and
/// written [B]. rows: embedding rows that the batch looks up, in whole memory sectors [B]. ram: memory
/// bandwidth [B/s].
/// Operator fidelity prices a diffusion model with known layers by operators instead.
/// Limits: on a device with flash, weights stay in flash and activations must fit into RAM.
/// Example: 1000 samples with 0.2 GB of dense weights and 50 rows of 256 B each, 1 TB/s: 0.2128 GB / 1 TB/s =
/// 0.2128 ms. The tables take memory but no time.
/// @cite williams2009roofline, section 3; rombach-2022-ldm; gu-2023-mamba; naumov-2019-dlrm

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Time, memory and energy of one batch.
struct InferencePassModel : Model<InferencePassModel> {
  static constexpr std::string_view id = "InferencePassModel";
  static constexpr std::string_view about =
      "one inference of a diffusion, state-space, recommendation or tiny model";
  static constexpr std::string_view law =
      "latency = evaluations max(work / (peak efficiency), (weights + state + rows) / bandwidth) + overhead";
  static constexpr std::string_view source = "williams2009roofline";
  static constexpr std::array walls{1, 2};
  static constexpr std::array fallacies{
      Fallacy{"A table of a hundred gigabytes makes a model slow.",
              "A sample reads a few rows of it; the table asks for capacity, its rows for latency."},
      Fallacy{"A state-space model slows down with its context.",
              "Its state has one size; only attention reads a cache that grows."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{}, denoising_steps{};
    const ServingEngine* engine = nullptr;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
                       field(&I::batch_size, key::batch_size).defaulted("one sample"),
                       field(&I::precision, key::precision).defaulted("the device's default precision"),
                       field(&I::efficiency, key::efficiency)
                           .defaulted("0.5 (textbook) or the device's share (operator)"),
                       field(&I::denoising_steps, "denoising_steps", "", "steps of a diffusion model")
                           .at_least(1)
                           .counted()
                           .defaulted("the model's own"),
                       field(&I::engine, key::engine).defaulted("diffusers, of a diffusion model")),
                  fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false;
    Time<> latency, latency_compute, latency_memory, latency_overhead;
    SampleRate<> throughput;
    Bottleneck bottleneck = Bottleneck::compute;
    double evaluations = 1;
    Data<> weights, tables, state, rows_read, activations, memory_footprint;
    std::string weights_in;
    std::optional<Energy<>> energy{};  ///< absent where the device has no TDP
    double peak_share = 0, load = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::feasible, "feasible", "", "weights and activations fit where they must be"),
                  field(&R::latency, key::latency), field(&R::latency_compute, key::latency_compute),
                  field(&R::latency_memory, key::latency_memory),
                  field(&R::latency_overhead, key::latency_overhead), field(&R::throughput, key::throughput),
                  field(&R::bottleneck, key::bottleneck),
                  field(&R::evaluations, "evaluations", "", "runs of the network for one batch"),
                  field(&R::weights, "weights", "MB", "weights that every run reads"),
                  field(&R::tables, "tables", "GB", "embedding tables, of which rows are read"),
                  field(&R::state, "state", "MB", "recurrent state of the batch"),
                  field(&R::rows_read, "rows_read", "kB", "table rows that the batch reads"),
                  field(&R::activations, "activations", "kB",
                        "largest working set; 0 where the layers are not known"),
                  field(&R::memory_footprint, key::memory_footprint),
                  field(&R::weights_in, "weights_in", "", "memory that holds the weights"),
                  field(&R::energy, "energy", "J",
                        "electrical energy of the batch; absent where the device has no TDP"),
                  field(&R::peak_share, "peak_share", "", "arithmetic over what the peak could do meanwhile"),
                  field(&R::load, "load", "", "dynamic power over that of full load"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
