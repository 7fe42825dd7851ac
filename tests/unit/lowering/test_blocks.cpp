// The operators around the mixers, each amount worked by hand: feed-forward layers, experts, both ends of a
// transformer, convolutions and the operators of programs.

#include <mlsysim/lowering/convolution.hpp>
#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/lowering/feed_forward.hpp>
#include <mlsysim/lowering/listed.hpp>
#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/lowering/transformer.hpp>
#include <mlsysim/timing/step.hpp>

#include "by_hand.hpp"

using namespace by_hand;

TEST_CASE("the share of a device: sequences, tokens, splits and stages", "[lowering]") {
  Bench b(Phase::prefill);
  b.stack.layers = 5;
  b.plan.pp = 2;
  b.plan.ep = 4;
  b.plan.cp = 5;
  CHECK(b.frame().sequences == 1.5);
  CHECK(b.frame().tokens == 3);
  CHECK(b.frame().split == 1);
  CHECK(b.frame().stage == Approx(3.0 / 5));  // the fuller stage of five layers on two has three
  b.structure.sequence_parallel = true;
  CHECK(b.frame().split == 0.5);
  b.plan.ep = 8;  // none has less than one
  CHECK(b.frame().sequences == 1);
  b.plan.ep = 1;
  b.plan.batch = 0.5;  // an expected value may be less
  CHECK(b.frame().sequences == 0.5);
}

TEST_CASE("each group of ranks that talk has a name", "[lowering]") {
  CHECK(kCommGroups == static_cast<std::size_t>(CommGroup::host) + 1);
  for (const auto name : Choices<CommGroup>::names) CHECK(!name.empty());
}

TEST_CASE("products: biases, casts and copies", "[lowering]") {
  Bench b(Phase::training);
  b.stack.bias = 1;
  b.structure.narrow = true;
  detail::matmul(b.frame(), "one", OpGroup::feed_forward, 3.0, 60.0, 7.0, 11.0, 5.0);
  const double in = 2 * 60 * 11 * 5, out = 2 * 60 * 7 * 5, weights = (7 * 11 + 7) * 5;
  check(b["one"], {2 * 60 * 7 * 11 * 5, weights, in + out, in + out + 3 * weights, in, 0});
  CHECK((b["one"].biased == 1 && !b["one"].stays_16bit));
  // The left factor is read and written once more, narrow.
  const double cast = 60 * 11 * 5;
  check(b["cast"], {2 * cast, 0, 4 * cast, 4 * cast, 0, 0});
  Bench head(Phase::training);
  head.structure.narrow = true;
  detail::matmul(head.frame(), "logits", OpGroup::head, 1.0, 60.0, 7.0, 11.0);
  CHECK((head["logits"].stays_16bit && !head.has("cast")));
  // Of 4 bits the maximum is read first; values and scales are written in two layouts, where weights are
  // frozen in one.
  Bench four(Phase::training), frozen(Phase::training);
  four.structure.narrow = four.structure.four_bits = frozen.structure.narrow = true;
  frozen.structure.adapters = Adapters::lora;
  detail::matmul(four.frame(), "one", OpGroup::feed_forward, 3.0, 60.0, 7.0, 11.0, 5.0);
  detail::matmul(frozen.frame(), "one", OpGroup::feed_forward, 3.0, 60.0, 7.0, 11.0, 5.0);
  check(four["cast"], {2 * cast, 0, (2 + 2 * 0.5625) * cast, (4 + 2 * 0.5625) * cast, 0, 0});
  check(frozen["cast"], {2 * cast, 0, 3 * cast, 3 * cast, 0, 0});
}

