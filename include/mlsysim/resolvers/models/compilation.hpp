#pragma once
/// Step time of a model in eager, compiled and CUDA-graph mode, cost of graph breaks, payback time (wall 3).
///
///   eager    = max(calls dispatch, device + syncs dispatch) + syncs sync
///   compiled = max(host, device) + breaks sync_share sync
///   payback_steps = ceil(compile_time / (eager - compiled - recompiles compile_time))
///
/// host: guards, launches and resumption after breaks [s]. device: kernels, and tensors that breaks write and
/// read again [s]. The laws EagerStep, CompiledStep and CompilePayback state both in full.
/// Limits: server CPUs, one stream, graphs of equal size, compiler times of `pytorch_compiled` in
/// zoo/runtimes.
/// Example: 3 graphs, 100 kernels of 5 us, guards 10 us, resumes 20 us: host 570 us, device 443 us. Half of
/// the 2 breaks wait 7 us, so the step takes 577 us. Saving 0.5 ms a step pays 1 s of compiling after 2000
/// steps.
/// @cite ansel2024pytorch2, sections 2 to 4; nvidia-cuda-graphs; measured-h100, table compile

#include <mlsysim/physics/compilation.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

namespace key {
inline constexpr auto breaks = Key<double>{"breaks", "", "graph breaks of a step"}.non_negative().counted();
inline constexpr auto cached =
    Key<double>{"cached", "", "share of the graphs that caches hold: 1 where all of them are found"}.within(
        0, 1);
inline constexpr auto first =
    Key<bool>{"first", "", "the first compilation of its process, which starts the compiler's workers"};
}  // namespace key

/// The step that is compiled.
enum class CompiledStepKind : std::uint8_t { decode, prompt, pass, training };
template <> inline constexpr auto names_of<CompiledStepKind> = ChoiceNames{"step"};

/// How the operators of a model reach the device.
enum class CompileMode : std::uint8_t { eager, compile, cudagraphs };
template <> inline constexpr auto names_of<CompileMode> = ChoiceNames{"compile mode"};

