#pragma once
/// How a served model's weights are stored, by tensor group, apart from the format of the arithmetic.
///
///     bytes of a weight = (element bits + scale bits / block) / 8
///
/// block: weights that share one scale. Embedding, head, router and norms often stay at 16 bits.
/// @cite ocp2023mx
///
/// Example: mxfp4 has 4-bit elements and an 8-bit scale for 32 of them: (4 + 8 / 32) / 8 = 0.53125 B.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// The tensors of a model in a named format; of `as_stored` those that the entry states.
///
/// Quantizers leave embedding, head, router and norms at 16 bits; the formats of GGUF hold them too.
/// Bits of a weight with its scales: fp8_block 8.002 (fp32 for 128 x 128), mxfp4 4.25 (8 bits for 32,
/// ocp2023mx), nvfp4 4.5 (8 bits for 16), int4 4.156 (GPTQ and AWQ: scale of 16 and zero of 4 bits for 128),
/// nf4 4.127 (scales quantized again, dettmers2023qlora section 3), q8_0 8.5, q6_k 6.5625, q4_0 4.5 (blocks
/// of llama.cpp), q4_k_m 4.85 (mean of a file of llama.cpp). Other files of llama.cpp mix layouts: blocks,
/// embedding and head have bits of their own.
[[nodiscard]] std::vector<StoredFormat> formats_of(const Workload& workload, WeightFormat format);

/// The tensors of a model that computes in a format: one below 16 bits leaves embedding, head, router and
/// norms at 16, as quantizers do.
[[nodiscard]] std::vector<StoredFormat> formats_of(Precision precision);

/// Bytes of a weight of a matrix in a named format, with its share of the scales; of `as_stored` 0.
[[nodiscard]] double bytes_of(WeightFormat format);

/// How the groups of tensors of a model are stored.
class StoredFormats {
 public:
  /// @param formats must outlive this
  explicit StoredFormats(std::span<const StoredFormat> formats) : formats_(formats) {}

  [[nodiscard]] const StoredFormat* of(TensorGroup group) const;
  /// Bytes of one weight of a matrix, with its share of the scales.
  [[nodiscard]] double matrix(TensorGroup group) const;
  /// Bytes of one weight that stands in no matrix: norms and biases are not quantized.
  [[nodiscard]] double vector() const { return bytes_per_element(base()); }
  [[nodiscard]] Precision base() const;
  /// Bytes of a cached value: as the files say, else as the weights outside the matrices, 16 bits at least.
  [[nodiscard]] double cache() const;

 private:
  std::span<const StoredFormat> formats_;
};

/// The group of tensors to which the weights of an operator belong.
/// @param mixer of the layer, where the operator belongs to one
[[nodiscard]] TensorGroup tensor_group_of(const Op<>& op, const MixerView<>* mixer, StackRole role);
/// Whether an operator begins the layers of the next kind of mixer.
[[nodiscard]] bool begins_mixer(std::string_view op);
/// Weights of an operator's layers that stand in matrices [count]; the rest are norms, biases and the like.
[[nodiscard]] double matrix_weights(const Op<>& op);

/// The weights of a served model on a device, and the format in which it computes.
struct ServedFormat {
  Precision precision = Precision::fp16;  ///< of the arithmetic
  std::optional<Precision> kv_precision;  ///< of the cache; absent: as the arithmetic
  bool kv_stored = false;                 ///< the files of the model say so
  bool apart = false;  ///< weights are stored in another format than that of the arithmetic
  DataPerParam<> block, expert, edge, whole;  ///< of a weight: of the blocks, routed experts, ends; all, mean
  WeightFormat experts = WeightFormat::bf16;  ///< of routed experts, by its name
};
/// The formats that a request states.
struct FormatRequest {
  std::optional<Precision> precision{};
  std::optional<WeightFormat> weight_format{};
  std::optional<double> weight_bits{};
  bool from_totals = false;  ///< by textbook formulas: a named format holds for all weights and the cache
};

/// Whether a request means the files of a model that hold weights below 16 bits: it names nothing, or the
/// format in which they are multiplied on these devices anyway.
[[nodiscard]] bool means_files(const Workload& workload, const FormatRequest& request,
                               const HardwareNode& hardware, const HardwareNode* also);

/// The format in which a model is served. Named by nobody it is the model's own where its files are narrower
/// than 16 bits, else the default of the device. Weights of 8 bits, and nvfp4, are multiplied as they are
/// where every device has a rate for them; all others, and these on other devices, are widened to 16 bits on
/// their way (frantar2024marlin). A named format that the files would be multiplied in anyway changes
/// nothing. The cache has the format that the files name, else 16 bits at least, as engines keep it by
/// default.
/// @param also another device that computes, or null
/// @throws InputError for `as_stored` where the entry does not say how
[[nodiscard]] ServedFormat served_format(const Workload& workload, const FormatRequest& request,
                                         const HardwareNode& hardware, const HardwareNode* also,
                                         Notes& notes);

/// Writes the bytes of weights that are stored apart into a plan: by group where operators are listed, else
/// their mean.
void set_stored(const ServedFormat& format, bool listed, Plan<>& plan, Structure& structure);

}  // namespace mlsysim