TEST_CASE("norms: what they read, write and keep", "[lowering]") {
  const double values = 60 * 96;
  Bench serving(Phase::prefill), training(Phase::training), apart(Phase::training);
  serving.stack.norm_vectors = 2;
  detail::norm(serving.frame(), "norm", 1.0);
  check(serving["norm"], {6 * values, 2 * 96, 2 * 4 * values, 2 * 4 * values, 2 * values, 0});
  detail::norm(training.frame(), "norm", 1.0);
  CHECK(training["norm"].memory_bytes.base() == 2 * 5 * values);
  apart.structure.fused = false;
  apart.structure.dropout = true;
  apart.structure.sequence_parallel = true;
  detail::norm(apart.frame(), "norm", 1.0);
  CHECK(apart["norm"].memory_bytes.base() == 2 * 7 * values / 2);
  CHECK(apart["norm"].saved_bytes.base() == 2 * values / 2);
  auto& op = detail::norm(apart.frame(), "again", 1.0);
  const auto before = op;
  detail::dropout_mask(apart.frame(), op, 100.0);
  detail::dropout_traffic(apart.frame(), op, 100.0);
  CHECK((op.saved_bytes - before.saved_bytes).base() == 100);
  CHECK((op.memory_bytes - before.memory_bytes).base() == 100);
  // Ranks that divide the sequence scatter the sums and gather what the next product reads.
  detail::join_tensor_parallel(apart.frame(), "join", 1.0, part::attention);
  const auto& gather = apart.ops[apart.ops.size() - 1];
  check_collective(apart.ops[apart.ops.size() - 2], Collective::reduce_scatter, 2 * values, 2, 1);
  check_collective(gather, Collective::all_gather, 2 * values, 2, 1);
  CHECK(gather.overlap_with == OverlapWith::product);
}

TEST_CASE("dense feed-forward layers, by hand", "[lowering]") {
  DenseView<> h;
  h.width = 40, h.matrices = 3, h.bias = 1;
  Bench b(Phase::training);
  b.structure.dropout = b.structure.sequence_parallel = true;
  detail::feed(b.frame(), 3.0, h);
  auto up = product(60, 2 * 20, 96, 1, 40);
  up.saved_bytes /= 2;  // each rank keeps its part of the sequence
  check(b["ffn_up"], up);
  const double values = 60 * 20;
  // In and out, and the gate; kept are both factors.
  check(b["ffn_activation"], {8 * values, 0, 4 * values, 6 * values, 4 * values, 0});
  auto down = product(60, 96, 20, 1, 96);
  down.saved_bytes += 60 * 96 / 2.0;
  check(b["ffn_down"], down);
  CHECK(b["ffn_down"].count == 3);

  h.matrices = 2, h.bias = 0;
  Bench two(Phase::prefill);
  detail::feed(two.frame(), 1.0, h);
  check(two["ffn_up"], product(60, 20, 96));
  check(two["ffn_activation"], {8 * values, 0, 4 * values, 4 * values, 2 * values, 0});
  check_collective(two["ffn_tp_reduce"], Collective::all_reduce, 2 * 60 * 96, 2, 1);
  h.matrices = 3;
  Bench unfused(Phase::prefill);
  unfused.structure.fused = false;
  detail::feed(unfused.frame(), 1.0, h);
  CHECK(unfused["ffn_activation"].memory_bytes.base() == 2 * (2 + 3) * values);
}

namespace {

/// Sixteen experts of which a token takes two; four ranks have four each.
ExpertsView<> experts() {
  ExpertsView<> h;
  h.experts = 16, h.top_k = 2, h.width = 10, h.shared = 1, h.shared_width = 14, h.hidden = 96;
  return h;
}

}  // namespace

