// The operators of every kind of mixer, each amount worked by hand.

#include <mlsysim/lowering/attention.hpp>

#include "by_hand.hpp"

using namespace by_hand;

namespace {

/// Eight heads and four of keys and values, on two devices four and two.
GroupedView<> grouped() {
  GroupedView<> h;
  h.heads = 8, h.kv_heads = 4, h.qk_dim = 16, h.v_dim = 12;
  return h;
}
LatentView<> latent() {
  LatentView<> h;
  h.heads = 8, h.q_rank = 20, h.kv_rank = 24, h.nope = 10, h.rope = 6, h.v_dim = 12;
  return h;
}
ReachView<> window(double tokens) {
  ReachView<> r;
  r.windowed = true, r.window = tokens;
  return r;
}
template <class View> void mix(Bench& b, const View& h, const ReachView<>& reach = {}) {
  detail::mix(b.frame(), 3.0, reach, h);
}

}  // namespace

TEST_CASE("grouped heads in a prompt, by hand", "[lowering]") {
  Bench b(Phase::prefill);
  auto h = grouped();
  h.qkv_bias = h.qk_norm_head = h.sinks = h.output_bias = 1;
  h.normed = true;
  mix(b, h);
  // Queries 4 x 16, keys and values 2 x (16 + 12); biases, two norms of a head, a sink a head.
  check(b["qkv_projection"], product(60, 64 + 56, 96, 1, 120 + 2 * 16 + 4));
  CHECK(b["qkv_projection"].count == 3);
  CHECK(b["qkv_projection"].biased == 1);
  // A kernel normalizes 60 x 64 values of queries, another 60 x 32 of keys.
  CHECK(b["query_key_norm"].count == 2 * 3);
  check(b["query_key_norm"], {6 * 60 * 48, 0, 4 * 60 * 48, 4 * 60 * 48, 0, 0});
  // Queries and keys are read and written, keys and values go to the cache.
  const double rotated = 60 * (64 + 32);
  check(b["rotary_and_cache"], {6 * rotated, 0, 4 * rotated, 4 * rotated + 5 * 60 * 56, 0, 0});
  check_collective(b["context_exchange"], Collective::all_gather, 2 * 60 * 56, 1, 2);
  CHECK(b["context_exchange"].overlap_with == OverlapWith::pass);
  // The i-th of ten tokens sees thirty and i: 10 x 30 + 55 pairs.
  const auto& core = b["attention"];
  const double pairs = 355, io = 2 * 60 * 4 * 28, cache = 5 * 6 * 40 * 56;
  check(core, {2 * 24 * pairs * 28, 0, io, io + cache, 0, cache});
  CHECK((core.m == 10 && core.n == 40 && core.k == 16 && core.copies == 24));
  CHECK((core.attended_keys == 35.5 && core.group_heads == 2));
  check(b["output_projection"], product(60, 96, 48, 1, 96));
  CHECK(b["output_projection"].biased == 1);
  check_collective(b["attention_tp_reduce"], Collective::all_reduce, 2 * 60 * 96, 2, 1);
}

TEST_CASE("gates, whole norms and values that are keys change the projection of grouped heads",
          "[lowering]") {
  Bench b(Phase::prefill);
  auto h = grouped();
  h.output_gate = h.qk_norm_full = 1;
  h.own_values = 0;
  mix(b, h);
  // A gate as wide as the queries, keys alone; norms over all queries and all keys.
  check(b["qkv_projection"], product(60, 2 * 64 + 32, 96, 1, 64 + 32));
  Bench few(Phase::prefill);
  h = grouped();
  h.kv_heads = 1;  // less than one a device: each has a copy
  mix(few, h);
  check(few["qkv_projection"], product(60, 64 + 28, 96));
  CHECK(few["attention"].group_heads == 4);
}

