#include "support/catch.hpp"

#include <mlsysim/physics/attention.hpp>
#include <mlsysim/tape/interval.hpp>

#include <algorithm>
#include <set>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {
AttentionWork::Inputs<double> one_head(double new_tokens, double past, double causal) {
  return {.batch = 1,
          .heads = 1,
          .kv_heads = 1,
          .qk_dim = 1,
          .v_dim = 1,
          .new_tokens = new_tokens,
          .past_tokens = past,
          .causal = causal,
          .io_bytes = 1 * u::B,
          .kv_bytes = 1 * u::B};
}
}  // namespace

TEST_CASE("attention pairs agree with counting them", "[physics]") {
  for (int past = 0; past < 6; ++past)
    for (int fresh = 0; fresh < 6; ++fresh) {
      int causal = 0, full = 0;
      for (int q = past; q < past + fresh; ++q)
        for (int k = 0; k < past + fresh; ++k) {
          ++full;
          if (k <= q) ++causal;
        }
      CHECK(AttentionWork::solve(one_head(fresh, past, 1)).pairs == static_cast<double>(causal));
      CHECK(AttentionWork::solve(one_head(fresh, past, 0)).pairs == static_cast<double>(full));
    }
}

TEST_CASE("windowed pairs and keys agree with counting them", "[physics]") {
  for (int window = 1; window < 7; ++window)
    for (int past = 0; past < 9; ++past)
      for (int fresh = 1; fresh < 6; ++fresh) {
        int pairs = 0;
        std::set<int> keys;
        for (int q = past; q < past + fresh; ++q)
          for (int k = std::max(0, q - window + 1); k <= q; ++k) {
            ++pairs;
            keys.insert(k);
          }
        const auto r = WindowedAttentionPairs::solve({.new_tokens = static_cast<double>(fresh),
                                                      .past_tokens = static_cast<double>(past),
                                                      .window = static_cast<double>(window)});
        CHECK(r.pairs == static_cast<double>(pairs));
        CHECK(r.keys == static_cast<double>(keys.size()));
      }
}

TEST_CASE("windowed pairs of a range of pasts have the ends that their points have", "[physics]") {
  const auto pairs = [](double least, double most) {
    return WindowedAttentionPairs::solve<Interval>(
               {.new_tokens = Interval(100), .past_tokens = Interval(least, most), .window = Interval(1000)})
        .pairs;
  };
  // 900 before: 100 (900 + 50.5); 1100 before: each token sees the whole window.
  CHECK_THAT(pairs(900, 1100).low, WithinRel(95050.0, 1e-12));
  CHECK_THAT(pairs(900, 1100).high, WithinRel(100000.0, 1e-12));
  // From 800 on the window is for none; from 940 it is for 40 tokens, whose view is at most the middle one's.
  CHECK_THAT(pairs(800, 940).low, WithinRel(85050.0, 1e-12));
  CHECK_THAT(pairs(800, 940).high, WithinRel(100 * 990.5, 1e-12));
}

TEST_CASE("chunked pairs and keys agree with counting them", "[physics]") {
  for (int chunk = 1; chunk < 7; ++chunk)
    for (int past = 0; past < 14; ++past)
      for (int fresh = 1; fresh < 14; ++fresh) {
        int pairs = 0;
        std::set<int> keys;
        for (int q = past; q < past + fresh; ++q)
          for (int k = q / chunk * chunk; k <= q; ++k) {
            ++pairs;
            keys.insert(k);
          }
        const auto r = ChunkedAttentionPairs::solve({.new_tokens = static_cast<double>(fresh),
                                                     .past_tokens = static_cast<double>(past),
                                                     .chunk = static_cast<double>(chunk)});
        CHECK(r.pairs == static_cast<double>(pairs));
        CHECK(r.keys == static_cast<double>(keys.size()));
      }
}

