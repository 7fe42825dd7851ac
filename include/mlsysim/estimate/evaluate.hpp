#pragma once
/// Computes every number of an answer from a problem: serving, training or inference.
///
/// `evaluate` on double gives the answer. On the recording scalar it leaves the tape for sweeps, bounds,
/// gradients, inversion and derivations (estimate/problem_law.hpp).
///
/// Example: p is a ServingProblem, Llama-3.1-70B on 8x H100, TP 8, bf16, 16 requests at once, 2,048 in, 512
/// out. `evaluate(p).itl` is 11.1 ms and `evaluate(p).ttft` is 1.29 s.

#include <mlsysim/estimate/inference.hpp>
#include <mlsysim/estimate/macro.hpp>
#include <mlsysim/estimate/reliability.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/estimate/training.hpp>

#include <variant>

namespace mlsysim {

/// A problem of any of the three kinds.
using AnyProblem = std::variant<InferenceProblem<>, ServingProblem<>, TrainingProblem<>>;

/// Every number of an answer. Instantiated for double and for the recording scalar.
template <class T> [[nodiscard]] ServingEstimate<T> evaluate(const ServingProblem<T>& problem);
template <class T> [[nodiscard]] TrainingEstimate<T> evaluate(const TrainingProblem<T>& problem);
template <class T> [[nodiscard]] InferenceEstimate<T> evaluate(const InferenceProblem<T>& problem);

/// A served model whose replicas have so many requests decoding on average, at the arrivals that this needs
/// (`request_throughput`): what a search for the highest rate asks, without a search of its own. The problem
/// has a rate as its load; no capacity is looked for.
[[nodiscard]] ServingEstimate<> evaluate_decoding(const ServingProblem<>& problem, double requests);

/// Memory of the fullest device: prefill workers are a pool of their own.
template <class Estimate> [[nodiscard]] const MemoryBreakdown<>& fullest_device(const Estimate& e) {
  if constexpr (requires { e.prefill_memory_use; }) {
    const auto &prefill = e.prefill_memory_use, &decode = e.memory;
    return prefill.total / prefill.capacity > decode.total / decode.capacity ? prefill : decode;
  } else {
    return e.memory;
  }
}

/// The models of a problem, each with the name of its owner: `f("workload", model)`.
template <class T, class F> void for_each_model(ServingProblem<T>& p, F&& f) {
  f("workload", p.model);
  f("draft_model", p.draft.model);
}
template <class T, class F> void for_each_model(TrainingProblem<T>& p, F&& f) { f("workload", p.model); }
template <class T, class F> void for_each_model(InferenceProblem<T>& p, F&& f) { f("workload", p.model); }

}  // namespace mlsysim
