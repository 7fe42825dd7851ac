#pragma once
/// From a problem to every number of its answer: `evaluate<T>(problem)`.
///
/// A problem holds the numbers and categories that an answer is computed from; its tables list them.
/// `evaluate` on double is the answer; on the recording scalar it leaves the tape from which sweeps, bounds,
/// slopes, inversions and derivations are read (answer/problem_law.hpp).

#include <mlsysim/answer/inference.hpp>
#include <mlsysim/answer/macro.hpp>
#include <mlsysim/answer/reliability.hpp>
#include <mlsysim/answer/serving.hpp>
#include <mlsysim/answer/training.hpp>

#include <variant>

namespace mlsysim {

/// One of the questions that are asked of a model.
using AnyProblem = std::variant<InferenceProblem<>, ServingProblem<>, TrainingProblem<>>;

template <class T = double> struct FeasibilityEstimate {
  Data<T> memory_used, memory_capacity, memory_missing;
  T memory_utilization{0.0}, plan_fits{1.0};

  static constexpr auto fields() {
    using R = FeasibilityEstimate;
    return rows(field(&R::memory_used, "memory_used", "GB", "memory of the fullest device"),
                field(&R::memory_capacity, "memory_capacity", "GB", "memory of one device"),
                field(&R::memory_missing, "memory_missing", "GB", "bytes that do not fit"),
                field(&R::memory_utilization, "memory_utilization", "", "used over capacity"),
                field(&R::plan_fits, "plan_fits", "",
                      "1 where the plan is one: nodes are full, degrees divide devices and model, "
                      "accumulation steps the batch, a part of the prompt is computed"));
  }
};

/// Every number of a scorecard: does it fit, how fast is it (`speed`), what does it cost.
template <template <class> class E, class T = double> struct CardEstimate {
  FeasibilityEstimate<T> feasibility;
  E<T> speed;
  MacroEstimate<T> macro;
  ReliabilityEstimate<T> reliability;
  Time<T> training_time;

  static constexpr auto fields() {
    using R = CardEstimate;
    return rows(field(&R::feasibility, "", "", ""), field(&R::speed, "", "", ""),
                field(&R::macro, "", "", ""), field(&R::reliability, "", "", ""),
                field(&R::training_time, "training_time", "d", "time for the published number of tokens"));
  }
};

/// All numbers of a scorecard. Instantiated for double and for the recording scalar.
template <class T> [[nodiscard]] CardEstimate<ServingEstimate, T> evaluate(const ServingProblem<T>& problem);
template <class T>
[[nodiscard]] CardEstimate<TrainingEstimate, T> evaluate(const TrainingProblem<T>& problem);
template <class T>
[[nodiscard]] CardEstimate<InferenceEstimate, T> evaluate(const InferenceProblem<T>& problem);

/// The models of a problem, each with the name of its owner: `f("workload", model)`.
template <class T, class F> void for_each_model(ServingProblem<T>& p, F&& f) {
  f("workload", p.model);
  f("draft_model", p.draft.model);
}
template <class T, class F> void for_each_model(TrainingProblem<T>& p, F&& f) { f("workload", p.model); }
template <class T, class F> void for_each_model(InferenceProblem<T>& p, F&& f) { f("workload", p.model); }

}  // namespace mlsysim