TEST_CASE("experts in a small batch, by hand", "[lowering]") {
  auto h = experts();
  h.router_bias = h.shared_gate = h.bias = 1;
  Bench b(Phase::decode);
  b.plan.ep = 4;
  b.plan.batch = 4;
  b.plan.cp = 1;
  detail::feed(b.frame(), 3.0, h);
  // One token a rank, four in all: of a rank's four experts 4 (1 - (7/8)^4) are touched.
  const double touched = 4 * (1 - 2401.0 / 4096);
  check(b["router"], product(1, 16, 96, 1, 16 + 96));
  check(b["expert_choice"], {4 * 16, 0, 2 * 16, 2 * 16, 0, 0});
  CHECK(b["expert_choice"].count == 9);
  check(b["expert_gather"], {0, 0, 4 * 192, 4 * 192, 0, 0});
  check_collective(b["expert_dispatch"], Collective::all_to_all, 13 * 2 * 96, 4, 2);
  check_collective(b["expert_combine"], Collective::all_to_all, 2 * 2 * 96, 4, 2);
  CHECK(b["routed_width_down"].count == 0);
  // Two rows between the touched experts, whose weights are read; stored are all four.
  check(b["expert_up"], {2 * 2 * 10 * 96, 4 * (960 + 10), 2 * 2 * (96 + 10),
                         2 * 2 * (96 + 10) + 3 * 960 * touched, 2 * 2 * 96, 0});
  CHECK(b["expert_up"].m == Approx(2 / touched));
  check(b["expert_activation"], {8 * 10, 0, 4 * 10, 6 * 10, 4 * 10, 0});
  check(b["expert_down"],
        {2 * 2 * 480, 4 * (480 + 96), 2 * 2 * (96 + 5), 2 * 2 * (96 + 5) + 3 * 480 * touched, 2 * 2 * 5, 0});
  const double summed = 2 * 2 * 96 + 2 * 96;
  check(b["expert_sum"], {2 * 192, 0, summed, summed, 0, 0});
  check(b["shared_expert_up"], product(1, 14, 96));
  check(b["shared_expert_down"], product(1, 96, 7));
  CHECK(b["shared_expert_up"].count == 3);
  check_collective(b["experts_tp_reduce"], Collective::all_reduce, 2 * 96, 2, 1);
}

TEST_CASE("experts without a sequence of their own, of another width, and folded", "[lowering]") {
  auto h = experts();
  h.hidden = 48, h.latent_norm = 1, h.shared = 0;
  Bench half(Phase::decode);
  half.plan.ep = 4;
  half.plan.batch = 2;  // two of four ranks have a sequence; the rows are dealt to all
  half.plan.cp = 1;
  detail::feed(half.frame(), 3.0, h);
  check(half["routed_width_down"], product(1, 48, 96, 1, 48));
  CHECK(half["routed_width_down"].count == 3);
  check(half["routed_width_up"], product(1, 96, 48));
  CHECK(half["expert_gather"].working_set.base() == 4 * 2 * 48);
  CHECK(half["expert_up"].m == 1);  // 4 (1 - (7/8)^2) is less than one expert, and one is the least
  CHECK(half["expert_up"].params.base() == 4 * 10 * 48);
  CHECK(half["shared_expert_up"].count == 0);

  // Eight ranks of whole experts over the two devices of four ranks: each sends its half of the tokens.
  Bench folded(Phase::decode);
  folded.plan.folded = true;
  folded.plan.ep = 8;
  folded.plan.batch = 4;
  folded.plan.new_tokens = 6;
  folded.plan.cp = 3;
  folded.structure.sequence_parallel = true;
  detail::feed(folded.frame(), 3.0, experts());
  check_collective(folded["expert_dispatch"], Collective::all_to_all, 13 * 2 * 96, 8, 3);
  const double touched = 2 * (1 - std::pow(7.0 / 8, 2 * 4));
  CHECK(folded["expert_up"].m == Approx(2 / touched));
  CHECK(folded["expert_up"].n == 2 * 10);
  CHECK(folded["expert_up"].saved_bytes.base() == Approx(2 * 2 * 96));  // on one device each
  CHECK(folded["shared_expert_up"].saved_bytes.base() == 2 * 2 * 96 / 2.0);
  int joins = 0, shared = 0;
  for (const auto& op : folded.ops) {
    const bool own = op.name == "experts_tp_reduce" && op.message.base() == 2 * 96 && op.ranks == 1;
    joins += own ? 1 : 0;
    shared +=
        op.name == "shared_experts_tp_reduce" && op.message.base() == 2 * 2 * 96 && op.count == 3 ? 1 : 0;
  }
  CHECK((joins == 2 && shared == 2));
  // Without shared experts there is nothing of theirs to join.
  auto routed_alone = experts();
  routed_alone.shared = 0;
  folded.ops.clear();
  detail::feed(folded.frame(), 3.0, routed_alone);
  double joined = 0;
  for (const auto& op : folded.ops) joined += op.name == "shared_experts_tp_reduce" ? op.count : 0;
  CHECK(joined == 0);
}

