#pragma once
/// A serving engine or framework: how it schedules passes, how operators become kernels, and its host times.
///
///     host time of a pass = host_step + requests * host_request
///
/// Values belong to the software, never to a model. A device keeps its own. Values that an entry does not
/// state come from the entry that it `extends`. Its launch rows replace those of their operations, its expert
/// rows those of their formats.
/// Example: host_step 0.25 ms and host_request 10 us make 0.89 ms for a pass with 64 requests.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/specs/launches.hpp>
#include <mlsysim/specs/memory_rule.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

struct Entry;
struct ServingEngine;
template <> struct ObjectType<ServingEngine> { static constexpr std::string_view name = "engine"; };

/// How operators become kernels.
enum class KernelForm : std::uint8_t {
  fused,   ///< as the lowering lists them: by hand, or by a compiler
  unfused  ///< each as its list of launches says
};
template <> inline constexpr auto names_of<KernelForm> = ChoiceNames{"form of kernels"};

/// When the gradients of a training step exist: beside the activations, or freed before the next forward
/// pass.
enum class GradientLife : std::uint8_t { kept, freed };
template <> inline constexpr auto names_of<GradientLife> = ChoiceNames{"life of gradients"};

/// Host time of a framework, on the host of its source.
struct FrameworkHost {
  std::string reference;
  std::optional<Time<>> launch, operation, record, backward_operation, hook, module, step, allocation, gap;

  template <class H = FrameworkHost> static constexpr auto fields() {
    return rows(
        field(&H::reference, "reference", "", "host on which the times were measured")
            .defaulted("not stated"),
        field(&H::launch, "launch", "us", "of one kernel that is launched by itself").non_negative(),
        field(&H::operation, "operation", "us", "of one operator of the framework, its launches apart")
            .non_negative(),
        field(&H::record, "record", "us", "of an operator that is recorded for a backward pass, beside it")
            .non_negative(),
        field(&H::backward_operation, "backward_operation", "us", "of an operator of the backward pass")
            .non_negative(),
        field(&H::hook, "hook", "us", "of handling one saved tensor of a block that is recomputed")
            .non_negative(),
        field(&H::module, "module", "us", "of one call of a module class, its operators apart")
            .non_negative(),
        field(&H::step, "step", "ms", "of one pass, for which the device waits").non_negative(),
        field(&H::allocation, "allocation", "ms", "of asking the driver for memory").non_negative(),
        field(&H::gap, "gap", "us",
              "between two kernels, where the host does not run ahead of the device; in place of launch")
            .non_negative());
  }
};

/// The family of kernels that computes routed experts, on chips of a generation and of a stored format where
/// these are named.
struct ExpertChoice {
  const KernelFamily* family = nullptr;
  const DeviceClass* generation = nullptr;
  std::optional<WeightFormat> format{};

  template <class E = ExpertChoice> static constexpr auto fields() {
    return rows(field(&E::family, "family", "", "family of kernels"),
                field(&E::generation, "generation", "", "class of the devices").defaulted("all"),
                field(&E::format, "format", "", "in which the experts are stored"));
  }
};

/// Host time to compile, and to run generated code outside a captured graph. See CompileTime.
struct CompilerHost {
  std::optional<Time<>> process, graph, trace, lower, convolution, warm_graph, call, tensor, launch;

  template <class C = CompilerHost> static constexpr auto fields() {
    return rows(
        field(&C::process, "process", "s", "first compilation of a process").non_negative(),
        field(&C::graph, "graph", "s", "each graph, not found in a cache").non_negative(),
        field(&C::trace, "trace", "ms", "each call that is captured").non_negative(),
        field(&C::lower, "lower", "ms", "lowering and code of each call").non_negative(),
        field(&C::convolution, "convolution", "s", "layout and tuning of each distinct convolution")
            .non_negative(),
        field(&C::warm_graph, "warm_graph", "s", "each graph that a cache holds").non_negative(),
        field(&C::call, "call", "us", "each call of a compiled graph").non_negative(),
        field(&C::tensor, "tensor", "us", "each weight that a compiled graph is called with").non_negative(),
        field(&C::launch, "launch", "us", "launch of a kernel by generated code").non_negative());
  }
};

/// A serving engine or a framework.
struct ServingEngine {
  std::string name;
  std::string version;                 ///< release that it describes; empty: not stated
  Time<> host_step{}, host_request{};  ///< host time of a pass, and of each request in it
  Time<> sampling{};                   ///< part of host_request in which the device samples
  double measured_requests = 0;        ///< requests of a pass up to which these were measured; 0: not stated
  Time<> request_time{};               ///< outside the engine: parsing, detokenizing, transport
  std::optional<Time<>>
      prefill_issue{};  ///< host time of one operator of a prompt's pass, launched one by one
  std::optional<Time<>> prompt_layer{};      ///< host time of a layer in a pass of prompts
  bool beside = false;                       ///< host work runs beside the device
  bool mixed = true;                         ///< prompts and steps share passes
  std::optional<double> host_rows{};         ///< rows of a pass up to which the host multiplies its weights
  std::optional<bool> whole_layers{};        ///< devices hold whole layers where a request states no degree
  double lookahead = 0;                      ///< passes by which a first token is seen late
  std::optional<EngineMemoryRule> memory{};  ///< absent: not known
  const ServingEngine* extends = nullptr;
  std::optional<KernelForm> form{};
  std::optional<Execution> execution{};  ///< where a request does not say
  std::optional<AttentionKernel> attention{};
  std::optional<bool> joined{};         ///< products of one input are one product
  std::optional<bool> masked{};         ///< attention reads repeated key heads through a mask
  std::optional<bool> autocast{};       ///< products in fp16 cast their factors from fp32
  std::optional<bool> fp16_sums{};      ///< products in fp16 keep their sums in fp16
  std::optional<double> unpack_rows{};  ///< rows of a product beyond which its weights are widened first
  std::optional<GradientLife> gradients{};
  std::optional<bool> early_stop{};     ///< recomputation ends with the last value that is needed
  std::optional<std::string> states{};  ///< formats in training, as `--states` takes them
  const KernelFamily* small_kernels = nullptr;
  const KernelFamily* convolutions = nullptr;
  const KernelFamily* products = nullptr;
  const KernelFamily* fused_attention = nullptr;
  const KernelFamily* recurrences = nullptr;
  const KernelFamily* collectives = nullptr;
  std::vector<ExpertChoice> experts{};  ///< a row of the format before one of any
  std::vector<LaunchPart> launches{};
  FrameworkHost host{};
  CompilerHost compile{};
  const Entry* entry = nullptr;

