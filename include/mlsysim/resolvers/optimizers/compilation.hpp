#pragma once
/// Mode (eager, compiled, CUDA graphs) in which a given number of steps takes least time (wall 3).
///
///   min over modes of compile_time + steps latency(mode)      compile_time = 0 in eager mode
///
/// latency, compile_time: those of CompilationModel [s]. All steps are alike.
/// Example: steps of 3 ms eager and 2 ms compiled, 1 s to compile. 500 steps stay eager (1.5 s against 2 s),
/// and 2000 steps are compiled (5 s against 6 s). Llama-3.1-8B on an H100: 1 step eager, 1e7 steps CUDA
/// graphs.
/// @cite ansel2024pytorch2, section 6

#include <mlsysim/resolvers/models/compilation.hpp>

namespace mlsysim {

/// Searches the three modes.
struct CompileModeOptimizer : Optimizer<CompileModeOptimizer> {
  static constexpr std::string_view id = "CompileModeOptimizer";
  static constexpr std::string_view about = "mode in which a number of steps takes the least time";
  static constexpr std::string_view law = "min over modes of compile_time + steps latency";
  static constexpr std::string_view source = "ansel2024pytorch2";
  static constexpr std::array walls{3};
  static constexpr std::array fallacies{
      Fallacy{"The fastest step is the best mode.", "A short job ends before its compilation has paid."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double steps = 1;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> seq_len{};
    std::optional<CompiledStepKind> step{};
    const ServingEngine* engine = nullptr;
    std::optional<Time<>> dispatch{}, guard{}, resume{}, sync{};
    double sync_share = 1, between = 0, breaks = 0, cached = 0;
    std::optional<Time<>> compile_time{};
    bool first = true;
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          compilation_rows<I>(),
          rows(field(&I::steps, "steps", "", "steps that will run").non_negative().defaulted("one step"),
               field(&I::breaks, key::breaks).non_negative().counted().defaulted("none"),
               field(&I::compile_time, "compile_time", "s", "time to compile all graphs")
                   .non_negative()
                   .defaulted("CompileTime with the times of the compiler"),
               field(&I::first, key::first).defaulted("it is"),
               field(&I::cached, key::cached).defaulted("none: a cold start")));
    }
  };
  struct Result {
    SearchSummary search;
    CompileMode best_mode = CompileMode::eager;
    Time<> total, latency;

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::search, "search", "", "what was tried"),
                  field(&R::best_mode, "best_mode", "", "mode of the least total time"),
                  field(&R::total, "total", "s", "compiling and all steps"),
                  field(&R::latency, key::latency));
    }
  };
  [[nodiscard]] std::optional<Result> solve(const Inputs& in, Search& search, Notes& notes) const;
};

}  // namespace mlsysim
