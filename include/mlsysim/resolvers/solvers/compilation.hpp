#pragma once
/// Largest number of graph breaks with which a compiled step still meets a latency target (wall 3).
///
///   breaks = floor(min over host, device of (target_latency - t(0)) / (t(1) - t(0) + sync_share sync))
///
/// t(b): time of host or device with b breaks, from the law CompiledStep [s]. sync: wait for a device value
/// [s]. longest_compile_time = steps (eager - latency): time to compile that `steps` steps pay back.
/// Limits: graphs of equal size, one stream. Without a break the step must meet the target.
/// Example: host 510 us + 30 us a break, device 400 us + 21.5 us, sync 3.5 us a break, target 600 us:
/// min(90 / 33.5, 200 / 25) = 2.7, so 2 breaks. The step then takes 577 us.
/// @cite ansel2024pytorch2, section 3

#include <mlsysim/resolvers/models/compilation.hpp>

namespace mlsysim {

/// Inverts CompiledStep for its breaks.
struct GraphBreakSolver : Solver<GraphBreakSolver> {
  static constexpr std::string_view id = "GraphBreakSolver";
  static constexpr std::string_view about = "largest number of graph breaks that meets a latency";
  static constexpr std::string_view law =
      "breaks = floor(min over host and device of (latency - rest) / slope)";
  static constexpr std::string_view source = "ansel2024pytorch2";
  static constexpr std::array walls{3};
  static constexpr std::array fallacies{Fallacy{
      "Every break must go.", "Below the slower side of host and device there is room for some of them."}};
  static constexpr bool thread_safe = true;
  using inverts = CompiledStep;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    Time<> target_latency;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> seq_len{};
    std::optional<CompiledStepKind> step{};
    const ServingEngine* engine = nullptr;
    std::optional<Time<>> dispatch{}, guard{}, resume{}, sync{};
    double sync_share = 1, between = 0;
    CompileMode mode = CompileMode::compile;
    std::optional<double> steps{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(compilation_rows<I>(),
                  rows(field(&I::target_latency, key::target_latency),
                       field(&I::mode, "mode", "", "compile or cudagraphs").defaulted("compile"),
                       field(&I::steps, "steps", "", "steps within which compiling is to pay")
                           .at_least(1)
                           .defaulted("the longest time to compile is not asked")));
    }
  };
  struct Result {
    double breaks = 0, exact = 0;
    Time<> latency, latency_without;
    std::optional<Time<>> longest_compile_time{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::breaks, key::breaks), field(&R::exact, "exact", "", "the same before it is rounded down"),
          field(&R::latency, key::latency),
          field(&R::latency_without, "latency_without", "ms", "step without breaks"),
          field(&R::longest_compile_time, "longest_compile_time", "s",
                "time to compile that pays within the steps, with these breaks; absent where no time does"));
    }
  };
  [[nodiscard]] Outcome<Result> solve(const Inputs& in, Notes& notes) const;
  using Solver::solve;
  [[nodiscard]] Check verify(const Inputs& in, const Result& result) const;
};

}  // namespace mlsysim
