#include "support/catch.hpp"

#include <mlsysim/physics/kv_cache.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("KV cache of one token of OPT-13B is 800 KiB", "[physics]") {
  // Kwon et al. 2023, section 3: 2 * 5120 * 40 layers * 2 B = 819 200 B; 5120 = 40 heads of 128.
  const auto r =
      KvBytesPerToken::solve({.layers = 40, .kv_heads = 40, .head_dim = 128, .element_bytes = 2 * u::B});
  CHECK_THAT(r.kv_per_token.in(u::B / u::token), WithinRel(819200.0, 1e-15));
}

TEST_CASE("KV cache of Llama-3.1-8B", "[physics]") {
  // 2 * 32 layers * 8 KV heads * 128 * 2 B = 131 072 B per token; 2048 tokens = 0.268435 GB; 32
  // sequences 8.58993 GB.
  KvCache::Inputs<double> in{.layers = 32,
                             .kv_heads = 8,
                             .head_dim = 128,
                             .element_bytes = 2 * u::B,
                             .seq_len = 2048,
                             .batch_size = 1};
  CHECK_THAT(KvCache::solve(in).kv_cache_size.in(u::GB), WithinRel(0.268435456, 1e-12));
  in.batch_size = 32;
  CHECK_THAT(KvCache::solve(in).kv_cache_size.in(u::GB), WithinRel(8.589934592, 1e-12));
}

TEST_CASE("latent KV cache of DeepSeek-V3", "[physics]") {
  // 61 layers * (512 + 64) * 2 B = 70 272 B per token; 4096 tokens = 287 834 112 B, of three
  // sequences each.
  const auto r = MlaKvCache::solve({.layers = 61,
                                    .kv_lora_rank = 512,
                                    .rope_head_dim = 64,
                                    .element_bytes = 2 * u::B,
                                    .seq_len = 4096,
                                    .batch_size = 3});
  CHECK_THAT(r.kv_per_token.in(u::B / u::token), WithinRel(70272.0, 1e-15));
  CHECK_THAT(r.kv_cache_size.in(u::B), WithinRel(3 * 287834112.0, 1e-15));
}

TEST_CASE("paged KV cache rounds each sequence up to whole pages", "[physics]") {
  PagedKv::Inputs<double> in{
      .kv_per_token = 131072.0 * u::B / u::token, .seq_len = 1000, .batch_size = 32, .page_tokens = 16};
  const auto r = PagedKv::solve(in);
  CHECK(r.pages == 63.0);                                           // 62.5 pages
  CHECK_THAT(r.reserved.in(u::GB), WithinRel(4.227858432, 1e-12));  // 1008 tokens * 32 * 131 072 B
  CHECK_THAT(r.waste, WithinRel(8.0 / 1008.0, 1e-12));
  in.seq_len = 1008;
  CHECK(PagedKv::solve(in).waste == 0.0);
  in.page_tokens = 1;
  CHECK(PagedKv::solve(in).waste == 0.0);
}
