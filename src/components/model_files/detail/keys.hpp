#pragma once
/// Meaning of configuration file keys as data: their aliases, the defaults of the classes that read them, and
/// the traits of a class that no key states.

#include <mlsysim/specs/layer_table.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mlsysim::detail {

/// One spelling of a field. The first that a file holds is taken.
struct Alias {
  std::string_view field, key;
};
[[nodiscard]] std::span<const Alias> aliases();

/// The default of a class for a field that a file does not state.
struct Default {
  std::string_view type, field;
  double value;
};
[[nodiscard]] std::optional<double> default_of(std::string_view type, std::string_view field);

/// Traits of a class that no key states.
enum Trait : std::uint32_t {
  qkv_bias = 1u << 0,
  output_bias = 1u << 1,
  sinks = 1u << 2,
  expert_bias = 1u << 3,
  router_bias = 1u << 4,
  shared_gate = 1u << 5,
  head_norm = 1u << 6,      ///< norms of one head's width on queries and keys
  full_norm = 1u << 7,      ///< norms over all heads
  four_norms = 1u << 8,     ///< norms before and after both parts of a layer
  biases = 1u << 9,         ///< every product has a bias, norms too
  ungated = 1u << 10,       ///< two matrices instead of three
  tied = 1u << 11,          ///< where tie_word_embeddings is not stated
  expert_width = 1u << 12,  ///< intermediate_size is that of an expert
  every_fourth = 1u << 13,  ///< attention in chunks, every fourth layer over everything (Llama 4)
  window_even = 1u << 14,   ///< every second layer, from the first on, has the window (Gemma 2)
  window_all = 1u << 15,    ///< sliding_window, where it is stated, is that of every layer
  output_gate = 1u << 16,
  gate_width = 1u << 17,  ///< gated where is_gated_act says so (T5)
  parallel = 1u << 18,
  joint_kinds = 1u << 19,  ///< dense and routed networks side by side in a layer (Gemma 4)
  norm_bias = 1u << 20,    ///< norms have a bias where products have none
  one_norm = 1u << 21,     ///< mixer and feed-forward read the same norm
  bare_norms = 1u << 22,   ///< norms have no weights (OLMo)
  head_bias = 1u << 23,    ///< the output matrix has a bias
  mlp_biases = 1u << 24,   ///< products of the feed-forward have a bias
  encoder = 1u << 25,
  pooler = 1u << 26,
  input_norm = 1u << 27,  ///< a norm after the embedding
  learned = 1u << 28,     ///< learned positions
  final_norm = 1u << 29,  ///< an encoder, or encoder and decoder, whose last layer is followed by a norm
  recurrent = 1u << 30,   ///< layers are state spaces (Mamba)
  crossed = 1u << 31      ///< encoder and decoder
};
struct Family {
  std::string_view type, known_as;  ///< class of the library, for notes
  std::uint32_t traits = 0;
  std::string_view missing{};  ///< what of the class cannot be stated; a file is refused for it

  [[nodiscard]] bool has(Trait t) const { return (traits & t) != 0; }
};
/// Null for a type that is not known.
[[nodiscard]] const Family* family_of(std::string_view type);
[[nodiscard]] std::span<const Family> families();

/// Keys that change neither sizes nor cache: how a model is trained, sampled, rotated or scaled.
[[nodiscard]] bool without_effect(std::string_view key);
/// Whether a key that nobody read may say something about the structure of a model.
[[nodiscard]] bool smells_of_structure(std::string_view key);
/// Whether a key speaks of layers that a plain decoder does not have: experts, states, convolutions.
[[nodiscard]] bool names_other_layers(std::string_view key);

}  // namespace mlsysim::detail
