#pragma once
/// Numeric view of a stack of layers: every gap filled, and layers of one kind counted together.
///
/// A periodic pattern costs by the number of kinds and not by its depth.
///
/// Example: Gemma3_27B has 62 layers and two kinds of mixer: 10 with full attention, 52 with a window of
/// 1,024. DeepSeek_V3 has 61 layers and two kinds of feed-forward: 3 dense, 58 with experts.

#include <mlsysim/specs/layer_table.hpp>
#include <mlsysim/units/quantity.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mlsysim {

/// Grouped heads: multi-head, grouped-query, multi-query.
template <class T = double> struct GroupedView {
  T heads{1.0}, kv_heads{1.0}, qk_dim{0.0}, v_dim{0.0};
  T qkv_bias{0.0}, output_bias{0.0};       ///< 1 where they have a bias beside that of every product
  T qk_norm_head{0.0}, qk_norm_full{0.0};  ///< 1 with norms of one head's width, or over all heads
  T sinks{0.0}, output_gate{0.0};          ///< 1 where there are some
  T own_values{1.0};                       ///< 0 where values are projected with the keys
  bool normed = false;                     ///< queries and keys are normalized
  bool cross = false;                      ///< keys and values are those of the encoder
  friend bool operator==(const GroupedView&, const GroupedView&) = default;
};

/// Multi-head latent attention.
template <class T = double> struct LatentView {
  T heads{1.0}, q_rank{0.0}, kv_rank{0.0}, nope{0.0}, rope{0.0}, v_dim{0.0};  ///< q_rank 0: full rank
  T output_gate{0.0};
  friend bool operator==(const LatentView&, const LatentView&) = default;
};

/// Attention over a window and a compressed past, keys and values one vector.
template <class T = double> struct CompressedView {
  T heads{1.0}, width{0.0}, q_rank{0.0}, output_rank{0.0}, output_groups{1.0};
  friend bool operator==(const CompressedView&, const CompressedView&) = default;
};

/// A recurrent state per value head.
template <class T = double> struct LinearView {
  T key_heads{1.0}, value_heads{1.0}, key_dim{0.0}, value_dim{0.0}, conv_width{0.0};
  T decay_rank{0.0};           ///< of a decay for each channel
  T gate_rank{0.0};            ///< of the output gate; 0: full rank
  bool channel_decay = false;  ///< a decay for each channel, through a low rank, instead of one a head
  Data<T> state_bytes;         ///< of one value of the state
  friend bool operator==(const LinearView&, const LinearView&) = default;
};

/// A state-space block with scalar decays (Mamba-2).
template <class T = double> struct StateSpaceView {
  T heads{1.0}, head_dim{0.0}, state{0.0}, groups{1.0}, conv_width{0.0};
  T conv_bias{0.0}, bias{0.0};  ///< 1 where there is one
  Data<T> state_bytes;          ///< of one value of the state
  friend bool operator==(const StateSpaceView&, const StateSpaceView&) = default;
};

/// Which earlier tokens attention sees, and what chooses among them.
template <class T = double> struct ReachView {
  bool windowed = false, chunked = false, compressed = false, overlapping = false, selected = false;
  T window{0.0}, chunk{0.0}, block{1.0};           ///< tokens; block: those of one compressed entry
  T index_heads{0.0}, index_dim{0.0}, top_k{0.0};  ///< of the index that chooses
  T index_block{1.0}, index_pool{1.0};             ///< tokens of an entry, and of an index key
  T index_key_bytes{0.0};                          ///< of one value; 0: that of the cache
  bool index_shared = false;                       ///< uses the choice of an earlier layer
  friend bool operator==(const ReachView&, const ReachView&) = default;
};

/// One kind of mixer, and how many layers have it.
template <class T = double> struct MixerView {
  std::variant<GroupedView<T>, LatentView<T>, CompressedView<T>, LinearView<T>, StateSpaceView<T>> rule;
  ReachView<T> reach;
  T layers{0.0};
};

template <class T = double> struct DenseView {
  T width{0.0}, matrices{3.0};
  T bias{0.0};  ///< 1 where the matrices have biases beside those of every product
  friend bool operator==(const DenseView&, const DenseView&) = default;
};