TEST_CASE("windows and chunks: pairs, keys and what is kept of them", "[lowering]") {
  const auto core = [](const ReachView<>& reach) {
    Bench b(Phase::prefill);
    mix(b, grouped(), reach);
    const Op<> op = b["attention"];
    const double io = 2 * 60 * 4 * 28;
    CHECK(op.memory_bytes.base() == Approx(io + 5 * 6 * op.n * 56));
    return op;
  };
  const auto narrow = core(window(16));  // each of the ten sees 16; the first has 15 before itself
  CHECK(narrow.work.base() == Approx(2 * 24 * 160 * 28));
  CHECK(narrow.n == 25);
  CHECK(narrow.state.base() == Approx(5 * 6 * 16 * 56));
  ReachView<> chunks;
  chunks.chunked = true, chunks.chunk = 12;
  // Chunks end at 36: the tokens 31 to 36 see 7 to 12, the last four 1 to 4; keys from the 25th on.
  const auto in_chunks = core(chunks);
  CHECK(in_chunks.work.base() == Approx(2 * 24 * (7 + 8 + 9 + 10 + 11 + 12 + 1 + 2 + 3 + 4) * 28));
  CHECK(in_chunks.n == 16);
  CHECK(in_chunks.state.base() == Approx(5 * 6 * 12 * 56));
  CHECK(core(window(100)).n == 40);

  Bench all(Phase::inference);  // without a mask all ten see all forty; nothing is cached
  all.structure.causal = false;
  mix(all, grouped());
  const double io = 2 * 60 * 4 * 28, keys = 2 * 6 * 40 * 56;
  check(all["attention"], {2 * 24 * 400 * 28, 0, io, io + keys, 0, 0});
}

TEST_CASE("attention in training keeps its inputs, and context-parallel ranks a part of each sequence",
          "[lowering]") {
  Bench b(Phase::training);
  mix(b, grouped());
  const double io = 2 * 60 * 4 * 28, pairs = 55;
  check(b["attention"], {2 * 24 * pairs * 28, 0, io, io + 2 * 6 * 10 * 56, 2 * 60 * (4 * 16 + 56), 0});

  Bench part(Phase::prefill);
  part.plan.cp = 2;
  mix(part, grouped());
  const auto& core = part["attention"];
  CHECK(core.m == 5);
  CHECK(core.work.base() == Approx(2 * 24 * (355 / 2.0) * 28));
  const double half = 2 * 30 * 4 * 28, cache = 5 * 6 * 40 * 56;
  CHECK(core.memory_bytes.base() == Approx(half + cache));
  // All ranks need the keys and values of the new tokens.
  check_collective(part["context_exchange"], Collective::all_gather, 2 * 6 * 10 * 56, 2, 2);
  Bench decode(Phase::decode);
  mix(decode, grouped());
  CHECK_FALSE(decode.has("context_exchange"));
}

TEST_CASE("attention that is not fused writes its scores", "[lowering]") {
  Bench b(Phase::training);
  b.structure.kernel = AttentionKernel::unfused;
  b.structure.dropout = true;
  b.structure.fused = false;
  mix(b, grouped(), window(8));
  // 24 squares of ten rows and eight keys.
  const double square = 24 * 10 * 8;
  const double in = 2 * 24 * 10 * 16, keys = 2 * 24 * 8 * 16;
  check(b["attention_scores"],
        {2 * square * 16, 0, in + 2 * square, in + 2 * square + keys, 2 * 60 * (4 * 16 + 56), 0});
  // Softmax, dropout, scale and mask: four times in and out; kept are two arrays and a mask of a byte a
  // value.
  check(b["softmax"], {6 * square, 0, 16 * square, 16 * square + square, 4 * square + square, 0});
  const double out = 2 * 24 * 10 * 12, values = 2 * 24 * 8 * 12;
  check(b["attention_values"], {2 * square * 12, 0, 2 * square + out, 2 * square + out + values, 0, 0});
  // The rotation: a swap of halves, two products and a sum.
  const double rotated = 60 * (64 + 32);
  CHECK(b["rotary_and_cache"].working_set.base() == Approx(2 * 9 * rotated));

  Bench serving(Phase::prefill);
  serving.structure.kernel = AttentionKernel::unfused;
  mix(serving, grouped());
  const double whole = 24 * 10 * 40;
  check(serving["softmax"], {6 * whole, 0, 4 * whole, 4 * whole, 2 * whole, 0});
  CHECK(serving["attention_scores"].state.base() == Approx(5 * 6 * 40 * 56));
  CHECK(serving["attention_scores"].saved_bytes.base() == 0);
  Bench part(Phase::prefill);
  part.structure.kernel = AttentionKernel::unfused;
  part.plan.cp = 2;
  mix(part, grouped());
  CHECK(part["attention_scores"].m == 5);
}