TEST_CASE("a pass whose parts take turns has two of whole sequences", "[lowering]") {
  const auto parts = [](double batch, double ep) {
    Plan<> p;
    p.batch = batch, p.ep = ep;
    return detail::two_batch_overlap(p);
  };
  CHECK(parts(8, 2) == 2);
  CHECK(parts(8, 4) == 2);
  CHECK(parts(2, 2) == 1);  // a sequence a rank
  CHECK(parts(8, 1) == 1);  // nothing is exchanged
}

TEST_CASE("the fullest rank of experts, and what runs beside their exchange", "[lowering]") {
  Bench b(Phase::decode);
  b.plan.ep = b.plan.batch = 4;
  b.plan.cp = 1;
  b.plan.rank_imbalance = 1.5;
  b.structure.expert_overlap = ExpertOverlap::shared_expert;
  b.structure.expert_copies = ExpertCopies::per_node;
  auto h = experts();
  h.groups = 8, h.limited = 3;
  detail::feed(b.frame(), 3.0, h);
  // Three rows in place of two, of as many experts as six tokens touch.
  check_collective(b["expert_dispatch"], Collective::all_to_all, 13 * 3 * 96, 4, 2);
  CHECK(b["expert_dispatch"].message_back.base() == 2 * 3 * 96);  // gradients come back as activations
  CHECK(b["expert_combine"].message_back.base() == 13 * 3 * 96);
  const double touched = 4 * (1 - std::pow(7.0 / 8, 6));
  CHECK(b["expert_up"].copies == Approx(touched));
  CHECK(b["expert_up"].m == Approx(3 / touched));
  CHECK(b["expert_up"].params.base() == 4 * 20 / 2.0 * 96);
  const auto& routed = b["expert_dispatch"].routed;
  CHECK((routed.experts == 16 && routed.top_k == 2 && routed.groups == 8 && routed.limited == 3));
  CHECK(routed.one_copy);
  CHECK(b["expert_dispatch"].overlap_with == OverlapWith::marked);
  CHECK((b["shared_expert_up"].parts & part::overlap_compute));
  CHECK_FALSE((b["expert_up"].parts & part::overlap_compute));

  // By chance the fullest of four ranks has 1 + 1.05 sqrt(14/15 / 2) times the mean of two rows.
  Bench chance(Phase::decode);
  chance.plan.ep = chance.plan.batch = 4;
  chance.plan.cp = 1;
  chance.plan.rank_imbalance = 0;
  detail::feed(chance.frame(), 3.0, experts());
  CHECK(chance["expert_combine"].message.base() ==
        Approx(2 * 2 * 96 * (1 + 1.0491 * std::sqrt(14.0 / 30))).epsilon(1e-3));
  // More than all on one rank there cannot be.
  chance.ops.clear();
  chance.plan.rank_imbalance = 9;
  detail::feed(chance.frame(), 3.0, experts());
  CHECK(chance["expert_combine"].message.base() == Approx(2 * 2 * 96 * 4));
}