  template <class E = ServingEngine> static constexpr auto fields() {
    return rows(
        field(&E::name, "name", "", "key of the engine"),
        field(&E::version, "version", "", "release that was measured or read").defaulted("not stated"),
        field(&E::host_step, "host_step", "ms", "host time of one pass: scheduling, sampling, bookkeeping")
            .non_negative()
            .defaulted("none"),
        field(&E::host_request, "host_request", "us", "host time of each request in a pass")
            .non_negative()
            .defaulted("none"),
        field(&E::sampling, "sampling", "us",
              "part of host_request in which kernels of the sampler run on the device")
            .non_negative()
            .defaulted("none"),
        field(&E::measured_requests, "measured_requests", "",
              "requests in a pass up to which the times of the host were measured")
            .non_negative()
            .counted()
            .defaulted("not stated"),
        field(&E::request_time, "request_time", "ms",
              "time of a request outside the engine: parsing, tokens to text, transport")
            .non_negative()
            .defaulted("none"),
        field(&E::prefill_issue, "prefill_issue", "us",
              "host time of one operator of a prompt, launched one by one")
            .positive()
            .defaulted("the device's own issue time"),
        field(&E::prompt_layer, "prompt_layer", "ms",
              "host time of a layer in an uncaptured pass with prompts; in place of prefill_issue")
            .non_negative(),
        field(&E::beside, "beside", "", "passes are prepared while another runs")
            .defaulted("before each pass"),
        field(&E::mixed, "mixed", "", "prompts and steps share a pass").defaulted("they share it"),
        field(&E::host_rows, "host_rows", "",
              "rows of a pass up to which the host multiplies the weights that lie in its memory")
            .positive()
            .counted()
            .defaulted("these weights cross the link"),
        field(&E::whole_layers, "whole_layers", "", "devices hold whole layers where no degree is stated"),
        field(&E::lookahead, "lookahead", "", "passes by which a first token is seen late")
            .non_negative()
            .defaulted("none"),
        field(&E::memory, "memory", "", "how it divides the memory of a device").defaulted("not known"),
        field(&E::extends, "extends", "", "what holds where nothing is stated here").defaulted("nothing"),
        field(&E::form, "form", "", "how operators become kernels"),
        field(&E::execution, "execution", "", "how kernels reach the device where a request does not say"),
        field(&E::attention, "attention", "", "attention kernel of single passes"),
        field(&E::joined, "joined", "", "products of one input run as one"),
        field(&E::masked, "masked", "", "attention in steps of decoding reads repeated heads through a mask"),
        field(&E::autocast, "autocast", "", "products in fp16 cast their factors from fp32 first"),
        field(&E::fp16_sums, "fp16_sums", "", "products in fp16 keep their sums in fp16"),
        field(&E::unpack_rows, "unpack_rows", "",
              "rows of a product beyond which narrow weights are first written out as wide as the arithmetic")
            .non_negative()
            .counted()
            .defaulted("kernels widen weights on their way"),
        field(&E::gradients, "gradients", "",
              "kept beside the activations of the next step, or freed before it"),
        field(&E::early_stop, "early_stop", "",
              "recomputation of a block ends with the last value that its backward pass needs"),
        field(&E::states, "states", "",
              "formats of parameters, gradients, moments and master copy in training"),
        field(&E::small_kernels, "small_kernels", "", "family of element-wise kernels, norms and copies")
            .defaulted("none"),
        field(&E::convolutions, "convolutions", "", "family of convolutions").defaulted("none"),
        field(&E::products, "products", "", "family of dense products").defaulted("usual_products"),
        field(&E::fused_attention, "fused_attention", "", "family of fused attention")
            .defaulted("usual_attention"),
        field(&E::recurrences, "recurrences", "", "family of linear attention")
            .defaulted("usual_recurrences"),
        field(&E::collectives, "collectives", "", "family of collectives inside a node")
            .defaulted("usual_collectives"),
        field(&E::experts, "experts", "",
              "families of kernels for routed experts; a row of the format before one of any")
            .defaulted("products of the device"),
        field(&E::launches, "launches", "", "kernels and framework operators of each operation"),
        field(&E::host, "host", "", "host time of a framework").defaulted("absent"),
        field(&E::compile, "compile", "", "times of its compiler").defaulted("absent"));
  }
};

}  // namespace mlsysim
