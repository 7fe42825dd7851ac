#pragma once
/// Attention of one layer: query-key pairs, arithmetic, bytes, and the time of one fused kernel.
///
///   pairs      = n p + n (n + 1) / 2 with a causal mask, n (n + p) without
///   work       = 2 batch heads pairs (qk_dim + v_dim)                                  [FLOP]
///   kv_traffic = batch kv_heads (n + p) (qk_dim + v_dim) kv_bytes                      [B]
///   time       = launch + min(sqrt(whole^2 + memory^2), sqrt(divided^2 + memory^2) + split)   [s]
///
/// n: new tokens, p: cached tokens, per sequence. pairs: per head and sequence. whole, divided: time of the
/// blocks with whole keys and with keys split over the units. memory: traffic over bandwidth.
/// Limits: scores stay on chip, keys and values are read once, softmax operations are not in work.
/// Example: n 2048, p 0, batch 1, 32 heads, 8 KV heads, heads of 128, 2 B: 2,098,176 pairs, 34.4 GFLOP,
/// 8.39 MB of keys and values.
/// @cite dao2022flashattention, theorem 1 and algorithm 1
/// @cite dao2024flashattention2, section 3.2

#include <mlsysim/physics/roofline.hpp>

namespace mlsysim {

/// Arithmetic and traffic of fused attention over one layer [FLOP, B].
///
/// Each pair costs qk_dim multiply-adds for the score and v_dim for the weighted sum. Keys and values cross
/// the memory interface once per KV head. Causal pairs are exact: a kernel that skips no masked tile does up
/// to twice this work. Ranges: all counts >= 0 and integral, kv_heads <= heads, causal 0 or 1.
/// @cite dao2022flashattention, theorem 1 and algorithm 1
struct AttentionWork {
  static constexpr LawInfo info{
      "AttentionWork",
      "work = 2 batch heads pairs (qk_dim + v_dim); pairs = n p + n (n + 1) / 2 where causal",
      "dao2022flashattention", "theorem 1, algorithm 1",
      "fused: scores never leave the chip; keys and values are read once; softmax not counted"};
  template <class T> struct Inputs {
    T batch, heads, kv_heads, qk_dim, v_dim, new_tokens, past_tokens, causal;
    Data<T> io_bytes, kv_bytes;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::batch, "batch", "", "sequences").non_negative().counted(),
          field(&Inputs::heads, key::heads), field(&Inputs::kv_heads, key::kv_heads),
          field(&Inputs::qk_dim, "qk_dim", "", "width of a query or key head").non_negative().counted(),
          field(&Inputs::v_dim, "v_dim", "", "width of a value head").non_negative().counted(),
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").non_negative().counted(),
          field(&Inputs::past_tokens, "past_tokens", "", "tokens per sequence already cached")
              .non_negative()
              .counted(),
          field(&Inputs::causal, "causal", "", "1: a token sees itself and earlier ones; 0: all")
              .within(0, 1)
              .counted(),
          field(&Inputs::io_bytes, "io_bytes", "B", "storage of one element of queries and outputs")
              .non_negative(),
          field(&Inputs::kv_bytes, "kv_bytes", "B", "storage of one element of keys and values")
              .non_negative());
    }
  };
  template <class T> struct Result {
    T pairs;
    Work<T> work;
    Data<T> qo_traffic, kv_traffic;
    static constexpr auto fields() {
      return rows(field(&Result::pairs, "pairs", "", "query-key pairs per head and sequence"),
                  field(&Result::work, key::work),
                  field(&Result::qo_traffic, "qo_traffic", "GB", "queries read and outputs written"),
                  field(&Result::kv_traffic, "kv_traffic", "GB", "keys and values read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T own = select(in.causal > 0.5, T(0.5 * (in.new_tokens + 1.0)), in.new_tokens);
    const T pairs = named("pairs", in.new_tokens * (in.past_tokens + own));
    const T widths = in.qk_dim + in.v_dim;
    return {.pairs = pairs,
            .work = in.batch * in.heads * pairs * widths * (2.0 * unit::FLOP),
            .qo_traffic = in.batch * in.heads * in.new_tokens * widths * in.io_bytes,
            .kv_traffic = in.batch * in.kv_heads * (in.new_tokens + in.past_tokens) * widths * in.kv_bytes};
  }
};

/// Query-key pairs and distinct keys of causal attention in a sliding window [count].
///
/// The i-th of n new tokens after p cached ones sees min(p + i, window) tokens, itself included. The first
/// k = clamp(window - p, 0, n) tokens are not yet limited: pairs = k p + k (k + 1) / 2 + (n - k) window.
/// keys = min(p + n, window + n - 1) tokens are read. Example: n 10, p 0, window 4: 34 pairs, 10 keys.
/// Ranges: n, window >= 1, p >= 0; all integral.
/// @cite beltagy2020longformer, section 3.1
struct WindowedAttentionPairs {
  static constexpr LawInfo info{
      "WindowedAttentionPairs", "pairs = k p + k (k + 1) / 2 + (n - k) window; k = clamp(window - p, 0, n)",
      "beltagy2020longformer", "section 3.1", "causal window that includes the token itself"};
  template <class T> struct Inputs {
    T new_tokens, past_tokens, window;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").at_least(1).counted(),
          field(&Inputs::past_tokens, "past_tokens", "", "earlier tokens per sequence")
              .non_negative()
              .counted(),
          field(&Inputs::window, "window", "", "tokens that one token sees, itself included")
              .at_least(1)
              .counted());
    }
  };
  template <class T> struct Result {
    T pairs, keys;
    static constexpr auto fields() {
      return rows(field(&Result::pairs, "pairs", "", "query-key pairs per head and sequence"),
                  field(&Result::keys, "keys", "", "distinct tokens whose keys and values are read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T growing = named("growing", clamp(T(in.window - in.past_tokens), T(0.0), in.new_tokens));
    const T pairs =
        growing * (in.past_tokens + 0.5 * (growing + 1.0)) + (in.new_tokens - growing) * in.window;
    // The number of tokens seen is a concave function of the position. Its mean therefore lies between the
    // mean of its ends and its value at the middle. The clamp changes no point, it only tightens ranges.
    const T ends =
        min(T(in.past_tokens + 1.0), in.window) + min(T(in.past_tokens + in.new_tokens), in.window);
    const T middle = min(T(in.past_tokens + 0.5 * (in.new_tokens + 1.0)), in.window);
    return {.pairs = clamp(pairs, T(in.new_tokens * (0.5 * ends)), T(in.new_tokens * middle)),
            .keys = in.new_tokens + min(in.past_tokens, T(in.window - 1.0))};
  }
};

/// Query-key pairs and distinct keys of causal attention in chunks [count].
///
/// A token sees the tokens of its own chunk up to itself: the x-th token of a sequence has x - c floor((x -
/// 1) / c) of them. Up to the x-th token that are F(x) = q c (c + 1) / 2 + r (r + 1) / 2 pairs, with q =
/// floor(x / c) and r = x - q c. pairs = F(p + n) - F(p); keys = p + n - c floor(p / c), the chunk of the
/// first new token and those after it. With p + n <= c it is full attention. Example: n 10, p 0, c 4: 23
/// pairs. Ranges: n, c >= 1, p >= 0; all integral.
/// @cite meta-llama4-card
struct ChunkedAttentionPairs {
  static constexpr LawInfo info{
      "ChunkedAttentionPairs",
      "pairs = F(p + n) - F(p); F(x) = q c (c + 1) / 2 + r (r + 1) / 2, q = floor(x / "
      "c), r = x - q c",
      "meta-llama4-card", "attention in chunks",
      "chunks begin at multiples of their length from the first token"};
  template <class T> struct Inputs {
    T new_tokens, past_tokens, chunk;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").at_least(1).counted(),
          field(&Inputs::past_tokens, "past_tokens", "", "earlier tokens per sequence")
              .non_negative()
              .counted(),
          field(&Inputs::chunk, "chunk", "", "tokens of one chunk").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    T pairs, keys;
    static constexpr auto fields() {
      return rows(field(&Result::pairs, "pairs", "", "query-key pairs per head and sequence"),
                  field(&Result::keys, "keys", "", "distinct tokens whose keys and values are read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto up_to = [&](const T& tokens) {
      const T whole = floor(tokens / in.chunk), rest = tokens - whole * in.chunk;
      return T(0.5 * (whole * in.chunk * (in.chunk + 1.0) + rest * (rest + 1.0)));
    };
    const T all = named("tokens", in.past_tokens + in.new_tokens);
    return {.pairs = up_to(all) - up_to(in.past_tokens),
            .keys = all - in.chunk * floor(in.past_tokens / in.chunk)};
  }
};

/// Time of one fused attention kernel, new tokens against the tokens they see [s].
///
/// Each unit takes blocks of `block_tile` query rows of one head. The `group` query heads that share a
/// key-value head may fill one block together. A block costs a fixed time, the reading and writing of its
/// rows, and one step for each `tile` keys. A step takes overlap(products, softmax), at least `least_step`,
/// the time in which a unit gets its keys. Products are padded to an eighth of a tile. The softmax runs
/// beside the matrix engine and gains nothing from narrower formats. The mean query sees `reach` keys, and
/// the block on the diagonal is computed whole. With few blocks units idle, and the longest block decides.
/// The keys may also be split over the units at the fixed cost `split`, and the library takes the faster
/// way. Kernels that read fresh keys instead of a cache do not split them (`no_split_kv` 1). With memory as
/// in MatmulTime and overlap(a, b) = sqrt(a^2 + b^2):
///     time = launch + min(overlap(max(all / units, longest), memory),
///                         overlap(max(all / units, shortest), memory) + split)
/// Ranges: all counts >= 0 and integral, tile and units >= 1, rates > 0. copies 0 costs exactly 0.
/// @cite dao2024flashattention2, section 3.2 (blocks of rows over units); flashdecoding2023 (split keys)
struct AttentionTime {
  static constexpr LawInfo info{
      "AttentionTime",
      "time = launch + min(blocks over units, keys split over units + split), each with memory",
      "dao2024flashattention2", "section 3.2, with the split of Flash-Decoding",
      "one fused kernel; sequences of equal length; the diagonal block is not skipped in part"};
  template <class T> struct Inputs {
    T copies, group, new_tokens, keys, reach, no_split_kv;
    Work<T> pair_work;
    Time<T> pair_softmax;
    Data<T> traffic;
    T tile, block_tile, units;
    ComputeRate<T> peak;
    Bandwidth<T> bandwidth;
    Time<T> launch, block, block_rows, least_step, split;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::copies, "copies", "", "sequences times query heads").non_negative().counted(),
          field(&Inputs::group, "group", "", "query heads that share one key-value head")
              .at_least(1)
              .counted(),
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").at_least(1).counted(),
          field(&Inputs::keys, "keys", "", "distinct keys per sequence").at_least(1).counted(),
          field(&Inputs::reach, "reach", "", "keys that one query sees, mean").non_negative(),
          field(&Inputs::no_split_kv, "no_split_kv", "",
                "1: keys are not split over the units; 0: they may be")
              .within(0, 1)
              .counted(),
          field(&Inputs::pair_work, "pair_work", "FLOP", "products of one query-key pair").non_negative(),
          field(&Inputs::pair_softmax, "pair_softmax", "ns", "softmax of one pair, whole device")
              .non_negative(),
          field(&Inputs::traffic, key::traffic),
          field(&Inputs::tile, "tile", "", "keys of one step").at_least(1).counted(),
          field(&Inputs::block_tile, "block_tile", "", "query rows of one block").at_least(1).counted(),
          field(&Inputs::units, "units", "", "blocks in flight on the device").at_least(1).counted(),
          field(&Inputs::peak, key::peak), field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::launch, key::launch),
          field(&Inputs::block, "block", "us", "fixed time of one block").non_negative(),
          field(&Inputs::block_rows, "block_rows", "us", "`tile` rows of a block, in and out").non_negative(),
          field(&Inputs::least_step, "least_step", "us", "getting `tile` keys to a unit").non_negative(),
          field(&Inputs::split, "split", "us", "adding up the parts of split keys").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, compute, memory;
    static constexpr auto fields() {
      return rows(field(&Result::time, key::time),
                  field(&Result::compute, "compute", "ms", "time of the blocks, the faster way"),
                  field(&Result::memory, "memory", "ms", "time that memory traffic alone needs"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T packed = in.new_tokens * in.group;
    const T blocks = named("blocks", in.copies * min(T(ceil_div(packed, in.block_tile) / in.group),
                                                     ceil_div(in.new_tokens, in.block_tile)));
    const T rows_used = min(packed, in.block_tile);
    const T grain = 0.125 * in.tile;  // rows of one matrix instruction
    const T padded = grain * ceil_div(rows_used, grain);
    const T last = ceil_div(min(in.keys, T(2.0 * in.reach)), in.tile);
    // One query takes whole steps; of several the mean one ends within its last.
    const T within = in.reach / in.tile + 0.5 * max(in.block_tile / in.tile, T(1.0));
    const T mean = select(in.new_tokens > T(1.0), min(within, last), last);
    const T pairs = padded * in.tile * in.units;
    const Time<T> step = max(
        quadrature(Time<T>(pairs * in.pair_work / in.peak), Time<T>(pairs * in.pair_softmax)), in.least_step);
    const Time<T> fixed = in.block + in.block_rows * (rows_used / in.tile);
    const auto all = named("all", blocks / in.units * (fixed + mean * step));
    const T present = min(in.copies, T(1.0));
    const Time<T> longest = (fixed + last * step) * present, shortest = (fixed + 0.5 * step) * present;
    const auto memory = named("memory", in.traffic / in.bandwidth);
    const Time<T> whole = max(all, longest), spread = max(all, shortest);
    const Time<T> undivided = quadrature(whole, memory), divided = quadrature(spread, memory) + in.split;
    const auto keeps = in.no_split_kv > 0.5;
    return {.time = in.launch * present + select(keeps, undivided, min(undivided, divided)),
            .compute = select(keeps, whole, min(whole, spread + in.split)),
            .memory = memory};
  }
};

}  // namespace mlsysim