TEST_CASE("both ends of a decoder, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.stack.vocab = 1000, b.stack.position_rows = 7;
  b.structure.dropout = true;
  b.stack.looks_up = true, b.stack.lookup_values = 50, b.stack.lookup_reads = 4;
  detail::input_embedding(b.frame());
  const double values = 60 * 96;
  // Rows are read as weights and written as activations; a mask of a byte a value.
  check(b["embedding"], {0, 1000 * 96 / 2.0 + 7 * 96 + 50, 2 * values,
                         2 * values + 3 * (values + 60 * 4) + values, values, 0});
  CHECK(b["embedding"].place == StageScope::first);
  check_collective(b["embedding_join"], Collective::all_reduce, 2 * values, 2, 1);
  // In sequence parallelism each of the two ranks drops values of its own half.
  b.ops.clear();
  b.structure.sequence_parallel = true;
  detail::input_embedding(b.frame());
  CHECK(b["embedding"].memory_bytes.base() == 2 * values + 3 * (values + 60 * 4) + values / 2);
  CHECK(b["embedding"].saved_bytes.base() == values / 2);
  check_collective(b["embedding_join"], Collective::reduce_scatter, 2 * values, 2, 1);
  b.structure.sequence_parallel = false;
  b.ops.clear();
  b.stack.edge_norms = 1;
  detail::output_head(b.frame());
  auto head = product(60, 500, 96);
  check(b["logits"], head);
  // Logits of each token in fp32: 16 B beside the read at 2 B; 4 B kept, 8 B more at the peak.
  const double logits = 60 * 1000 / 2.0;
  check(b["loss"], {6 * logits, 0, (2 + 8) * logits, (2 + 16) * logits, 4 * logits, 0});
  CHECK(b["loss"].place == StageScope::last);
  // In chunks one chunk's logits, as large as all hidden states, lie beside the gradient that is kept.
  b.ops.clear();
  b.structure.loss = LossKernel::chunked;
  detail::output_head(b.frame());
  CHECK(b["logits"].working_set.base() == b["logits"].saved_bytes.base() + 2 * 60 * 96);
  CHECK(b["loss"].working_set.base() == 2 * 60 * 96);
  b.structure.loss = LossKernel::whole;

  Bench step(Phase::decode);
  step.stack.vocab = 1000, step.stack.own_head = 0, step.stack.head_bias = 1;
  step.stack.several_streams = true, step.stack.streams = 4;
  step.structure.sequence_parallel = true;
  detail::output_head(step.frame());
  CHECK(step["logits"].params.base() == 500);  // the embedding itself, and a bias
  CHECK(step["logits"].biased == 1);
  check(step["stream_join"], product(6, 4, 4 * 96, 1, 5));
  check_collective(step["logits_gather"], Collective::all_gather, 2 * 6 * 96, 2, 1);
  step.plan.pp = 2;  // the last stage has a copy
  step.ops.clear();
  detail::output_head(step.frame());
  CHECK(step["logits"].params.base() == 500 * 96 + 500);
}

TEST_CASE("both ends of an encoder, and residual streams", "[lowering]") {
  Bench b(Phase::inference);
  b.structure.architecture = Architecture::encoder;
  b.stack.patch_inputs = 12, b.stack.pooler = 1, b.stack.outputs = 10;
  detail::input_embedding(b.frame());
  check(b["patch_embedding"], product(60, 96, 12, 1, 2 * 96));
  CHECK((b["patch_embedding"].count == 1 && b["patch_embedding"].place == StageScope::first));
  detail::output_head(b.frame());
  check(b["pooler"], product(6, 96, 96));
  check(b["classifier"], product(6, 10, 96, 1, 10));
  CHECK((b["pooler"].count == 1 && b["classifier"].count == 1));
  Bench none(Phase::inference);
  none.structure.architecture = Architecture::encoder;
  none.stack.bias = 1;
  detail::input_embedding(none.frame());
  detail::output_head(none.frame());
  CHECK((none["patch_embedding"].count == 0 && none["classifier"].count == 0));
  CHECK(none["classifier"].params.base() == 0);

  Bench streams(Phase::prefill);
  streams.stack.streams = 4;
  detail::mix_streams(streams.frame(), 3.0);
  // Weights to read, write and mix four streams: 4 + 4 + 16, made from all four.
  check(streams["stream_weights"], product(60, 24, 4 * 96, 1, 24 + 3));
  const double wide = 60 * 4 * 96;
  check(streams["stream_mix"], {4 * wide, 0, 2 * 3 * wide, 2 * 3 * wide, 0, 0});
}

TEST_CASE("a transformer of one kind of layer has its norms and streams as often as it has layers",
          "[lowering]") {
  Bench b(Phase::training);
  b.structure.dropout = true;
  b.stack.layers = 5, b.stack.norms = 4, b.stack.several_streams = true, b.stack.streams = 2;
  b.plan.pp = 2;
  detail::forward_transformer(b.structure, b.stack, b.plan, b.ops);
  // Three layers on the fuller stage, half of four norms before each part; two branches dropped a layer.
  CHECK(b["attention_norm"].count == Approx(6));
  CHECK(b["ffn_norm"].count == Approx(6));
  const double values = 60 * 96;
  CHECK(b["attention_norm"].memory_bytes.base() == 2 * 5 * values + values / 2);
  CHECK(b["ffn_norm"].memory_bytes.base() == 2 * 5 * values + values / 2);
  CHECK(b["attention_norm"].recompute_parts == part::none);
  CHECK(b["stream_mix"].count == Approx(6));
}

