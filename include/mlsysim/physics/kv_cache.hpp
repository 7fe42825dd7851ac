#pragma once
/// Size of the key-value cache: per token, per batch, in pages, and for multi-head latent attention (MLA).
///
///   kv_per_token  = 2 layers kv_heads head_dim element_bytes                       [B/token]
///   MLA           = layers (kv_lora_rank + rope_head_dim) element_bytes            [B/token]
///   kv_cache_size = kv_per_token seq_len batch_size                                [B]
///   reserved      = kv_per_token page_tokens ceil(seq_len / page_tokens) batch_size
///
/// kv_lora_rank: width of the MLA latent. rope_head_dim: width of the rotated key. page_tokens: of one page.
/// Limits: sequences of equal length, no shared prefix, keys and values of one width in every layer.
/// Example: Llama-3.1-70B (80 layers, 8 KV heads of 128, 2 B): 327.68 kB/token, 10.7 GB for 16 x 2048 tokens.
/// Example: DeepSeek-V3 (61 layers, 512 + 64, 2 B): 70.3 kB/token, 2.30 GB for 16 x 2048 tokens.
/// @cite kwon2023vllm, sections 3 and 4.1
/// @cite deepseek2024v2, section 2.1.4 and table 1

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Bytes of keys and values that one token leaves behind in all layers [B/token].
///
/// The factor 2 counts keys and values. Grouped-query and multi-query attention enter through kv_heads.
/// Ranges: counts >= 0 and integral, element_bytes >= 0.
/// @cite shazeer2019mqa; @cite kwon2023vllm, section 3
struct KvBytesPerToken {
  static constexpr LawInfo info{"KvBytesPerToken", "kv_per_token = 2 layers kv_heads head_dim element_bytes",
                                "kwon2023vllm", "section 3", "keys and values of one width in every layer"};
  template <class T> struct Inputs {
    T layers, kv_heads, head_dim;
    Data<T> element_bytes;
    static constexpr auto fields() {
      return rows(field(&Inputs::layers, key::layers), field(&Inputs::kv_heads, key::kv_heads),
                  field(&Inputs::head_dim, key::head_dim), field(&Inputs::element_bytes, key::element_bytes));
    }
  };
  template <class T> struct Result {
    DataPerToken<T> kv_per_token;
    static constexpr auto fields() { return rows(field(&Result::kv_per_token, key::kv_per_token)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.kv_per_token = 2.0 * in.layers * in.kv_heads * in.head_dim * in.element_bytes / unit::token};
  }
};

/// Bytes of the KV cache of a batch of equally long sequences [B].
///
/// Without padding or pages. Ranges: counts >= 0 and integral.
/// @cite kwon2023vllm, section 3
struct KvCache {
  static constexpr LawInfo info{
      "KvCache", "kv_cache_size = 2 layers kv_heads head_dim element_bytes seq_len batch_size",
      "kwon2023vllm", "section 3", "all sequences have the same length; no padding"};
  template <class T> struct Inputs {
    T layers, kv_heads, head_dim;
    Data<T> element_bytes;
    T seq_len, batch_size;
    static constexpr auto fields() {
      return rows(field(&Inputs::layers, key::layers), field(&Inputs::kv_heads, key::kv_heads),
                  field(&Inputs::head_dim, key::head_dim), field(&Inputs::element_bytes, key::element_bytes),
                  field(&Inputs::seq_len, key::seq_len).non_negative().counted(),
                  field(&Inputs::batch_size, key::batch_size).non_negative().counted());
    }
  };
  template <class T> struct Result {
    Data<T> kv_cache_size;
    static constexpr auto fields() { return rows(field(&Result::kv_cache_size, key::kv_cache_size)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto per_token = apply<KvBytesPerToken, T>({.layers = in.layers,
                                                      .kv_heads = in.kv_heads,
                                                      .head_dim = in.head_dim,
                                                      .element_bytes = in.element_bytes});
    return {.kv_cache_size = per_token.kv_per_token * (in.seq_len * in.batch_size * unit::token)};
  }
};

/// Bytes of the compressed cache of multi-head latent attention [B].
///
/// Each token keeps one latent vector and one rotated key per layer, shared by all heads. There is no
/// factor 2: keys and values are both rebuilt from the latent. The cache is replicated, not divided, under
/// tensor parallelism. Ranges: counts >= 0 and integral.
/// @cite deepseek2024v2, section 2.1.4 and table 1
struct MlaKvCache {
  static constexpr LawInfo info{
      "MlaKvCache", "kv_cache_size = layers (kv_lora_rank + rope_head_dim) element_bytes seq_len batch_size",
      "deepseek2024v2", "section 2.1.4, table 1",
      "one latent and one rotated key per token, shared by all heads"};
  template <class T> struct Inputs {
    T layers, kv_lora_rank, rope_head_dim;
    Data<T> element_bytes;
    T seq_len, batch_size;
    static constexpr auto fields() {
      return rows(field(&Inputs::layers, key::layers),
                  field(&Inputs::kv_lora_rank, "kv_lora_rank", "", "width of the compressed key-value vector")
                      .non_negative()
                      .counted(),
                  field(&Inputs::rope_head_dim, "rope_head_dim", "", "width of the rotated key")
                      .non_negative()
                      .counted(),
                  field(&Inputs::element_bytes, key::element_bytes),
                  field(&Inputs::seq_len, key::seq_len).non_negative().counted(),
                  field(&Inputs::batch_size, key::batch_size).non_negative().counted());
    }
  };
  template <class T> struct Result {
    DataPerToken<T> kv_per_token;
    Data<T> kv_cache_size;
    static constexpr auto fields() {
      return rows(field(&Result::kv_per_token, key::kv_per_token),
                  field(&Result::kv_cache_size, key::kv_cache_size));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto per_token = in.layers * (in.kv_lora_rank + in.rope_head_dim) * in.element_bytes / unit::token;
    return {.kv_per_token = per_token,
            .kv_cache_size = per_token * (in.seq_len * in.batch_size * unit::token)};
  }
};

/// Bytes that a paged cache reserves, and the share of them that holds no token [B, share].
///
/// Every sequence holds whole pages, and its last page is partly empty: waste = 1 - seq_len / (pages
/// page_tokens). Example: 1000 tokens in pages of 16: 63 pages, 0.8 % waste. Ranges: seq_len, page_tokens
/// >= 1; batch_size >= 0; integral.
/// @cite kwon2023vllm, section 4.1
struct PagedKv {
  static constexpr LawInfo info{"PagedKv",
                                "reserved = kv_per_token page_tokens ceil(seq_len / page_tokens) batch_size",
                                "kwon2023vllm", "section 4.1", "pages are not shared between sequences"};
  template <class T> struct Inputs {
    DataPerToken<T> kv_per_token;
    T seq_len, batch_size, page_tokens;
    static constexpr auto fields() {
      return rows(field(&Inputs::kv_per_token, key::kv_per_token), field(&Inputs::seq_len, key::seq_len),
                  field(&Inputs::batch_size, key::batch_size).non_negative().counted(),
                  field(&Inputs::page_tokens, "page_tokens", "", "tokens per page").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    T pages;
    Data<T> reserved;
    T waste;
    static constexpr auto fields() {
      return rows(field(&Result::pages, "pages", "", "pages of one sequence"),
                  field(&Result::reserved, "reserved", "GB", "bytes reserved for the batch"),
                  field(&Result::waste, "waste", "", "share of the reserved bytes without a token"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T pages = named("pages", ceil_div(in.seq_len, in.page_tokens));
    const T held = named("held", pages * in.page_tokens);
    return {.pages = pages,
            .reserved = in.kv_per_token * (held * in.batch_size * unit::token),
            .waste = 1.0 - in.seq_len / held};
  }
};

}  // namespace mlsysim