TEST_CASE("a window as long as the context is plain causal attention", "[physics]") {
  const auto wide = WindowedAttentionPairs::solve({.new_tokens = 512, .past_tokens = 1536, .window = 2048});
  CHECK(wide.pairs == AttentionWork::solve(one_head(512, 1536, 1)).pairs);
  CHECK(wide.keys == 2048.0);
}

TEST_CASE("attention of one layer of an 8B model", "[physics]") {
  // Prefill of 2048 tokens: pairs = 2048 * 2049 / 2 = 2 098 176; work = 2 * 32 heads * pairs * (128 + 128).
  AttentionWork::Inputs<double> in{.batch = 1,
                                   .heads = 32,
                                   .kv_heads = 8,
                                   .qk_dim = 128,
                                   .v_dim = 128,
                                   .new_tokens = 2048,
                                   .past_tokens = 0,
                                   .causal = 1,
                                   .io_bytes = 2 * u::B,
                                   .kv_bytes = 2 * u::B};
  const auto prefill = AttentionWork::solve(in);
  CHECK(prefill.pairs == 2098176.0);
  CHECK_THAT(prefill.work.in(u::GFLOP), WithinRel(34.376515584, 1e-12));
  CHECK_THAT(prefill.qo_traffic.in(u::B), WithinRel(32.0 * 2048 * 256 * 2, 1e-15));
  CHECK_THAT(prefill.kv_traffic.in(u::B), WithinRel(8.0 * 2048 * 256 * 2, 1e-15));
  // Decode at a context of 4096 for 16 sequences: one query row against 4096 keys each.
  in.batch = 16;
  in.new_tokens = 1;
  in.past_tokens = 4095;
  const auto decode = AttentionWork::solve(in);
  CHECK(decode.pairs == 4096.0);
  CHECK_THAT(decode.work.in(u::FLOP), WithinRel(2.0 * 16 * 32 * 4096 * 256, 1e-15));
  CHECK_THAT(decode.kv_traffic.in(u::B), WithinRel(16.0 * 8 * 4096 * 256 * 2, 1e-15));
  // Work per KV byte is 2 FLOP per element and query head of a group: 2 * 4 / 2 B.
  CHECK_THAT((decode.work / decode.kv_traffic).in(u::FLOP / u::B), WithinRel(4.0, 1e-14));
}

namespace {
AttentionTime::Inputs<double> on_100_units(double copies, double group, double tokens, double keys,
                                           double reach) {
  return {.copies = copies,
          .group = group,
          .new_tokens = tokens,
          .keys = keys,
          .reach = reach,
          .no_split_kv = 0,
          .pair_work = 512 * u::FLOP,
          .pair_softmax = 0 * u::s,
          .traffic = 0 * u::B,
          .tile = 128,
          .block_tile = 128,
          .units = 100,
          .peak = 512 * u::TFLOP / u::s,
          .bandwidth = 2 * u::TB / u::s,
          .launch = 5 * u::us,
          .block = 2 * u::us,
          .block_rows = 1 * u::us,
          .least_step = 0 * u::s,
          .split = 3 * u::us};
}
}  // namespace

TEST_CASE("fused attention: blocks over units", "[physics]") {
  // A step is 128 x 128 pairs of 512 FLOP on one of 100 units: 1.6384 us. 512 causal tokens are 4 blocks of 1
  // to 4 steps, 2.5 on average; 1000 copies are 40 rounds of 2 + 1 + 2.5 steps.
  const double step = 128.0 * 128 * 512 / 5.12e6;
  const auto many = AttentionTime::solve(on_100_units(1000, 1, 512, 512, 256.5));
  CHECK_THAT(many.time.in(u::us), WithinRel(5 + 40 * (3 + (256.5 / 128 + 0.5) * step), 1e-6));
  // One copy leaves units idle: the last block takes 4 steps.
  const auto one = AttentionTime::solve(on_100_units(1, 1, 512, 512, 256.5));
  CHECK_THAT(one.time.in(u::us), WithinRel(5 + 3 + std::min(4 * step, 0.5 * step + 3), 1e-6));
  auto undivided = on_100_units(1, 1, 512, 512, 256.5);
  undivided.no_split_kv = 1;
  CHECK_THAT(AttentionTime::solve(undivided).time.in(u::us), WithinRel(5 + 3 + 4 * step, 1e-6));
  CHECK_THAT(AttentionTime::solve(undivided).compute.in(u::us), WithinRel(3 + 4 * step, 1e-6));
  // All keys for all queries: the mean is no longer than the last.
  const auto full = AttentionTime::solve(on_100_units(1000, 1, 512, 512, 512));
  CHECK_THAT(full.time.in(u::us), WithinRel(5 + 40 * (3 + 4 * step), 1e-6));
}