TEST_CASE("an index chooses what attention reads", "[lowering]") {
  ReachView<> reach;
  reach.selected = true;
  reach.index_heads = 5, reach.index_dim = 8, reach.top_k = 3, reach.index_block = 4, reach.index_pool = 2;
  Bench b(Phase::prefill);
  mix(b, grouped(), reach);
  check(b["index_query"], product(60, 40, 96));
  check(b["index_key"], product(60, 8 + 5, 96, 1, 2 * 8));  // a key, a weight a head; a norm of two vectors
  // Keys of two tokens: the ten queries see 31 to 40 tokens, 17.75 keys on average, with five heads of eight
  // each. Twenty keys are read, queries in their format, and a sum of 4 B a query and key leaves the kernel.
  const double keys = 5 * 6 * 20 * 8, queries = 5 * 60 * 40, sums = 4 * 60 * 17.75;
  check(b["index_scores"], {2 * 60 * 17.75 * 40, 0, queries, keys + queries + sums, 0, keys});
  CHECK((b["index_scores"].m == 50 && b["index_scores"].n == 17.75 && b["index_scores"].copies == 6));
  check(b["index_choice"], {60 * 17.75, 0, 0, sums, 0, 0});
  CHECK(b["index_choice"].searched == 0);  // entries of several tokens
  CHECK(b["index_preparation"].count == 0);
  // Three entries of four tokens are read, everything is kept.
  CHECK(b["attention"].work.base() == Approx(2 * 24 * 10 * 12 * 28));
  CHECK(b["attention"].state.base() == Approx(5 * 6 * 40 * 56));

  reach.index_key_bytes = 1;
  reach.compressed = true;
  Bench small(Phase::prefill);
  mix(small, grouped(), reach);
  CHECK(small["index_scores"].state.base() == Approx(6 * 20 * 8));
  check(small["index_key"], product(60, 4 * 8 + 5, 96, 1, 9 * 8));
  reach.index_block = 2;  // the fewest of several tokens
  Bench pair(Phase::prefill);
  mix(pair, grouped(), reach);
  CHECK(pair["index_choice"].searched == 0);
  CHECK(pair["index_preparation"].count == 0);
  reach.index_block =
      1;  // entries of one token: each of 60 rows is searched, three kernels prepare the scores
  Bench single(Phase::prefill);
  mix(single, grouped(), reach);
  CHECK(single["index_choice"].searched == 60);
  check(single["index_preparation"], {6 * 900, 0, 4 * 900, 4 * 900, 0, 0});  // 60 x 40 values, three of eight
  CHECK(single["index_preparation"].count == 3 * 3);
  reach.compressed = false;
  Bench apart(Phase::prefill);
  mix(apart, grouped(), reach);
  CHECK(apart["index_preparation"].count == 8 * 3);
  reach.index_shared = true;
  Bench shared(Phase::prefill);
  mix(shared, grouped(), reach);
  CHECK_FALSE(shared.has("index_scores"));
}

TEST_CASE("attention over an encoder makes its keys once", "[lowering]") {
  auto h = grouped();
  h.cross = true;
  Bench b(Phase::prefill);
  mix(b, h);
  check(b["encoder_query"], product(60, 64, 96));
  check(b["encoder_key_value"], product(240, 56, 96));
  const double io = 2 * 60 * 4 * 28, cache = 5 * 240 * 56;
  check(b["encoder_attention"], {2 * 24 * 10 * 40 * 28, 0, io, io + cache, 0, cache});
  CHECK(b["encoder_attention"].group_heads == 2);
  check(b["encoder_output"], product(60, 96, 48));
  Bench decode(Phase::decode);
  mix(decode, h);
  CHECK_FALSE(decode.has("encoder_key_value"));
  CHECK(decode["encoder_query"].params.base() == 64 * 96 + 56 * 96);
  Bench read(Phase::decode);
  read.plan.encoded = 7;  // the cache is that of the encoder, however long the answer is
  mix(read, h);
  CHECK(read["encoder_attention"].state.base() == Approx(5 * 6 * 7 * 56));
  CHECK(read["encoder_attention"].n == 7);
}

