#pragma once
/// One operator on one device. A model becomes a list of these. Time, memory and bytes are sums over the
/// list.
///
///     product = copies x (m x k)(k x n)          amounts are per execution, `count` executions make one pass
///
/// Example: QKV projection, Llama-3.1-70B, TP 8, decode of 16 sequences: m = 16, k = 8192, n = 1280.
/// 21 MB of bf16 weights, 80 executions.

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/units/quantity.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace mlsysim {

/// The kind of an operator, which selects its cost model.
enum class OpKind : std::uint8_t {
  matmul,
  attention,
  elementwise,
  gather,
  convolution,
  recurrence,
  collective,
  host_transfer,
  host_compute  ///< on the host, which reads its own memory for it
};
template <> inline constexpr auto names_of<OpKind> = ChoiceNames{"kind of operator"};

/// The part of the model that an operator belongs to; reports group by it.
enum class OpGroup : std::uint8_t {
  embedding,
  attention,
  feed_forward,
  experts,
  norm,
  head,
  convolution,
  communication,
  optimizer,
  program
};
template <> inline constexpr auto names_of<OpGroup> = ChoiceNames{"group of operators"};

/// When an operator runs. The gradients of weights are apart from the rest of the backward pass, because
/// nothing waits for them but the optimizer.
enum class Pass : std::uint8_t { forward, recompute, backward, weight_gradient, update };
inline constexpr std::size_t kPasses = 5;
template <> inline constexpr auto names_of<Pass> = ChoiceNames{"pass"};
static_assert(Choices<Pass>::names.size() == kPasses);

/// Where in a pipeline an operator runs: in each block, once on the first or the last stage, or once on every
/// stage.
enum class StageScope : std::uint8_t { every_block, first, last, every_stage };
inline constexpr std::size_t kStageScopes = 4;

/// The work that can hide a collective or transfer.
enum class OverlapWith : std::uint8_t {
  nothing,  ///< what follows waits for it
  pass,     ///< the other blocks of its pass: it was issued ahead
  product,  ///< the product that makes or takes its message, piece by piece
  marked    ///< the operators of the pass that are marked as such
};

/// The keys of an attention, by which its kernel is another one.
enum class Keys : std::uint8_t {
  cached,     ///< of a cache: divided over the units where that is faster
  undivided,  ///< of a cache, by a kernel that does not divide them
  made,       ///< made in this pass for every head, where they lie
  latents,    ///< latents that all heads share
  chosen      ///< likewise, and each query has entries of its own
};

/// Pattern of a collective.
enum class Collective : std::uint8_t {
  none,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  point_to_point
};
template <> inline constexpr auto names_of<Collective> = ChoiceNames{"collective"};

/// Between whom a collective or transfer runs; results report the network by it.
enum class CommGroup : std::uint8_t { none, tp, cp, ep, pp, dp, host };
inline constexpr std::size_t kCommGroups = 7;
template <> inline constexpr auto names_of<CommGroup> = ChoiceNames{"communication group"};
static_assert(Choices<CommGroup>::names.size() == kCommGroups);

/// Where the rows of an all-to-all go where a router chose: to `top_k` of `experts`, which lie in `limited`
/// of `groups`. experts 0: equal parts for all ranks.
template <class T = double> struct RoutedRows {
  T experts{0.0}, top_k{1.0}, groups{1.0}, limited{1.0};
  bool one_copy = false;  ///< once to each node and rank on the way, and not once for each expert
};

/// Arithmetic of the backward pass of fused attention over that of the forward pass: five products for two,
/// because the scores are formed again. @cite dao2022flashattention, section 3.1
inline constexpr double kAttentionBackward = 2.5;

/// Kind, place and amounts of one operator.
template <class T = double> struct Op {
  OpKind kind = OpKind::elementwise;
  OpGroup group = OpGroup::norm;
  Pass pass = Pass::forward;
  Collective collective = Collective::none;
  CommGroup comm_group = CommGroup::none;
  StageScope place = StageScope::every_block;
  OverlapWith overlap_with = OverlapWith::nothing;
  Parts parts{};             ///< what this operator belongs to
  Parts recompute_parts{};   ///< parts that recomputation must repeat in place of keeping `saved_bytes`
  bool stays_16bit = false;  ///< a product that stays at 16 bits in narrow training
  bool dequantizes_in_kernel =
      false;  ///< a product whose kernel widens its weights on their way, warp by warp
  Recurrence recurrence = Recurrence::none;  ///< kernels of linear attention that it stands for
  bool stepping = false;                     ///< linear attention in steps of decoding
  Keys keys = Keys::cached;                  ///< of an attention
  std::string_view name{};                   ///< static text, e.g. "qkv_projection"
  T count{1.0};
  T m{0.0}, n{0.0}, k{0.0}, copies{1.0};  ///< extents of a product: copies x (m x k) (k x n)
  // A collective that joins products has m rows.
  // Linear attention: m tokens of a sequence, copies x (k x n) states. Its convolutions: copies sequences.
  T attended_keys{0.0};         ///< attention: keys that a query sees, mean; 0: all n
  T group_heads{1.0};           ///< attention: query heads that share a key-value head
  T searched{0.0};              ///< rows that are searched for their highest values, one a block
  T biased{0.0};                ///< product: 1 where a bias is added to its output
  T merged_matrices{1.0};       ///< product: weight matrices that lie side by side in it
  T device_experts{0.0};        ///< of a layer of routed experts: how many the device holds
  T expert_width{0.0};          ///< and the width of one of them there
  T fewer_products{1.0};        ///< convolution in fp32: multiplications over those of F(2x2, 3x3)
  Work<T> work;                 ///< multiplies and adds
  Data<T> memory_bytes;         ///< bytes to and from memory, intermediates on chip
  Params<T> params;             ///< weights stored for it on this device
  Data<T> saved_bytes;          ///< activations kept for the backward pass
  Data<T> recomputed_bytes;     ///< activations that recomputation restores, one execution
  Data<T> working_set;          ///< activations in and out
  Data<T> state;                ///< KV or recurrent state held
  Data<T> message;              ///< payload of a collective, per rank (all_gather, reduce_scatter: the whole)
  Data<T> message_back;         ///< payload of the experts' exchange in the backward pass, per rank
  T ranks{1.0};                 ///< participants
  T stride{1.0};                ///< devices between neighbors of the group: 1 is innermost
  Bandwidth<T> host_bandwidth;  ///< of the host's memory, where the host computes
  RoutedRows<T> routed;  ///< of the experts' exchange, whose message counts each row once for each expert

  /// Whether it is a kernel of the device.
  [[nodiscard]] bool on_device() const {
    return kind != OpKind::collective && kind != OpKind::host_transfer && kind != OpKind::host_compute;
  }
};

/// Kernels of a layer of routed experts as the lowering lists them: three that choose and order, one that
/// gathers, two products, the activation, the sum.
inline constexpr double kExpertKernels = 8;

/// A list of operators. The first `capacity` of them, more than a model of a few kinds of layers has, need no
/// allocation.
template <class T = double> class OpList {
 public:
  static constexpr std::size_t capacity = 288;

  OpList() = default;
  OpList(const OpList&) = delete;
  OpList& operator=(const OpList&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  /// Makes room for `count` records more; the ones that are there may move.
  void reserve(std::size_t count) {
    if (size_ + count <= room_) return;
    const std::size_t room = 2 * room_ + count;
    auto larger = std::make_unique_for_overwrite<Block[]>(room);
    for (std::size_t i = 0; i < size_; ++i)
      std::construct_at(reinterpret_cast<Op<T>*>(&larger[i]), data()[i]);
    more_ = std::move(larger);
    room_ = room;
  }
  /// Appends an empty record and returns it, to be filled in place: a record is two cache lines, and copying
  /// one that was just written costs more than writing it. Rules reserve room before they take
  /// references, so overflow here is a programming error.
  Op<T>& push() {
    if (size_ == room_) throw_full();
    return *std::construct_at(data() + size_++);
  }
  /// Appends a copy.
  Op<T>& push(const Op<T>& op) {
    if (size_ == room_) throw_full();
    return *std::construct_at(data() + size_++, op);
  }
  [[nodiscard]] Op<T>& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] const Op<T>& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] const Op<T>* begin() const { return data(); }
  [[nodiscard]] const Op<T>* end() const { return data() + size_; }
  [[nodiscard]] std::span<const Op<T>> span() const { return {data(), size_}; }

 private:
  [[noreturn]] static void throw_full() { throw std::bad_alloc(); }
  // Raw bytes: constructing all records up front would cost more than a whole lowering.
  struct alignas(Op<T>) Block {
    std::array<std::byte, sizeof(Op<T>)> bytes;
  };
  [[nodiscard]] Op<T>* data() {
    return std::launder(reinterpret_cast<Op<T>*>(more_ ? more_.get() : storage_.data()));
  }
  [[nodiscard]] const Op<T>* data() const {
    return std::launder(reinterpret_cast<const Op<T>*>(more_ ? more_.get() : storage_.data()));
  }

  std::array<Block, capacity> storage_;
  std::unique_ptr<Block[]> more_;  ///< holds all records where `capacity` is too little
  std::size_t room_ = capacity;
  std::size_t size_ = 0;
};

}  // namespace mlsysim