template <class T = double> struct ExpertsView {
  T experts{1.0}, top_k{0.0}, width{0.0}, matrices{3.0}, shared{0.0}, shared_width{0.0};
  T hidden{0.0};  ///< width at which routed experts work
  T bias{0.0}, router_bias{0.0}, shared_gate{0.0}, latent_norm{0.0};
  T groups{1.0}, limited{1.0};  ///< groups of experts, and those of them that a token may visit
  friend bool operator==(const ExpertsView&, const ExpertsView&) = default;
};

/// One kind of feed-forward, and how many layers have it.
template <class T = double> struct FeedForwardView {
  std::variant<DenseView<T>, ExpertsView<T>> rule;
  T layers{0.0};
};

/// A stack, every gap filled. Kinds stand in the order in which they are lowered: attention over the whole
/// context, attention over a part, linear; dense before experts.
template <class T = double> struct StackView {
  T layers{0.0}, hidden{0.0}, vocab{0.0};
  T heads{1.0};                                 ///< of the first attention, which a plan may divide
  T bias{0.0};                                  ///< 1 where every product has a bias
  T norm_vectors{1.0}, norms{2.0};              ///< weight vectors of a norm; norms of a layer, mean
  T edge_norms{1.0};                            ///< norms before the first and after the last layer
  T position_rows{0.0};                         ///< rows of learned position and segment embeddings
  T patch_inputs{0.0};                          ///< values of one image patch, all channels
  T own_head{1.0};                              ///< 0 where the output shares the input embedding
  T head_bias{0.0}, pooler{0.0}, outputs{0.0};  ///< outputs: classes of an encoder's head
  T experts{1.0}, top_k{0.0};                   ///< of the first layer with experts
  T streams{1.0};                               ///< residual streams
  T lookup_values{0.0}, lookup_reads{0.0};      ///< values of further tables, and those that a token reads
  bool several_streams = false, looks_up = false;
  bool shares_ends = false;  ///< embedding and output matrix are weights of another model
  bool parallel =
      false;  ///< mixer and feed-forward read one norm, and their outputs are added before they join
  std::vector<MixerView<T>> mixers;
  std::vector<FeedForwardView<T>> feed_forwards;
  std::shared_ptr<const StackView<T>> encoder;  ///< whose output this stack reads; null without one
  const Stack* stated = nullptr;                ///< what the file says; lives in the workload
  std::size_t place = 0;                        ///< among the stacks of the workload

  /// The encoder as the file states it; null without one.
  [[nodiscard]] const Stack* stated_encoder() const { return encoder ? encoder->stated : nullptr; }
};

/// The numbers that a stack states, in the order of its table, and where they stand. Over another scalar a
/// stack is read by the places of its numbers.
class StatedNumbers {
 public:
  explicit StatedNumbers(const Stack& stack);

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  /// Position of a number of the stack.
  [[nodiscard]] std::size_t position(const double& stated) const;
  /// The numbers themselves.
  [[nodiscard]] std::vector<double> values() const;
  /// As fields with paths below `prefix`: "workload.stacks[0]." gives "workload.stacks[0].hidden".
  [[nodiscard]] std::vector<FieldInfo> fields(const std::string& prefix) const;

 private:
  const Stack* stack_;
  std::vector<const double*> order_;
  std::vector<std::pair<const double*, std::size_t>> by_place_;  ///< sorted
};

/// The view of a stack that is complete and that the rules know (`parts_without_law`), as it is stated.
/// @param place of the stack in its workload
/// @param encoder whose output it reads
template <class T = double>
[[nodiscard]] std::shared_ptr<const StackView<T>> stack_view(const Stack& stack, std::size_t place,
                                                             const Stack* encoder = nullptr);
/// The view of a stack with `values` in place of the stated numbers. The stated numbers decide which layers
/// are alike. The numbers of a kind are read where the file first states them. Those of an encoder stay as
/// they are stated.
template <class T>
[[nodiscard]] std::shared_ptr<const StackView<T>> stack_view(const Stack& stack, std::size_t place,
                                                             const StatedNumbers& numbers,
                                                             std::span<const T> values,
                                                             const Stack* encoder = nullptr);
/// The kind of mixer and of feed-forward of each place, in the order of `for_each_place`: what a tape hangs
/// on beside the forms of the tables.
[[nodiscard]] std::vector<std::size_t> kinds_of_places(const Stack& stack);

}  // namespace mlsysim