TEST_CASE("latent attention in a prompt and in a step, by hand", "[lowering]") {
  Bench b(Phase::prefill);
  auto h = latent();
  h.output_gate = 1;
  mix(b, h);
  check(b["latent_down_projection"], product(60, 20 + 30, 96, 1, 20 + 24));
  check(b["latent_norm"], {6 * 60 * 44, 0, 4 * 60 * 44, 4 * 60 * 44, 0, 0});
  check(b["query_up_projection"], product(60, 4 * 16, 20));
  const double rotated = 60 * (4 + 1) * 6;
  check(b["rotary_and_cache"], {6 * rotated, 0, 4 * rotated, 4 * rotated + 5 * 60 * 30, 0, 0});
  check(b["key_value_up_projection"], product(60, 4 * 22, 24));
  const double io = 2 * 60 * 4 * 28, cache = 5 * 6 * 40 * 30;
  // What was made for each head is read, in 16 bits; the latent is what is kept.
  check(b["attention"], {2 * 24 * 355 * 28, 0, io, io + 2 * 6 * 40 * 4 * 28, 0, cache});
  CHECK(b["attention"].keys == Keys::made);
  // Two kernels for the 60 x 4 x 6 rotated values of queries, and of the key beside each head's.
  check(b["key_assembly"], {2 * 720, 0, 6 * 720, 6 * 720, 0, 0});
  CHECK(b["key_assembly"].count == 2 * 3);
  CHECK(b["attention_cast"].count == 0);
  CHECK_FALSE(b.has("latent_attention_join"));
  check(b["output_gate"], product(60, 48, 96));
  CHECK(b["output_gate"].count == 3);
  check(b["output_projection"], product(60, 96, 48));

  Bench step(Phase::decode);
  h = latent();
  h.q_rank = 0;  // queries from the hidden state
  mix(step, h);
  check(step["latent_down_projection"], product(6, 30, 96, 1, 24));
  check(step["query_up_projection"], product(6, 64, 96));
  CHECK(step["output_gate"].count == 0);
  // The up projections are part of query and output: one matrix a head, and the latent is key and value.
  check(step["absorbed_key_projection"], product(6, 24, 10, 4));
  const double both = 2 * 6 * 4 * (30 + 24);
  check(step["latent_attention"], {2 * 24 * 40 * (30 + 24), 0, both, both + cache, 0, cache});
  CHECK(step["latent_attention"].group_heads == 4);
  check(step["absorbed_value_projection"], product(6, 12, 24, 4));
  CHECK(step["latent_attention"].keys == Keys::latents);
  check(step["query_assembly"], {0, 0, 4 * 720, 4 * 720, 0, 0});  // 6 x 4 queries of 30 values
  // A sum of 24 values in FP32 for each of 6 x 4 heads is read, and the output written in 16 bits.
  const double sums = 6 * 4 * 24;
  check(step["latent_attention_join"], {2 * sums, 0, 2 * sums, (2 + 4) * sums, 0, 0});
  CHECK(step["latent_attention_join"].count == 3);
  CHECK_FALSE(step.has("attention_cast"));
  Bench one(Phase::decode);
  h.q_rank = 1;  // the least rank that is one
  mix(one, h);
  check(one["query_up_projection"], product(6, 64, 1));
}

TEST_CASE("inputs of products with narrower weights are cast, of widened weights not", "[lowering]") {
  const auto cast = [](double weight_bytes, bool widened) {
    Bench b(Phase::prefill);
    b.plan.weight_bytes = weight_bytes * u::B / u::param;
    b.structure.widened = widened;
    mix(b, latent());
    double read = 0, moved = 0;
    for (const auto& op : b.ops)
      if (op.name == "quantisation") {
        read += op.working_set.base() * op.count;
        moved += op.memory_bytes.base() * op.count;
      }
    return std::pair{read, moved};
  };
  // Hidden state, both latents, and four heads of twelve values, in 3 layers.
  const double values = 3 * 60 * (96 + 20 + 24 + 48);
  CHECK(cast(1, false).first == Approx(2 * values));
  CHECK(cast(1, false).second == Approx(3 * values));
  CHECK(cast(0.5, false).second == Approx(2.5 * values));
  CHECK(cast(2, false).second == 0);
  CHECK(cast(0.5, true).second == 0);
}