/// Rows of what a compiled model runs on, shared by the three resolvers below.
template <class I> [[nodiscard]] constexpr auto compilation_rows() {
  constexpr const char* like_dispatch = "one dispatch: each is a step of the same interpreter";
  return rows(
      field(&I::workload, key::workload), field(&I::hardware, key::hardware),
      field(&I::batch_size, key::batch_size).defaulted("one sample"),
      field(&I::precision, key::precision).defaulted("the device's default precision"),
      field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
      field(&I::step, "step", "", "decode, prompt, pass (a batch of any model) or training")
          .defaulted("decode for a language model that generates, else pass"),
      field(&I::engine, key::engine).defaulted("pytorch_eager"),
      field(&I::dispatch, "dispatch", "us", "host time of one eager operator")
          .non_negative()
          .defaulted("an operator and a launch of the runtime"),
      field(&I::guard, "guard", "us", "time to check the guards of a graph and to call it")
          .non_negative()
          .defaulted("compile.call of the compiler"),
      field(&I::resume, "resume", "us", "time to go on in Python behind a break")
          .non_negative()
          .defaulted(like_dispatch),
      field(&I::sync, "sync", "us", "wait for a value beyond the work itself")
          .non_negative()
          .defaulted(like_dispatch),
      field(&I::sync_share, "sync_share", "", "share of the breaks that wait for a value of the device")
          .within(0, 1)
          .defaulted("every break, the cautious end"),
      field(&I::between, "between", "", "operators that run eagerly at each break")
          .non_negative()
          .defaulted("none"),
      field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
}

/// A decode step, a prompt, a batch of any model or a training step, before and after compiling.
///
/// Eager times are those of SingleNodeModel and DistributedModel with the launch list of the runtime. A
/// convolution stays a kernel of its own, with one fused kernel behind it. `lost_to_breaks` is the step with
/// breaks less the step without. Sums over single breaks may differ, because host and device overlap.
/// ResNet-50 at batch 1 on an H100: eager 6.4 ms, compiled 3.5 ms, 17.3 s to compile. Measured: 8.7 ms, 3.7
/// ms, 16.7 s.
struct CompilationModel : Model<CompilationModel> {
  static constexpr std::string_view id = "CompilationModel";
  static constexpr std::string_view about =
      "a step before and after compiling, the price of breaks, and the payback";
  static constexpr std::string_view law =
      "latency = max(host, device) + breaks sync_share sync; steps = ceil(compile_time / (eager - compiled))";
  static constexpr std::string_view source = "ansel2024pytorch2";
  static constexpr std::array walls{3};
  static constexpr std::array fallacies{
      Fallacy{"A model without graph breaks is fast.",
              "Breaks cost host time; where the device is the slower side, they cost next to nothing."},
      Fallacy{
          "Compiling always pays.",
          "It pays after compile_time over the time that a step saves, which a short job may not reach."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> seq_len{};
    std::optional<CompiledStepKind> step{};
    const ServingEngine* engine = nullptr;
    std::optional<Time<>> dispatch{}, guard{}, resume{}, sync{};
    double sync_share = 1, between = 0;
    CompileMode mode = CompileMode::compile;
    double breaks = 0;
    std::optional<Time<>> compile_time{};
    bool first = true;
    double recompiles = 0, cached = 0, accelerators = 1, utilization = 1;
    std::optional<Money<>> device_hour{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(compilation_rows<I>(),
                  rows(field(&I::mode, "mode", "", "compile or cudagraphs: the step that saves time")
                           .defaulted("compile"),
                       field(&I::breaks, key::breaks).non_negative().counted().defaulted("none"),
                       field(&I::compile_time, "compile_time", "s", "time to compile all graphs")
                           .non_negative()
                           .defaulted("CompileTime with the times of the compiler"),
                       field(&I::first, key::first).defaulted("it is"),
                       field(&I::recompiles, "recompiles", "", "recompilations of a step on average")
                           .within(0, 1)
                           .defaulted("none: shapes stay"),
                       field(&I::cached, key::cached).defaulted("none: a cold start"),
                       field(&I::accelerators, key::accelerators).defaulted("one device"),
                       field(&I::utilization, "utilization", "",
                             "share of the year in which the devices run this step")
                           .within(0, 1)
                           .defaulted("all of it"),
                       field(&I::device_hour, "device_hour", "USD", "price of one device for one hour")
                           .non_negative()
                           .defaulted("no saving in money is given")));
    }
  };
  struct Result {
    double calls = 0, kernels_eager = 0, kernels_fused = 0;
    Time<> eager, compiled, captured, device_eager, device_fused;
    Time<> lost_to_breaks, lost_per_break;
    double speedup_compiled = 1, speedup_captured = 1;
    Time<> compile_time, saved_per_step;
    std::optional<double> payback_steps{};
    std::optional<Energy<>> energy_saved_per_year{};
    std::optional<Money<>> cost_saved_per_year{}, breaks_cost_per_year{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::calls, "calls", "", "calls of the framework that are captured"),
          field(&R::kernels_eager, "kernels_eager", "", "kernels that eager mode launches"),
          field(&R::kernels_fused, "kernels_fused", "", "kernels after fusion"),
          field(&R::eager, "eager", "ms", "time of an eager step"),
          field(&R::compiled, "compiled", "ms", "time of a compiled step, with its breaks"),
          field(&R::captured, "captured", "ms", "the same where each graph is launched at once"),
          field(&R::device_eager, "device_eager", "ms", "kernels on the device, not fused"),
          field(&R::device_fused, "device_fused", "ms", "kernels on the device, fused"),
          field(&R::lost_to_breaks, "lost_to_breaks", "us",
                "time of the compiled step that goes without breaks"),
          field(&R::lost_per_break, "lost_per_break", "us", "time that the last break adds"),
          field(&R::speedup_compiled, "speedup_compiled", "", "eager over compiled"),
          field(&R::speedup_captured, "speedup_captured", "", "eager over captured"),
          field(&R::compile_time, "compile_time", "s", "time to compile all graphs"),
          field(&R::saved_per_step, "saved_per_step", "us",
                "of the step of `mode`, recompilations taken off"),
          field(&R::payback_steps, "payback_steps", "",
                "steps until compiling has paid; absent where it never does"),
          field(&R::energy_saved_per_year, "energy_saved_per_year", "kWh",
                "of all devices at their full power; absent where the device has no TDP"),
          field(&R::cost_saved_per_year, "cost_saved_per_year", "USD", "device hours that compiling frees"),
          field(&R::breaks_cost_per_year, "breaks_cost_per_year", "USD",
                "device hours that the breaks take"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

/// Inputs of the laws of eager steps, compiled steps and compile time.
struct CompiledViews {
  EagerStep::Inputs<double> eager;
  CompiledStep::Inputs<double> compiled;
  CompileTime::Inputs<double> compile;
  Time<> device_eager;
  double kernels_eager = 0;

  /// Time of a step. Eager runs the same program, so it waits for the same values.
  [[nodiscard]] Time<> latency(CompileMode mode, double breaks) const;
};
/// Time to compile all graphs: as given, or by the calls of the program.
[[nodiscard]] Time<> compile_time_of(const CompilationModel::Inputs& in, const CompiledViews& views,
                                     Notes& notes);
/// The views of a model on a device. @throws InputError for a model whose layers are not known
[[nodiscard]] CompiledViews compiled_views(const CompilationModel::Inputs& in, Notes& notes);

}  // namespace mlsysim
