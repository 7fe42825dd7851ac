// Layers of several kinds: what they hold and do by hand, and that a pattern costs by its period.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <chrono>
#include <cmath>

using namespace mlsysim;
using Catch::Matchers::WithinRel;

namespace {

Workload decoder(Stack stack) {
  Workload w;
  w.name = "ByHand";
  w.architecture = Architecture::decoder;
  w.stacks = {std::move(stack)};
  return w;
}

Stack plain(double layers) {
  return plain_decoder(
      {.layers = layers, .hidden = 64, .heads = 4, .vocab = 1000, .kv_heads = 2, .head_dim = 16, .ffn = 128});
}

struct TwoKinds {
  std::size_t operators = 0;
  Work<> work;
  ListTotals<> totals;
};
TwoKinds listed(const Workload& w, Phase phase, double batch, double tokens, double context) {
  const auto v = model_view(w, phase);
  Plan<> plan;
  plan.batch = batch;
  plan.new_tokens = tokens;
  plan.context = context;
  set_storage(plan, training_storage(Precision::bf16, OptimizerKind::adam));
  OpList<> ops;
  const auto made = lower(v.structure, v.shape(), v.layers, plan, ops);
  TwoKinds out{ops.size(), {}, totals_of(ops, made.forward_end)};
  for (const auto& op : ops.span()) out.work += op.work * op.count;
  return out;
}

}  // namespace

TEST_CASE("a cache holds what its layers see: windows, latents, states", "[lowering][golden]") {
  // Gemma 3 27B: 52 windows of 1,024 and 10 layers that see all, 16 heads of 128, keys and values of 2 bytes.
  const double entry = 2.0 * 16 * 128 * 2;
  CHECK_THAT(kv_cache_bytes(model("Gemma3_27B"), 131072, 1, Precision::bf16).base(),
             WithinRel(entry * (52.0 * 1024 + 10.0 * 131072), 1e-12));
  // DeepSeek-V3: a latent of 512 + 64 values for each of 61 layers, 70,272 bytes a token.
  CHECK_THAT(kv_cache_bytes(model("DeepSeek_V3"), 1000, 1, Precision::bf16).base(),
             WithinRel(1000 * 70272.0, 1e-12));
  // Qwen3.5-397B: 15 layers with 2 heads of 256; 45 with 64 states of 128 x 128 in fp32 and three tokens
  // before a convolution over (2 x 16 + 64) x 128 channels.
  const double linear = 45 * 4.0 * (64.0 * 128 * 128 + 3.0 * (2 * 16 + 64) * 128);
  CHECK_THAT(kv_cache_bytes(model("Qwen3_5_397B_A17B"), 5000, 3, Precision::bf16).base(),
             WithinRel(3 * (linear + 15 * 5000 * 2.0 * 2 * 256 * 2), 1e-12));
  // Llama 4 Scout: 36 of 48 layers keep a chunk of 8,192 tokens at most, 8 heads of 128.
  CHECK_THAT(kv_cache_bytes(model("Llama4_Scout"), 100000, 1, Precision::bf16).base(),
             WithinRel(2.0 * 8 * 128 * 2 * (36 * 8192.0 + 12 * 100000.0), 1e-12));
}

TEST_CASE("attention in chunks is full attention up to one chunk, and cheaper beyond", "[lowering]") {
  Stack chunked = plain(2);
  chunked.reach.chunk = 256;
  const Workload all = decoder(plain(2)), part = decoder(chunked);
  const auto whole = [](const TwoKinds& l) { return l.work.base(); };
  CHECK(whole(listed(all, Phase::prefill, 1, 256, 256)) == whole(listed(part, Phase::prefill, 1, 256, 256)));
  // 1,024 tokens: four chunks of 256 * 257 / 2 pairs instead of 1,024 * 1,025 / 2; 4 heads, 16 + 16 widths,
  // two layers.
  const double pairs = 1024.0 * 1025 / 2 - 4 * 256.0 * 257 / 2;
  CHECK_THAT(
      whole(listed(all, Phase::prefill, 1, 1024, 1024)) - whole(listed(part, Phase::prefill, 1, 1024, 1024)),
      WithinRel(2 * 2.0 * 4 * 32 * pairs, 1e-9));
}

TEST_CASE("a pattern costs by its period, not by its depth", "[lowering]") {
  Stack two = plain(1), deep = plain(1);
  const Layer window{.reach = Reach{.window = 32}};
  two.layers = {{.times = 1, .pattern = {window, Layer{}}}};
  deep.layers = {{.times = 5000, .pattern = {window, Layer{}}}};
  for (const Phase phase : {Phase::prefill, Phase::decode, Phase::training}) {
    INFO(name_of(phase));
    const double tokens = phase == Phase::decode ? 1 : 128;
    const auto a = listed(decoder(two), phase, 1, tokens, 128),
               b = listed(decoder(deep), phase, 1, tokens, 128);
    CHECK(a.operators == b.operators);
    CHECK_THAT(b.totals.state.base(), WithinRel(5000 * a.totals.state.base(), 1e-12));
  }
  // However the pattern is written, the answer is the same.
  Stack flat = plain(1);
  flat.layers.clear();
  for (int i = 0; i < 4; ++i) flat.layers.push_back({.times = 1, .pattern = {window, Layer{}}});
  Stack runs = plain(1);
  runs.layers = {{.times = 4, .pattern = {window, Layer{}}}};
  const auto a = listed(decoder(flat), Phase::training, 2, 128, 128),
             b = listed(decoder(runs), Phase::training, 2, 128, 128);
  CHECK(a.operators == b.operators);
  CHECK(a.work == b.work);
  CHECK(a.totals.block_again == b.totals.block_again);
}