TEST_CASE("a cache of 8 bits has queries, keys and values of a prompt cast, a narrower one has not",
          "[lowering]") {
  Bench b(Phase::prefill);
  b.plan.kv_bytes = 1 * u::B;
  mix(b, latent());
  const double values = 60 * 4 * (16 + 16 + 12), io = 2 * 60 * 4 * 28;
  check(b["attention_cast"], {2 * values, 0, 2 * values, (2 + 1) * values, 0, 0});
  CHECK(b["attention_cast"].count == 3);
  CHECK(b["attention"].memory_bytes.base() == Approx(io + 6 * 40 * 4 * 28));
  Bench four(Phase::prefill);
  four.plan.kv_bytes = 0.5 * u::B;
  mix(four, latent());
  CHECK(four["attention_cast"].count == 0);
  CHECK(four["attention"].memory_bytes.base() == Approx(io + 2 * 6 * 40 * 4 * 28));
}

TEST_CASE("compressed attention: a window, and blocks of the past of which some are read", "[lowering]") {
  CompressedView<> h;
  h.heads = 8, h.width = 16, h.q_rank = 20, h.output_rank = 8, h.output_groups = 2;
  auto reach = window(16);
  reach.compressed = reach.overlapping = reach.selected = true;
  reach.block = 4, reach.top_k = 3, reach.index_heads = 5, reach.index_dim = 8;
  Bench b(Phase::prefill);
  mix(b, h, reach);
  check(b["query_down_projection"], product(60, 20 + 16, 96, 1, 36));
  check(b["query_up_projection"], product(60, 64, 20));
  // Two gated projections, twice as wide where blocks overlap; a weight for each of 8 positions, and a norm.
  check(b["block_compression"], product(60, 2 * 2 * 16, 96, 1, (8 + 1) * 16));
  CHECK(b["index_scores"].n == 35.5 / 4);
  check(b["index_query"], product(60, 40, 20));
  const double io = 2 * 2 * 60 * 4 * 16;
  check(b["compressed_attention"],
        {4 * 60 * 4 * 19 * 16, 4, io, io + 5 * 6 * 19 * 16, 0, 5 * 6 * (16 + 10) * 16});
  CHECK(b["compressed_attention"].n == 19);
  CHECK((b["compressed_attention"].keys == Keys::chosen && b["compressed_attention"].group_heads == 4));
  const double rotated = 60 * (4 + 1) * 16;
  check(b["rotary_and_cache"], {6 * rotated, 0, 4 * rotated, 4 * rotated + 5 * 60 * 16, 0, 0});
  CHECK(b["compressed_attention"].copies == 24);
  check(b["grouped_output_down"], product(60, 8, 32, 2));
  check(b["grouped_output_up"], product(60, 96, 8));

  reach.selected = reach.overlapping = false;
  Bench all(Phase::training);
  mix(all, h, reach);
  CHECK(all["compressed_attention"].keys == Keys::cached);
  CHECK(all["block_compression"].params.base() == 2 * 16 * 96 + (4 + 1) * 16);
  CHECK(all["compressed_attention"].n == 10 + 2.5);  // a window of ten, ten in blocks of four
  CHECK(all["compressed_attention"].saved_bytes.base() == 2 * 60 * (4 + 1) * 16);
}

TEST_CASE("inputs of compressed attention are cast to the format of narrower weights, by hand",
          "[lowering]") {
  CompressedView<> h;
  h.heads = 8, h.width = 16, h.q_rank = 20, h.output_rank = 8, h.output_groups = 2;
  Bench b(Phase::prefill);
  b.plan.weight_bytes = 1 * u::B / u::param;
  mix(b, h, window(16));
  // What enters the projections down and up, the groups of outputs and their sum: 2 B a value are read, 1 B
  // is written. Heads and groups of outputs are divided by two.
  std::vector<double> bytes;
  for (const auto& op : b.ops)
    if (op.name == "quantisation") bytes.push_back(op.memory_bytes.base());
  CHECK(bytes == std::vector<double>{3 * 60 * 96, 3 * 60 * 20, 3 * 60 * 4 * 16, 3 * 60 * 2 * 8 / 2});
}

