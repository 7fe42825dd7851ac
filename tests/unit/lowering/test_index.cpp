// Attention over entries that an index chooses: counts worked by hand, and kernels as measured.

#include <support/catch.hpp>

#include <mlsysim/lowering/attention.hpp>
#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <string_view>

using namespace mlsysim;
using Catch::Matchers::WithinRel;

namespace {

/// The operators of DeepSeek-V3.2 (61 layers, 128 heads, 64 index heads of 128, 2048 tokens chosen) on one of
/// 8 devices, all at one byte but activations at two.
struct Lowered32 {
  OpList<> ops;
  Lowered32(Phase phase, double new_tokens, double context, double cp = 1) {
    const auto v = model_view(standard_zoo().at<Workload>("DeepSeek_V3_2"), phase);
    Plan<> plan;
    plan.tp = 8;
    plan.cp = cp;
    plan.new_tokens = new_tokens;
    plan.context = context;
    set_storage(plan, inference_storage(Precision::fp8, Precision::fp8));
    lower(v.structure, v.shape(), v.layers, plan, ops);
  }
  [[nodiscard]] const Op<>* find(std::string_view name) const {
    for (const auto& op : ops)
      if (op.name == name && op.count > 0) return &op;
    return nullptr;
  }
  [[nodiscard]] double params() const {
    double sum = 0;
    for (const auto& op : ops) sum += op.params.base() * op.count;
    return sum;
  }
};

}  // namespace

TEST_CASE("a decode step scores every entry and attends to those that are chosen", "[lowering][index]") {
  const Lowered32 made(Phase::decode, 1, 32768);
  const auto *scores = made.find("index_scores"), *choice = made.find("index_choice"),
             *core = made.find("latent_attention");
  REQUIRE((scores != nullptr && choice != nullptr && core != nullptr));
  // 64 heads of 128 with 32,768 keys: 2 x 64 x 128 x 32768 FLOP; every rank has all index heads.
  CHECK(scores->count == 61);
  CHECK(scores->work.base() == 536870912.0);
  CHECK(scores->state.base() == 128 * 32768.0);
  // Keys, queries and a sum of four bytes an entry cross memory; the sums are read again.
  CHECK(scores->memory_bytes.base() == 128 * 32768.0 + 64 * 128 + 4 * 32768.0);
  CHECK(choice->memory_bytes.base() == 4 * 32768.0);
  // 16 heads with 2048 entries of 576 values, of which 512 are added up; all 32,768 stay in the cache.
  CHECK(core->work.base() == 2 * 16 * 2048 * (576.0 + 512.0));
  CHECK((core->memory_bytes - core->working_set).base() == 2048 * 576.0);
  CHECK(core->state.base() == 32768 * 576.0);
  // Below the number that is chosen there is nothing to leave out.
  CHECK(Lowered32(Phase::decode, 1, 1000).find("latent_attention")->n == 1000);
}

TEST_CASE("a prompt works on the latents whether or not the index leaves entries out", "[lowering][index]") {
  const Lowered32 few(Phase::prefill, 2048, 2048), many(Phase::prefill, 4096, 4096);
  CHECK(few.find("latent_attention")->work.base() == 2 * 16 * (2048.0 * 2049 / 2) * (576 + 512));
  // 64 index heads a token; of context-parallel ranks each scores its part of the tokens.
  CHECK(many.find("index_scores")->m == 4096 * 64);
  CHECK(Lowered32(Phase::prefill, 4096, 4096, 2).find("index_scores")->m == 2048 * 64);
  CHECK(few.find("latent_attention")->count == 61);
  CHECK(few.find("attention") == nullptr);
  CHECK(many.find("attention") == nullptr);
  // The first 2048 tokens see all before them, the others 2048.
  const double pairs = 2048.0 * 2049 / 2 + 2048.0 * 2048;
  CHECK_THAT(many.find("latent_attention")->work.base(), WithinRel(2 * 16 * pairs * (576 + 512), 1e-12));
  // The mean query sees (4096 + 1) / 2 entries.
  CHECK_THAT(many.find("index_scores")->work.base(), WithinRel(2 * 4096 * 2048.5 * 64 * 128, 1e-12));
  // One model, whichever way it is computed.
  CHECK_THAT(many.params(), WithinRel(few.params(), 1e-12));
  CHECK(many.find("latent_attention")->state == few.find("latent_attention")->state * 2.0);
}