TEST_CASE("kinds stand in the order of their rules, wherever their layers are", "[lowering]") {
  Stack stack = plain(1);
  const Layer first{.reach = Reach{.window = 32},
                    .feed_forward = FeedForward{.experts = Experts{.count = 4, .top_k = 2, .width = 32}}};
  stack.layers = {{.times = 1, .pattern = {first, Layer{}}}};
  const auto made = stack_view<double>(stack, 0);
  REQUIRE((made->mixers.size() == 2 && made->feed_forwards.size() == 2));
  // Attention over everything before a window, a dense feed-forward before experts.
  CHECK_FALSE(made->mixers[0].reach.windowed);
  CHECK(made->mixers[1].reach.windowed);
  CHECK(std::holds_alternative<DenseView<>>(made->feed_forwards[0].rule));
  CHECK(std::holds_alternative<ExpertsView<>>(made->feed_forwards[1].rule));
}

TEST_CASE("the key of a stack says where each kind of layer stands", "[lowering]") {
  Stack stack = plain(1);
  const Layer window{.reach = Reach{.window = 32}};
  stack.layers = {{.times = 2}, {.times = 1, .pattern = {window, Layer{}}}};
  // Attention over everything, by the first run and by the second layer of the second run; then the window.
  // All three have one feed-forward. A run counts 65,536, a layer of a pattern 1 and its place in it.
  CHECK(kinds_of_places(stack) ==
        std::vector<std::size_t>{2, 0, 65536 + 2, 1, 65536 + 1, 3, 0, 65536 + 1, 65536 + 2});
}

TEST_CASE("eighty layers of eighty kinds lower", "[lowering]") {
  Stack stack = plain(1);
  stack.layers.clear();
  double ffn = 0;
  for (int i = 0; i < 80; ++i) {
    Layer layer;
    layer.feed_forward = FeedForward{.dense = DenseFeedForward{.width = 100.0 + i}};
    layer.reach = Reach{.window = 10.0 + i};
    stack.layers.push_back({.times = 1, .pattern = {layer}});
    ffn += 3 * 64 * (100.0 + i);
  }
  const Workload w = decoder(stack);
  const auto training = listed(w, Phase::training, 1, 128, 128);
  CHECK(training.operators > OpList<>::capacity);
  // Embedding and head, attention (64 x (64 + 2 x 32) + 64 x 64), two norms, the last norm.
  CHECK(parameter_count(w).base() == 2 * 1000 * 64 + 80 * (64 * 128 + 64 * 64 + 2 * 64.0) + ffn + 64);
}

TEST_CASE("layers may have no mixer, no feed-forward, or heads of their own", "[lowering]") {
  Stack stack = plain(1);
  Layer attention_only, wide, free;
  attention_only.feed_forward = FeedForward{};
  attention_only.residual = Residual{.norms = 1};
  wide.mixer = Mixer{.grouped = GroupedAttention{.heads = 8, .kv_heads = 1, .head_dim = 32}};
  free.mixer = Mixer{};
  free.residual = Residual{.norms = 1};
  stack.layers = {{.times = 3, .pattern = {attention_only, wide, free}}};
  const Workload w = decoder(stack);
  REQUIRE(w.has_shape());
  const double narrow = 64 * 128 + 64 * 64.0, broad = 64 * (8 + 2) * 32 + 8 * 32 * 64.0, ffn = 2 * 64 * 128.0;
  CHECK(parameter_count(w).base() == 2 * 1000 * 64 + 3 * (narrow + broad + 2 * ffn + 4 * 64) + 64);
  CHECK(kv_cache_bytes(w, 100, 1, Precision::bf16).base() == 3 * 100 * 2.0 * (2 * 2 * 16 + 2 * 32));
}

TEST_CASE("dense and routed experts beside each other are the sum of both", "[lowering]") {
  Stack stack = plain(2);
  stack.feed_forward.dense->gated = true;
  const double dense = parameter_count(decoder(stack)).base();
  stack.feed_forward.experts = Experts{.count = 4, .top_k = 2, .width = 32};
  CHECK(parameter_count(decoder(stack)).base() == dense + 2 * (4 * 3 * 64 * 32 + 4 * 64.0));
}

TEST_CASE("what no rule knows is named", "[lowering]") {
  Stack stack = plain(2);
  stack.residual.streams = 4;
  stack.mixer.cross = GroupedAttention{.heads = 4};
  stack.input.lookups.emplace_back();
  const Workload w = decoder(stack);
  CHECK_FALSE(w.has_shape());
  // Residual streams and look-up tables have rules; attention over an encoder that is not there has none.
  CHECK(parts_without_law(w) == std::vector<std::string>{"stacks[0].mixer.cross"});
  CHECK_THROWS_WITH(model_view(w, Phase::decode), ContainsSubstring("stacks[0].mixer.cross"));
}