TEST_CASE("linear attention with a state, by hand", "[lowering]") {
  LinearView<> h;
  h.key_heads = 4, h.value_heads = 8, h.key_dim = 6, h.value_dim = 5, h.conv_width = 4;
  h.state_bytes = 13 * u::B;
  Bench b(Phase::prefill);
  mix(b, h);
  // Queries and keys 2 x 6 each, values 4 x 5; an output gate, strength and decay of each head.
  check(b["linear_attention_input"], product(60, 44 + 20 + 2 * 4, 96));
  CHECK(b["output_gate"].count == 0);
  // The tokens before move in the format of activations, there and back.
  const double past = 13 * 6 * 3 * 44, passed = 60 * 44, moved = 2 * 2 * 6 * 3 * 44;
  check(b["short_convolution"],
        {8 * passed, 4 * 44 + 2 * 4 + 5, 4 * passed, 4 * passed + moved, 2 * passed, past});
  const double cells = 20 * 6, state = 13 * cells * 6, io = 2 * 60 * (44 + 20);
  check(b["recurrent_state"], {7 * cells * 60, 0, io, io + 2 * state, 2 * 60 * 44, state});
  check(b["linear_attention_output"], product(60, 96, 20));
  const auto& chain = b["recurrent_state"];
  CHECK(chain.recurrence == Recurrence::gated_delta);
  CHECK_FALSE(chain.stepping);
  CHECK(std::array{chain.m, chain.n, chain.k, chain.copies, chain.group_heads} ==
        std::array{10.0, 5.0, 6.0, 24.0, 2.0});
  // A step of three tokens that may be taken back reads one state and writes three.
  Bench steps(Phase::decode);
  steps.plan.new_tokens = 3;
  mix(steps, h);
  CHECK(steps["recurrent_state"].stepping);
  CHECK(steps["recurrent_state"].memory_bytes.base() == 2 * 18 * (44 + 20) + (1 + 3) * state);

  h.gate_rank = 7, h.decay_rank = 9, h.channel_decay = true;
  Bench low(Phase::prefill);
  mix(low, h);
  check(low["linear_attention_input"], product(60, 44 + 7 + 4, 96));
  check(low["output_gate"], product(60, 20, 7));
  CHECK(low["output_gate"].count == 3);
  check(low["decay_down"], product(60, 9, 96));
  check(low["decay_up"], product(60, 24, 9, 1, 24 - 4));
}

TEST_CASE("a state-space block, by hand", "[lowering]") {
  StateSpaceView<> h;
  h.heads = 8, h.head_dim = 5, h.state = 6, h.groups = 4, h.conv_width = 4, h.conv_bias = h.bias = 1;
  h.state_bytes = 13 * u::B;
  Bench b(Phase::prefill);
  mix(b, h);
  // Gate and values 4 x 5 each, two groups of matrices of 6 in and out, a step a head.
  check(b["state_space_input"], product(60, 20 + 44 + 4, 96, 1, 68));
  // The tokens before move in the format of activations, there and back.
  const double past = 13 * 6 * 3 * 44, passed = 60 * 44, moved = 2 * 2 * 6 * 3 * 44;
  check(b["short_convolution"],
        {8 * passed, 5 * 44 + 3 * 4 + 20, 4 * passed, 4 * passed + moved, 2 * passed, past});
  const double cells = 20 * 6, state = 13 * cells * 6, io = 2 * 60 * (44 + 20);
  check(b["recurrent_state"], {5 * cells * 60, 0, io, io + 2 * state, 2 * 60 * 44, state});
  check(b["state_space_output"], product(60, 96, 20, 1, 96));
  h.groups = 1;  // each device has it
  h.conv_width = 0;
  Bench one(Phase::prefill);
  mix(one, h);
  CHECK(one["recurrent_state"].working_set.base() == 2 * 60 * (32 + 20));
  CHECK(one["short_convolution"].state.base() == 0);
}
