#pragma once
/// Memory of one serving device, item by item: weights, KV cache, activations and reserve.
///
/// Items are sums over the operator list, and the total is that of the memory model (`memory_of`).
/// An engine's rule divides the rest: cache pool, tokens that fit, margin (EngineMemory).
/// Towers are counted too. Draft layers are a draft of its own, which is loaded to speculate.
///
/// Example: Llama-3.1-8B as stored, one request of 8,192 tokens on an H100.
/// Weights 16.1 GB, keys and values 1.07 GB (131,072 B per token), in all 18.7 GB.

#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

struct EngineMemoryRule;

struct HardwareNode;
struct ServingEngine;

/// Use of an item's bytes. Those of `host` lie in host memory.
enum class MemoryPart : std::uint8_t {
  weights,
  cache,
  index_keys,
  state,
  activations,
  logits,
  reserve,
  margin,
  host
};
template <> struct Choices<MemoryPart> {
  static constexpr std::string_view what = "part of the memory";
  static constexpr std::array<std::string_view, 9> names{
      "weights", "cache", "index_keys", "state", "activations", "logits", "reserve", "margin", "host"};
};

struct MemoryItem {
  MemoryPart part = MemoryPart::weights;
  std::string what;   ///< "keys and values, window 128"
  double layers = 0;  ///< that have it; 0: none in particular
  Params<> weights;   ///< of an item of weights
  Data<> bytes;
  Data<> per_token{};  ///< of a cache: what one more token of a sequence adds while nothing is capped
  double cap = 0;      ///< tokens after which a cache does not grow; 0: it always does
};

/// Memory settings of an engine for one device. An absent setting keeps the engine's default.
struct EngineShares {
  std::optional<double> fraction;      ///< (0, 1] of the device, in the engine's own sense
  std::optional<double> pass_tokens;   ///< of the largest pass [1, ...)
  std::optional<double> block_tokens;  ///< of a block of the cache [1, ...)
  std::optional<Data<>> cache;         ///< of the pool itself; the fraction has no say then
  std::optional<Data<>> margin;        ///< kept free beside all else, in place of the engine's own
};

struct MemoryQuestion {
  const Workload* model = nullptr;
  const HardwareNode* device = nullptr;   ///< null: without a capacity and a reserve
  double context = UsualRequest::tokens;  ///< of each request [1, ...)
  double requests = 1;                    ///< requests of each expert-parallel rank that hold a cache
  double tensor_parallel = 1, expert_parallel = 1;
  std::optional<Precision> precision;           ///< of all weights; absent: as the model is stored
  std::optional<WeightFormat> weight_format{};  ///< in place of it
  std::optional<Precision>
      kv_precision;  ///< absent: as the model says, else that of its weights, 16 bits at least
  const ServingEngine* engine = nullptr;  ///< whose rule makes the pool of the cache; null: none
  EngineShares shares{};
  double offload_weights = 0, offload_experts = 0;  ///< shares in host memory, see Plan
};

/// The memory of a device as an engine divides it, with the pool of its cache.
struct EngineMemory {
  std::vector<MemoryItem> held;  ///< what it keeps from the cache beside weights
  Data<> pool;                   ///< bytes of its cache
  double tokens = 0;             ///< that fit, all requests together, at the mean of this context
  bool fits = false;             ///< the requests that were asked for
  Data<> excess{};               ///< of a cache whose bytes are given over what is left for it
  std::vector<std::string> notes;
};

struct MemoryAccount {
  std::vector<MemoryItem> items;
  MemoryBreakdown<> memory;  ///< of the memory model
  std::optional<EngineMemory> engine;
  Params<> parameters;                    ///< of the main stack, or of encoder and decoder
  std::vector<std::string> not_modelled;  ///< what no item holds
  std::vector<std::string> notes;

  /// Bytes of the items of a part.
  [[nodiscard]] Data<> sum(MemoryPart part) const;
};

/// @throws InputError where the model states no layers or how the engine reserves is not known, DomainError
/// for a count below one
[[nodiscard]] MemoryAccount memory_account(const MemoryQuestion& question, const Conventions& conventions);

/// Weights of the towers of a model, of images or sound, on all tensor-parallel ranks [B].
/// @throws InputError where the question names no model with layers
[[nodiscard]] Data<> tower_weights(MemoryQuestion question);

/// Shares of the memory to try above an engine's, in hundredths from small to large. Engines fail on less
/// than a fiftieth beside them. Without a share they begin at 0.9, the usual default.
[[nodiscard]] std::vector<double> larger_shares(std::optional<double> fraction);

namespace detail {

/// Inputs of a table that decides an engine's share of the memory.
struct ShareDemand {
  Data<> total;  ///< of the device
  double pass_tokens = 1, ranks = 1, tensor_parallel = 1;
  bool latent = false;  ///< multi-head latent attention
};
/// The share of the memory that an engine takes by itself: its default, or what its table leaves.
[[nodiscard]] double engine_share(const EngineMemoryRule& rule, const ShareDemand& demand);
/// Tokens of the largest pass that an engine prepares for on such a device.
[[nodiscard]] double batched_tokens(const EngineMemoryRule& rule, Data<> total);
/// Requests of the largest step that it captures there; none where that is not known.
[[nodiscard]] std::optional<double> graph_requests(const EngineMemoryRule& rule, Data<> total,
                                                   double tensor_parallel);

}  // namespace detail

}  // namespace mlsysim