TEST_CASE("convolutions, by hand", "[lowering]") {
  Bench b(Phase::inference);
  const auto lowered = [&](const ConvLayer& layer) {
    b.ops.clear();
    detail::forward_convolution(b.structure, std::vector{layer}, b.plan, b.ops);
    return b.ops[0];
  };
  ConvLayer conv;
  conv.in = 3, conv.out = 8, conv.kernel = 3, conv.stride = 2, conv.size = 9, conv.times = 4;
  conv.bias = conv.batch_norm = conv.unit_bias = true;
  // 5 x 5 outputs of 27 inputs for each of six images; a bias, two of the norm, one a unit.
  const double in = 2 * 6 * 3 * 81, out = 2 * 6 * 8 * 25, weights = 8 * 27 + 8 + 2 * 8 + 8 * 25;
  const auto op = lowered(conv);
  check(op, {2 * 150 * 8 * 27, weights, in + out, in + out + 3 * weights, in, 0});
  CHECK((op.count == 4 && op.m == 150 && op.n == 8 && op.k == 27));
  CHECK(b.ops.size() == 1);  // the norm is folded into it
  conv.padding = Padding::valid;
  CHECK(lowered(conv).m == 6 * 16);
  ConvLayer least;  // what is not stated is one
  least.in = 4, least.out = 6;
  check(lowered(least), product(6, 6, 4));
  ConvLayer flat;
  flat.in = 4, flat.out = 6, flat.groups = 2, flat.kernel_h = 3, flat.kernel_w = 5, flat.size_h = 7,
  flat.size_w = 9;
  check(lowered(flat), {2 * (6 * 63) * 6 * 30, 6 * 30, 2 * 6 * 63 * (4 + 6), 2 * 6 * 63 * (4 + 6) + 3 * 180,
                        2 * 6 * 63 * 4, 0});
  CHECK(b.ops[0].copies == 2);
  flat.padding = Padding::valid;
  CHECK(lowered(flat).m == 6 * 5 * 5);
  ConvLayer depthwise;
  depthwise.op = LayerOp::depthwise;
  depthwise.channels = 4, depthwise.kernel = 3, depthwise.size = 6;
  const auto each = lowered(depthwise);
  CHECK((each.m == 6 * 36 && each.n == 1 && each.k == 9 && each.copies == 4 && each.count == 1));
  ConvLayer pool;
  pool.op = LayerOp::pool;
  pool.channels = 4, pool.kernel = 2, pool.stride = 2, pool.size = 6;
  const double pooled = 6 * 4 * 9, moved = 2 * (6 * 4 * 36 + pooled);
  check(lowered(pool), {4 * pooled, 0, moved, moved, 0, 0});
  ConvLayer linear;
  linear.op = LayerOp::linear;
  linear.in = 20, linear.out = 10, linear.size = 7;
  check(lowered(linear), product(6, 10, 20));
}

TEST_CASE("batch norms that run on their own, by hand", "[lowering]") {
  ConvLayer conv;
  conv.in = 3, conv.out = 8, conv.size = 5, conv.batch_norm = true, conv.times = 4;
  const double outputs = 6 * 8 * 25;
  const auto arrays = [&](Phase phase, bool fused, bool residual) {
    Bench b(phase);
    b.structure.fused = fused;
    conv.residual = residual;
    detail::forward_convolution(b.structure, std::vector{conv}, b.plan, b.ops);
    const auto& norm = b["batch_norm"];
    const bool training = phase == Phase::training;
    CHECK(norm.count == 4);
    CHECK(norm.work.base() == (training ? 8 : 2) * outputs);
    CHECK(norm.working_set.base() == 4 * outputs);
    CHECK(norm.saved_bytes.base() == (training ? 2 * outputs : 0));
    double traffic = 0;  // in inference the sum and the activation are operators of their own
    for (const auto& op : b.ops)
      if (op.kind == OpKind::elementwise) traffic += op.memory_bytes.base();
    return traffic / (2 * outputs);
  };
  CHECK(arrays(Phase::training, true, false) == 3 + 2);
  CHECK(arrays(Phase::training, true, true) == 5 + 3);
  // Without a sum behind it a projection has no activation.
  CHECK(arrays(Phase::inference, false, false) == 1 + 1);
  CHECK(arrays(Phase::inference, false, true) == (1 + 1) + (2 + 1) + (1 + 1));
}