TEST_CASE("decoding packs the query heads of a group, and splits long contexts", "[physics]") {
  // 800 copies in groups of 8 are 100 blocks: one round. 8 rows are padded to 16, an eighth of a step.
  const double step = 16.0 * 128 * 512 / 5.12e6;
  auto in = on_100_units(800, 8, 1, 1024, 1024);
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us), WithinRel(5 + 2 + 8.0 / 128 + 8 * step, 1e-6));
  // The same heads of one sequence on a longer context: ten blocks, of which all units do a part.
  in = on_100_units(80, 8, 1, 16384, 16384);
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us),
             WithinRel(5 + 3 + 0.1 * (2 + 8.0 / 128 + 128 * step), 1e-6));
  CHECK_THAT(AttentionTime::solve(in).compute.in(u::us),
             WithinRel(3 + 0.1 * (2 + 8.0 / 128 + 128 * step), 1e-6));
  in.traffic = 1 * u::GB;  // memory decides: 500 us
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us), WithinRel(508, 1e-2));
  in.copies = 0;
  in.traffic = {};
  CHECK(AttentionTime::solve(in).time.base() == 0);
}

TEST_CASE("attention over a part of the keys takes the steps of that part", "[physics]") {
  // Ten rounds of 100 blocks; a token that sees 1024 of 16384 keys in the mean sees 2048 at most: 16 steps.
  const double step = 16.0 * 128 * 512 / 5.12e6;
  CHECK_THAT(AttentionTime::solve(on_100_units(8000, 8, 1, 16384, 1024)).time.in(u::us),
             WithinRel(5 + 10 * (2 + 8.0 / 128 + 16 * step), 1e-6));
  // Two tokens of a block see 1024 in the mean, and the half of a step in which the mean one ends.
  CHECK_THAT(AttentionTime::solve(on_100_units(8000, 8, 2, 16384, 1024)).time.in(u::us),
             WithinRel(5 + 10 * (2 + 16.0 / 128 + 8.5 * step), 1e-6));
}

TEST_CASE("attention: the softmax runs beside the products, and keys take their time to a unit",
          "[physics]") {
  // 3 and 4 of the same make 5: products of 1.6384 us a step, softmax of 4/3 of it.
  const double step = 128.0 * 128 * 512 / 5.12e6;
  auto in = on_100_units(100, 1, 128, 1024, 1024);
  in.pair_softmax = 4.0 / 3 * 512.0 * u::FLOP / in.peak;
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us), WithinRel(5 + 3 + 8 * step * 5 / 3, 1e-6));
  // A step of 10 us of keys; split, the first half of one is what a block cannot share.
  in.least_step = 10 * u::us;
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us), WithinRel(5 + 3 + 80, 1e-6));
}

TEST_CASE("attention: blocks of 256 rows take 128 keys at a time", "[physics]") {
  // 512 queries of 100 heads are two rounds of blocks of 256 rows, whose steps and rows take twice as long;
  // the mean block sees the keys of a whole block of rows on the diagonal.
  const double step = 256.0 * 128 * 512 / 5.12e6;
  auto in = on_100_units(100, 1, 512, 512, 256.5);
  in.block_tile = 256;
  CHECK_THAT(AttentionTime::solve(in).time.in(u::us),
             WithinRel(5 + 2 * (2 + 2 + (256.5 / 128 + 1) * step), 1e-6));
}
