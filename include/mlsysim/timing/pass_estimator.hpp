#pragma once
/// Interface of a pass estimator: time and memory of a prefill, decode step, inference or optimizer step.
///
///     operator = sum over the operators, with overlap        timing/op_price.hpp, timing/pass_cost.hpp
///     textbook = (weights + cache) / bandwidth + layers layer_overhead       of a decode step
///     roofline = max(work / peak, memory_bytes / bandwidth)                  of a whole pass
///
/// Callers get one through a FidelityModel and do not depend on which one it is. T is double or Recorded.
/// @cite pope2023inference, section 2; williams2009roofline
/// Example: decode step of Llama-3.1-70B on 8x H100, TP 8, batch 16, context 2304.5, bf16.
/// Operator 11.1 ms, textbook 6.52 ms, roofline 5.74 ms.

#include <mlsysim/timing/pass.hpp>
#include <mlsysim/timing/spill.hpp>

namespace mlsysim {

/// Weights of which a pass reads all: those outside of tables [B].
template <class T> [[nodiscard]] Data<T> dense_weights(const Totals<T>& m, const DataPerParam<T>& bytes) {
  return bytes * (m.params - m.tables);
}

/// Rows that `batch` samples read of tables [B]. Memory hands out whole pieces of 64 B, DDR4 and HBM alike.
/// @cite jedec-ddr4; jedec-hbm
template <class T>
[[nodiscard]] Data<T> gathered_rows(const Totals<T>& m, const DataPerParam<T>& bytes, const T& batch) {
  const auto piece = Data<T>::from_base(T{64.0});
  return piece * (batch * m.table_rows * ceil(bytes * Params<T>::from_base(m.row_params) / piece));
}

/// An optimizer step of all replicas, before congestion and stragglers.
template <class T = double> struct StepEstimate {
  Time<T> total;
  Time<T> slots;   ///< micro-batches one after the other on the slowest stage
  Time<T> bubble;  ///< idle time at the start and end of the pipeline
  Time<T> compute, memory,
      overhead;      ///< kernels by what limits them; launches, dispatch and waits for the host
  Time<T> kernels;   ///< a device's kernels
  Time<T> busy;      ///< time in which a device draws its full power
  Time<T> exchange;  ///< gradients and weights over the replicas, before overlap
  Time<T> tensor_parallel, expert_parallel, context_parallel, pipeline_parallel,
      host_transfer;              ///< before overlap
  Time<T> exposed_communication;  ///< what the step waits for
  Work<T> work;                   ///< of a device, recomputation and update included
  Data<T> traffic;                ///< of a device
  Work<T> model_work;             ///< forward and backward passes of the whole model over the whole batch
  T again{1.0};                   ///< work that runs over the work that the model needs
  StageDemands<T> demands;        ///< what the devices hold

  /// Collectives and transfers, over the host link too, before overlap.
  [[nodiscard]] Time<T> communication() const {
    return exchange + tensor_parallel + expert_parallel + context_parallel + pipeline_parallel +
           host_transfer;
  }
};

template <class T = double> class PassEstimator {
 public:
  PassEstimator() = default;
  PassEstimator(const PassEstimator&) = delete;
  PassEstimator& operator=(const PassEstimator&) = delete;
  virtual ~PassEstimator() = default;

  /// A part of a prompt of `prompt` tokens.
  [[nodiscard]] virtual PassEstimate<T> prefill(const PassRequest<T>& request, const Device<T>& device,
                                                const Links<T>& links, const T& prompt) const = 0;
  /// A step of decoding; several new tokens a sequence where a draft is verified.
  [[nodiscard]] virtual PassEstimate<T> decode(const PassRequest<T>& request, const Device<T>& device,
                                               const Links<T>& links) const = 0;
  /// A plain inference.
  [[nodiscard]] virtual PassEstimate<T> inference(const PassRequest<T>& request, const Device<T>& device,
                                                  const Links<T>& links) const = 0;
  /// A step of `devices` devices for `batch` sequences in all, `local` of them of one replica.
  [[nodiscard]] virtual StepEstimate<T> step(const PassRequest<T>& request, const Device<T>& device,
                                             const Links<T>& links, const T& devices, const T& batch,
                                             const T& local) const = 0;

  /// Memory that a device holds in a pass, on the first and the last stage.
  [[nodiscard]] virtual StageDemands<T> pass_demands(const ModelView<T>& model,
                                                     const Plan<T>& plan) const = 0;
  /// Memory that a device holds in a training step, on the first and the last stage.
  [[nodiscard]] virtual StageDemands<T> step_demands(const ModelView<T>& model, const Plan<T>& plan,
                                                     const Device<T>& device) const = 0;
  /// Keys, values and states of all sequences of a pass, over the whole model.
  [[nodiscard]] virtual Data<T> cache(const ModelView<T>& model, const Plan<T>& plan) const = 0;
  /// Micro-batches of a replica of `local` sequences in `steps` accumulation steps where nobody says how
  /// many.
  [[nodiscard]] virtual T default_microbatches(const ModelView<T>& model, const Plan<T>& plan,
                                               const Device<T>& device, const T& local,
                                               const T& steps) const = 0;
  /// Time that a pass loses to data for which the device has no room.
  [[nodiscard]] virtual SpillTime<T> spill_time(const MemoryBreakdown<T>& memory, const PassEstimate<T>& pass,
                                                const Device<T>& device) const = 0;

  [[nodiscard]] MemoryBreakdown<T> pass_memory(const ModelView<T>& model, const Plan<T>& plan,
                                               const Device<T>& device) const {
    return fullest(pass_demands(model, plan), model.structure, plan, device);
  }
  [[nodiscard]] MemoryBreakdown<T> step_memory(const ModelView<T>& model, const Plan<T>& plan,
                                               const Device<T>& device) const {
    return fullest(step_demands(model, plan, device), model.structure, plan, device);
  }
};

/// Every operator of the lowered list: launch, tiles, sustained shares, collectives.
template <class T> [[nodiscard]] const PassEstimator<T>& operator_estimator();
/// The classic formulas that a student does by hand, from totals.
template <class T> [[nodiscard]] const PassEstimator<T>& textbook_estimator();
/// The roofline of whole passes, with the memory and the steps of the operators.
template <class T> [[nodiscard]] const PassEstimator<T>& roofline_estimator();

}  // namespace mlsysim