TEST_CASE("operators of programs, by hand", "[lowering]") {
  ListedOperator first, then;
  first.op = ListedKind::product, first.weighted = true, first.times = 4;
  first.rows = 10, first.columns = 7, first.depth = 11, first.copies = 3;
  first.reads = 110, first.writes = 70, first.fused_reads = 90, first.fused_writes = 60, first.weights = 77,
  first.stored = 66, first.bytes = 13, first.alive = 200;
  then = first;
  then.op = ListedKind::pointwise, then.joined = true, then.flops = 500, then.weights = then.bytes = {},
  then.alive = 300;
  Bench b(Phase::inference);
  const auto run = [&](bool fused) {
    b.ops.clear();
    b.structure.fused = fused;
    detail::forward_operators(b.structure, std::vector{first, then}, b.plan, b.ops);
  };
  run(false);
  REQUIRE(b.ops.size() == 2);
  // Six runs together: six times the rows, the weights once, integers six times.
  const double apart = 2 * 6 * 180 + 3 * 77 + 6 * 13, fused = 2 * 6 * 150 + 3 * 77 + 6 * 13;
  check(b.ops[0], {2.0 * 60 * 7 * 11 * 3, 66, 2 * 6 * 200, apart, 2 * 6 * 110, 0});
  CHECK((b.ops[0].m == 60 && b.ops[0].copies == 3 && b.ops[0].count == 4));
  check(b.ops[1], {6 * 500, 66, 2 * 6 * 300, 2 * 6 * 180, 0, 0});
  run(true);
  REQUIRE(b.ops.size() == 1);
  // What is joined adds its traffic and weights; its arithmetic hides behind the product's.
  check(b.ops[0], {2.0 * 60 * 7 * 11 * 3, 132, 2 * 6 * 300, fused + 2 * 6 * 150, 2 * 6 * 110, 0});
  first.weighted = false;  // a product of activations occurs more often
  run(false);
  CHECK((b.ops[0].m == 10 && b.ops[0].copies == 18));
  first.op = ListedKind::reduction, first.flops = 40, first.fixed = true;  // on weights alone: once
  run(true);
  CHECK(b.ops[0].work.base() == 40 + 6 * 500);
  CHECK(b.ops[0].memory_bytes.base() == 2 * 150 + 3 * 77 + 13 + 2 * 6 * 150);
  CHECK(b.ops[0].kind == OpKind::elementwise);
  // What is not stated is nothing, or once.
  first = {}, first.op = ListedKind::product;
  run(false);
  CHECK((b.ops[0].work.base() == 2 * 6 && b.ops[0].memory_bytes.base() == 0 && b.ops[0].count == 1));
}

TEST_CASE("operators on their own, by hand", "[lowering]") {
  const auto product = product_op<double>(60, 7, 11, {1 * u::B, 2 * u::B, 3 * u::B}, 4, 5);
  CHECK(product.work.base() == 2 * 60 * 7 * 11 * 5);
  CHECK(product.memory_bytes.base() == 5 * (1 * 60 * 11 + 2 * 7 * 11 + 3 * 60 * 7));
  CHECK((product.count == 4 && product.copies == 5));
  AttentionCall<> call;
  call.batch = 6, call.heads = 8, call.kv_heads = 4, call.qk_dim = 16, call.v_dim = 12, call.new_tokens = 10,
  call.context = 40;
  call.kv_bytes = 5 * u::B;
  const auto attention = attention_op(call, 3.0);
  CHECK(attention.work.base() == 2 * 48 * 355 * 28);
  CHECK(attention.working_set.base() == 2 * 48 * 10 * 28);
  CHECK(attention.memory_bytes.base() == 2 * 48 * 10 * 28 + 5 * 24 * 40 * 28);
  CHECK((attention.attended_keys == 35.5 && attention.group_heads == 2 && attention.copies == 48));
}