TEST_CASE("tokens that chose their entries are blocks of their own, by hand", "[lowering][index]") {
  Device<> d;
  d.compute.units = 10;
  d.compute.dense = d.compute.vector = 1e18 * (unit::FLOP / unit::s);
  d.memory.bandwidth = 1e18 * (unit::B / unit::s);
  d.tiles.attention_tile = 128;
  d.kernels.launch = 1 * unit::us;
  d.kernels.chosen_block = 6 * unit::us;
  d.kernels.chosen_step = 2 * unit::us;
  d.kernels.latent_block = 3 * unit::us;
  d.kernels.latent_split = 100 * unit::us;
  d.kernels.search = 4 * unit::us;
  Op<> op;
  op.kind = OpKind::attention;
  op.keys = Keys::chosen;
  op.m = 30, op.n = 4000, op.attended_keys = 300, op.copies = 2 * 16, op.group_heads = 16;
  const auto us = [&] { return price(op, d, Links<>{}).total.in(unit::us); };
  // Two sequences of 30 tokens: 60 blocks on 10 units, three steps of 128 entries each.
  CHECK_THAT(us(), WithinRel(1 + 6 * (6 + 3 * 2.0), 1e-6));
  op.copies = 2 * 65, op.group_heads = 65;  // a block takes 64 heads
  CHECK_THAT(us(), WithinRel(1 + 12 * (6 + 3 * 2.0), 1e-6));
  // Latents that all see: the heads of a token share a block of 128, steps last as long as their products.
  op.keys = Keys::latents;
  op.m = 1;
  CHECK_THAT(us(), WithinRel(1 + 3.0, 1e-6));
  Op<> choice;
  choice.searched = 50;
  CHECK_THAT(price(choice, d, Links<>{}).total.in(unit::us), WithinRel(1 + 5 * 4.0, 1e-6));
}

TEST_CASE("the kernel of index scores as measured", "[lowering][index][measured]") {
  // Sequences, new tokens, entries before them, of 64 heads of 128 (decode kernel of DeepSeek-V4, four tokens
  // an entry) and 32 heads (prompt kernel of GLM-5); us on H100 and B200 (aiconfigurator-measurements, sparse
  // attention, SGLang 0.5.14). No constant is fitted on them.
  struct Row {
    double heads, per, sequences, tokens, past, h100, b200;
  };
  constexpr Row rows[] = {{64, 4, 1, 1, 8, 3.276, 4.14},
                          {64, 4, 512, 1, 1536, 8.57, 7.289},
                          {64, 4, 16, 4, 32768, 14.518, 10.283},
                          {64, 4, 16, 64, 10240, 56.645, 35.996},
                          {64, 4, 64, 128, 3072, 162.344, 98.958},
                          {64, 4, 1, 2048, 1000000, 11306.4, 6152.46},
                          {64, 4, 1, 6144, 524288, 16424.2, 9715.72},
                          {64, 4, 1, 8192, 131072, 5710.34, 3336.01},
                          {32, 1, 16, 2048, 10240, 3339.99, 1721.86},
                          {32, 1, 64, 2048, 10240, 14188.9, 7243.1},
                          {32, 1, 2, 2048, 131072, 5142.24, 2506.5}};
  double sum = 0;
  for (const auto& row : rows)
    for (const auto& [name, measured] : {std::pair{"H100", row.h100}, std::pair{"B200", row.b200}}) {
      Notes notes;
      const auto device = device_view(standard_zoo().at<HardwareNode>(name), Precision::fp8,
                                      conventions_of(standard_zoo()), notes, Phase::decode);
      Structure structure;
      structure.causal = true;
      StackView<> stack;
      stack.layers = 1;
      Plan<> plan;
      plan.batch = row.sequences;
      plan.new_tokens = row.tokens;
      plan.context = row.past + row.tokens;
      set_storage(plan, inference_storage(Precision::fp8, Precision::fp8));
      OpList<> ops;
      detail::Frame<double> f{structure, stack, plan, ops};
      ReachView<> reach;
      reach.index_heads = row.heads;
      reach.index_dim = 128;
      detail::block_index(f, 1.0, reach, 1536.0, row.per);
      const double us = price(ops[2], device, Links<>{}).total.in(unit::us);
      INFO(name << ": " << row.sequences << " x " << row.tokens << " after " << row.past << ", measured "
                << measured << ", predicted " << us);
      const double error = std::fabs(us / measured - 1);
      CHECK(error < 0.8);
      sum += error;
    }
  CHECK(sum / (2 * std::size(rows)) < 0.31);
}
