#pragma once
/// Builds numeric views of devices, links and models from specs. Names and defaults are settled once, in
/// double.
///
/// Each default is noted with its source. Laws then read the views over any scalar (specs/views.hpp).
///
/// Example: `kv_cache_bytes` of Llama3_8B, 8,192 tokens, batch 1, bf16.
/// 2 x 32 layers x 8 heads x 128 x 2 B x 8,192 = 1.07 GB.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/timing/pass.hpp>

#include <optional>

namespace mlsysim {

/// The precision of a request: the one named, or the device's default (noted).
[[nodiscard]] Precision precision_or_default(std::optional<Precision> precision, const HardwareNode& hardware,
                                             Notes& notes);

/// The tokens of a sequence: the ones named, or 2048, or what the model takes beside `output_tokens` where
/// that is less (noted). Of an image the model takes its patches.
[[nodiscard]] double seq_len_or_default(std::optional<double> seq_len, const Workload& workload,
                                        double output_tokens, Notes& notes);
/// Warns of a prompt and answer that are longer than the model takes, together or, behind an encoder, each by
/// itself, and of stacks that are not counted.
void warn_of_positions(const Workload& workload, double prompt, double answer, Notes& notes);

/// The fidelity of a request: the one named, or operator where the workload's shape is known, else textbook
/// (noted).
/// @throws InputError when operator fidelity is asked for and the shape is not known
[[nodiscard]] Fidelity fidelity_or_default(std::optional<Fidelity> fidelity, const Workload& workload,
                                           Notes& notes);
/// The fidelity of a request that needs no shape of a workload: the one named, or operators.
[[nodiscard]] inline Fidelity fidelity_or_operators(std::optional<Fidelity> fidelity) {
  return fidelity.value_or(Fidelity::operator_level);
}

/// The numbers of a device at one precision; every convention that fills a gap is noted.
///
/// The phase decides what is not asked for: training launches kernels one by one (`Execution::eager`) and
/// runs for ever, so that nothing is left of the gain of a short burst; the other phases replay a captured
/// graph.
/// @throws LookupError when the device has no rate at this precision; InputError when it has no memory
/// figures
[[nodiscard]] Device<> device_view(const HardwareNode& hardware, Precision precision,
                                   const Conventions& conventions, Notes& notes, Phase phase = Phase::decode,
                                   std::optional<Execution> execution = std::nullopt);
/// Attention multiplies in the format of the cache, 16 bits or fp8, on a device that can; queries are cast.
void set_cache_format(Device<>& device, const HardwareNode& hardware, Precision precision,
                      std::optional<Precision> kv_precision);
/// Replaces the sustained share of the matrix rate, and the burst above it, by the caller's.
void set_matrix_share(Device<>& device, std::optional<double> share);

/// How kernels reach the device under a runtime: as asked, as the runtime says, or absent.
[[nodiscard]] std::optional<Execution> execution_of(std::optional<Execution> asked,
                                                    const ServingEngine* runtime);
/// Gives a device the software of a runtime that does not fuse its kernels, and the host time of a launch
/// that it states. Nothing changes without a runtime, and with one that states neither.
void set_software(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                  Precision precision, const ModelView<>& model, const Conventions& conventions,
                  Notes& notes);
/// Applies a runtime's choices for a served model: its attention kernel, and whether weights of few bits are
/// widened in memory.
void set_operators(const ServingEngine* runtime, Structure& structure, Plan<>& plan, Notes& notes);

/// Constants of a family for routed experts that are stored in `format`, on a device: those of its class and
/// of the nearest stored format within a factor of 1.5 in bits, the first of several. Null where it has none.
/// @param multiplies width of the arithmetic, where it is asked for
/// @param tuned for shapes with tuned tiles; where the family has no constants for them, those of all shapes
[[nodiscard]] const ExpertRates* expert_rates(const KernelFamily& family, const HardwareNode& hardware,
                                              WeightFormat format,
                                              std::optional<Precision> multiplies = std::nullopt,
                                              bool tuned = false);
/// Shapes of experts for which a family, or what it extends, has tuned tiles on a device. A variant of a
/// device has those of its own name only.
[[nodiscard]] std::vector<ExpertShape> tuned_shapes(const KernelFamily& family, const HardwareNode& hardware,
                                                    WeightFormat format);
/// Gives a device the kernels of a family for routed experts.
/// @param chained_floor share of the floor that counts: 1 for one layer replayed by itself
void set_expert_kernels(Device<>& device, const ExpertRates& rates, const HardwareNode& hardware,
                        double chained_floor);
/// Uses the family that a runtime, or the nearest one that it extends, names for experts stored in `format`;
/// noted. Without a family, or constants of it, experts run as other products do.
void set_expert_kernels(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                        WeightFormat format, const Conventions& conventions, Notes& notes);

/// Gives a device the kernels of a family for linear attention: of each rule those of the nearest family
/// along `extends` that has constants for the device's generation.
void set_recurrences(Device<>& device, const KernelFamily& family, const HardwareNode& hardware,
                     const Conventions& conventions, Notes& notes);
/// Uses the family of the conventions for a model that has linear attention; noted.
void set_recurrences(Device<>& device, const ModelView<>& model, const HardwareNode& hardware,
                     const Conventions& conventions, Notes& notes);

/// The conventions with the families of fused and of linear attention that a runtime, or the nearest one that
/// it extends, names.
[[nodiscard]] Conventions with_kernels(Conventions conventions, const ServingEngine* runtime);

/// Gives a device the dense products of a family: its share and stream on the device's generation and in the
/// format of the products. A device that states another share than its generation has keeps it, and so does
/// one of which the family has no constants.
void set_products(Device<>& device, const KernelFamily& family, const HardwareNode& hardware,
                  Precision precision, const Conventions& conventions, Notes& notes);
/// Uses the family that a runtime, or the nearest one that it extends, names.
void set_products(Device<>& device, const ServingEngine* runtime, const HardwareNode& hardware,
                  Precision precision, const Conventions& conventions, Notes& notes);

/// Memory that a model of `weights` bytes works from: on-chip SRAM where it fits, else flash where there is
/// one, else main memory.
struct MemoryLevel {
  Bandwidth<> bandwidth;
  Data<> capacity;
  std::string_view name;
};
[[nodiscard]] MemoryLevel memory_level(const HardwareNode& hardware, Data<> weights);

/// Devices of one kind joined by the device link alone, all in one node. In serving, the engine brings
/// all-reduce kernels of its own; training and plain inference use the library's.
[[nodiscard]] Links<> links_view(const HardwareNode& hardware, double devices, const Conventions& conventions,
                                 Notes& notes, Phase phase = Phase::training);
/// The two levels of a fleet.
[[nodiscard]] Links<> links_view(const Fleet& fleet, const Conventions& conventions, Notes& notes,
                                 Phase phase = Phase::training);

/// Structure and sizes of a workload for one phase.
/// @throws InputError naming what is missing from the shape
[[nodiscard]] ModelView<> model_view(const Workload& workload, Phase phase);

/// Storage of weights, activations, KV entries, gradients and optimizer states.
struct Storage {
  double weight_bytes, activation_bytes, kv_bytes, gradient_bytes, state_bytes;
  double matrix_state_bytes;  ///< state of a weight matrix inside the blocks; Muon keeps one moment of it
};
/// Inference: weights at `precision`; activations at 2 B or the precision if wider; KV at `kv_precision`, by
/// default `precision` when it has at least 8 bits, else 16 bits.
[[nodiscard]] Storage inference_storage(Precision precision, std::optional<Precision> kv_precision);
/// The format in which keys and values are kept where nobody names one.
[[nodiscard]] std::string_view kv_format_words(Precision precision);
/// Training: weights, gradients and activations at 16 bits for formats of 16 bits and less, else at the
/// format; the optimizer adds its moments and, beside narrow weights, an fp32 master copy.
[[nodiscard]] Storage training_storage(Precision precision, OptimizerKind optimizer);
/// Fills the bytes of a plan. Tokens travel to experts as activations.
void set_storage(Plan<>& plan, const Storage& storage);

/// Weights of the whole model, counted from its shape [param]; the published number where there is no shape.
[[nodiscard]] Params<> parameter_count(const Workload& workload);
/// Weights that one token uses, counted from the shape: of the routed experts only `top_k` [param].
[[nodiscard]] Params<> active_parameter_count(const Workload& workload);
/// KV cache of one sequence of `tokens`, from the operator list [B].
[[nodiscard]] Data<> kv_cache_bytes(const Workload& workload, double tokens, double batch,
                                    Precision precision);

}  // namespace mlsysim
