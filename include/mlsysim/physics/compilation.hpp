#pragma once
/// Step time of a host that feeds a device eagerly or with compiled graphs, and when compiling pays.
///
///   eager step    = max(kernels dispatch, device + syncs dispatch) + syncs sync                  [s]
///   compiled step = max(host, device + 2 breaks boundary / bandwidth + drained) + breaks sync_share sync
///   payback       = ceil(compile_time / saved),  saved = eager - compiled - recompiles compile_time
///
/// kernels: operators dispatched. dispatch: host time of one [s]. device: time of all kernels [s].
/// syncs, sync: waits for a value, and the time of one [s]. boundary: bytes that cross a graph break [B].
/// drained: idle time after such a read. Host and device overlap on a queue, which a read from the device
/// empties.
/// Limits: one stream, a queue that is never full, graphs of equal size.
/// Example: 1000 kernels of 5 us dispatch, 4 ms of device time, one sync of 20 us: 5 ms + 20 us = 5.02 ms.
/// Example: 40 s of compiling that saves 1.02 ms a step pays after 39,216 steps.
/// @cite ansel2024pytorch2, sections 2, 3, 4 and 6

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time of a step whose operators are dispatched one by one [s].
///
/// Ranges: all >= 0.
/// @cite ansel2024pytorch2, section 2 (overhead of eager execution); nvidia-cuda-graphs
struct EagerStep {
  static constexpr LawInfo info{
      "EagerStep", "latency = max(kernels dispatch, device + syncs dispatch) + syncs sync",
      "ansel2024pytorch2", "section 2", "one stream; the queue between host and device is never full"};
  template <class T> struct Inputs {
    T kernels;
    Time<T> dispatch, device;
    T syncs;
    Time<T> sync;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::kernels, "kernels", "", "operators that are dispatched").non_negative(),
          field(&Inputs::dispatch, "dispatch", "us", "host time of one operator").non_negative(),
          field(&Inputs::device, "device", "ms", "time of all kernels on the device").non_negative(),
          field(&Inputs::syncs, "syncs", "", "places where the host waits for a value").non_negative(),
          field(&Inputs::sync, "sync", "us", "time of one such wait beyond the work itself").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> latency, host;
    static constexpr auto fields() {
      return rows(field(&Result::latency, "latency", "ms", "time of one step"),
                  field(&Result::host, "host", "ms", "time in which the host is busy"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto host = named("host", in.dispatch * in.kernels);
    const auto device = named("device", in.device + in.dispatch * in.syncs);
    return {.latency = max(host, device) + in.sync * in.syncs, .host = host};
  }
};

/// Time of a step of compiled graphs with breaks between them [s].
///
///     host    = graphs (guard + graph_launches launch) + kernels launch + tensors tensor
///               + breaks (resume + between dispatch),  graphs = breaks + 1
///     drained = breaks sync_share (resume + guard + launch)
/// At a break the code between the graphs runs eagerly, and the tensors that cross the boundary are written
/// and read. Captured graphs have graph_launches 1 and kernels 0. Ranges: all >= 0; bandwidth > 0; sync_share
/// in [0, 1].
/// @cite ansel2024pytorch2, sections 3 and 4 (graph breaks, guards); nvidia-cuda-graphs
struct CompiledStep {
  static constexpr LawInfo info{
      "CompiledStep",
      "latency = max((breaks + 1) (guard + graph_launches launch) + kernels launch + tensors tensor + breaks "
      "(resume + between dispatch), device + breaks (2 boundary / bandwidth + sync_share (resume + guard + "
      "launch))) + breaks "
      "sync_share sync",
      "ansel2024pytorch2", "sections 3 and 4", "graphs of equal size; one stream"};
  template <class T> struct Inputs {
    T breaks, kernels, graph_launches;
    Time<T> launch, guard, resume;
    T between;
    Time<T> dispatch, device;
    Data<T> boundary;
    Bandwidth<T> bandwidth;
    T sync_share;
    Time<T> sync;
    T tensors{0.0};
    Time<T> tensor{};
    static constexpr auto fields() {
      using I = Inputs;
      return rows(
          field(&I::breaks, "breaks", "", "places where a graph ends and the program goes on").non_negative(),
          field(&I::kernels, "kernels", "", "kernels that the host launches one by one").non_negative(),
          field(&I::graph_launches, "graph_launches", "", "launches of each graph: 1 where it was captured")
              .non_negative(),
          field(&I::launch, "launch", "us", "host time of one launch").non_negative(),
          field(&I::guard, "guard", "us", "time to check the guards of a graph").non_negative(),
          field(&I::resume, "resume", "us", "time to go on in Python behind a break").non_negative(),
          field(&I::between, "between", "", "operators that run eagerly at each break").non_negative(),
          field(&I::dispatch, "dispatch", "us", "host time of one of them").non_negative(),
          field(&I::device, "device", "ms", "time of all kernels on the device, fused").non_negative(),
          field(&I::boundary, "boundary", "MB", "tensors that cross a break").non_negative(),
          field(&I::bandwidth, "bandwidth", "GB/s", "bandwidth of the memory").positive(),
          field(&I::sync_share, "sync_share", "", "share of the breaks at which the host waits for a value")
              .within(0, 1),
          field(&I::sync, "sync", "us", "time of one such wait beyond the work itself").non_negative(),
          field(&I::tensors, "tensors", "", "weights that the graphs are called with")
              .non_negative()
              .defaulted("none are counted"),
          field(&I::tensor, "tensor", "us", "host time of each of them").non_negative().defaulted("none"));
    }
  };
  template <class T> struct Result {
    Time<T> latency, host, device;
    static constexpr auto fields() {
      return rows(
          field(&Result::latency, "latency", "ms", "time of one step"),
          field(&Result::host, "host", "ms", "time in which the host is busy"),
          field(&Result::device, "device", "ms", "time in which the device is busy or waits for a break"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T graphs = in.breaks + 1.0;
    const auto guards = named("guards", (in.guard + in.launch * in.graph_launches) * graphs);
    const auto resumed = named("resumed", (in.resume + in.dispatch * in.between) * in.breaks);
    const auto host = guards + in.launch * in.kernels + in.tensor * in.tensors + resumed;
    const auto boundary = named("boundary", in.boundary * 2.0 / in.bandwidth * in.breaks);
    const T waits = in.breaks * in.sync_share;
    const auto drained = named("drained", (in.resume + in.guard + in.launch) * waits);
    const auto device = in.device + boundary + drained;
    return {.latency = max(host, device) + in.sync * waits, .host = host, .device = device};
  }
};

/// Time to compile the graphs of a program [s].
///
///   compile_time = process + trace calls + (1 - cached) (graph graphs + lower lowered + convolution
///                  convolutions) + cached warm_graph graphs
/// Each call of the program is traced. What a cache does not hold is lowered to kernels: each graph, each of
/// its calls, and each distinct convolution, whose kernels are timed against each other. A training step has
/// a second graph, of the backward pass, with twice as many calls: lowered = 3 calls. torch.compile on an
/// H100: a decode step of Llama-3.1-8B with 2,117 calls takes 1.5 + 2117 (6.3 + 13.1 ms) = 42.6 s (43.0
/// measured). Ranges: all >= 0; cached in [0, 1].
/// @cite measured-h100, table compile; ansel2024pytorch2, sections 3 and 4
struct CompileTime {
  static constexpr LawInfo info{
      "CompileTime",
      "compile_time = process + trace calls + (1 - cached) (graph graphs + lower lowered + convolution "
      "convolutions) + cached warm_graph graphs",
      "measured-h100", "torch.compile of PyTorch 2.11", "one time for calls of every kind but convolutions"};
  template <class T> struct Inputs {
    T calls, lowered, graphs, convolutions, cached;
    Time<T> process, graph, trace, lower, convolution, warm_graph;
    static constexpr auto fields() {
      using I = Inputs;
      return rows(field(&I::calls, "calls", "", "calls that are captured").non_negative(),
                  field(&I::lowered, "lowered", "", "calls that are lowered").non_negative(),
                  field(&I::graphs, "graphs", "", "graphs").non_negative(),
                  field(&I::convolutions, "convolutions", "", "distinct convolutions").non_negative(),
                  field(&I::cached, "cached", "", "share of the graphs that caches hold").within(0, 1),
                  field(&I::process, "process", "s", "start of the compiler's workers").non_negative(),
                  field(&I::graph, "graph", "s", "each graph, cold").non_negative(),
                  field(&I::trace, "trace", "ms", "each call that is captured").non_negative(),
                  field(&I::lower, "lower", "ms", "each call that is lowered").non_negative(),
                  field(&I::convolution, "convolution", "s", "each distinct convolution").non_negative(),
                  field(&I::warm_graph, "warm_graph", "s", "each graph out of a cache").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> compile_time;
    static constexpr auto fields() {
      return rows(field(&Result::compile_time, "compile_time", "s", "time to compile all graphs"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto traced = named("traced", in.trace * in.calls);
    const auto cold =
        named("cold", in.graph * in.graphs + in.lower * in.lowered + in.convolution * in.convolutions);
    const auto warm = named("warm", in.warm_graph * in.graphs);
    return {.compile_time = in.process + traced + cold * (1.0 - in.cached) + warm * in.cached};
  }
};

/// Steps after which compiling pays off, and the time that each step saves [count, s].
///
/// steps is 0 where compiling never pays (pays = 0). Ranges: times >= 0; recompiles per step in [0, 1].
/// @cite ansel2024pytorch2, section 6
struct CompilePayback {
  static constexpr LawInfo info{
      "CompilePayback",
      "saved = eager - compiled - recompiles compile_time; steps = ceil(compile_time / saved)",
      "ansel2024pytorch2", "section 6", "every step is alike; a recompilation takes as long as the first"};
  template <class T> struct Inputs {
    Time<T> eager, compiled, compile_time;
    T recompiles;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::eager, "eager", "ms", "time of a step before").non_negative(),
          field(&Inputs::compiled, "compiled", "ms", "time of a step after").non_negative(),
          field(&Inputs::compile_time, "compile_time", "s", "time to compile").non_negative(),
          field(&Inputs::recompiles, "recompiles", "", "recompilations of a step on average").within(0, 1));
    }
  };
  template <class T> struct Result {
    Time<T> saved;
    T pays, steps;
    static constexpr auto fields() {
      return rows(field(&Result::saved, "saved", "ms", "time that each step saves; negative where it loses"),
                  field(&Result::pays, "pays", "", "1 where compiling pays after some steps"),
                  field(&Result::steps, "steps", "", "steps until it has paid; 0 where it never does"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto saved = named("saved", in.eager - in.compiled - in.compile_time * in.recompiles);
    const auto gains = saved > Time<T>();
    const auto divisor = select(gains, saved, Time<T>::from_base(T{1.0}));
    return {.saved = saved,
            .pays = select(gains, T{1.0}, T{0.0}),
            .steps = select(gains, T(ceil(T(in.compile_time / divisor))), T{0.0})};
  }
};

}  // namespace mlsysim
