// What follows from a forward list, each amount worked by hand: recomputation, the backward pass, traffic of
// weights and memory.

#include <mlsysim/lowering/backward.hpp>
#include <mlsysim/lowering/holders.hpp>
#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/sharding.hpp>
#include <mlsysim/lowering/totals.hpp>

#include "by_hand.hpp"

using namespace by_hand;

namespace {

/// An operator that keeps 1,000 B, works on 400 B and moves 600, four times.
Op<>& made(OpList<>& ops, OpKind kind, std::string_view name, Parts parts) {
  Op<>& op = detail::emit(ops, kind, OpGroup::feed_forward, name, 4.0, parts);
  op.m = 10, op.n = 7, op.k = 11, op.copies = 3;
  op.work = 5000 * u::FLOP;
  op.params = 231 * u::param;
  op.saved_bytes = 1000 * u::B, op.working_set = 400 * u::B, op.memory_bytes = 600 * u::B;
  op.state = 50 * u::B;
  return op;
}
const Op<>& found(const OpList<>& ops, std::string_view name, Pass pass, int place = 0) {
  for (const auto& op : ops)
    if (op.name == name && op.pass == pass && place-- == 0) return op;
  FAIL(name << " is not there");
  return ops[0];
}
int count(const OpList<>& ops, std::string_view name, Pass pass) {
  int n = 0;
  for (const auto& op : ops) n += op.name == name && op.pass == pass ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("recomputation by operator keeps every second product, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.structure.per_operator = true;
  b.plan.recomputed = 0.75;
  (void)made(b.ops, OpKind::matmul, "product", part::none);
  (void)made(b.ops, OpKind::matmul, "scores", part::core);
  (void)made(b.ops, OpKind::attention, "attention", part::none);
  (void)made(b.ops, OpKind::elementwise, "activation", part::none);
  made(b.ops, OpKind::elementwise, "input", part::none).recompute_parts = part::none;
  made(b.ops, OpKind::matmul, "head", part::none).place = StageScope::last;
  (void)made(b.ops, OpKind::collective, "join", part::none);
  detail::recompute(b.structure, b.plan, b.ops, b.ops.size());
  const auto forward = [&](const char* name) { return found(b.ops, name, Pass::forward); };
  // Three quarters of the blocks: a quarter of 1,000 B stays, and of the others what is kept instead.
  CHECK(forward("product").saved_bytes.base() == 250 + 0.75 * (2 * 0.5 * 210));
  CHECK(forward("product").recomputed_bytes.base() == 750);
  CHECK(forward("scores").saved_bytes.base() == 250);
  CHECK(forward("attention").saved_bytes.base() == 250 + 0.75 * 200);
  CHECK(forward("activation").saved_bytes.base() == 250);
  CHECK(forward("input").saved_bytes.base() == 1000);
  CHECK((forward("head").saved_bytes.base() == 1000 && forward("join").saved_bytes.base() == 1000));
  CHECK(found(b.ops, "product", Pass::recompute).count == 4 * 0.75 * 0.5);
  CHECK(found(b.ops, "scores", Pass::recompute).count == 4 * 0.75);
  CHECK(found(b.ops, "activation", Pass::recompute).count == 4 * 0.75);
  CHECK(found(b.ops, "product", Pass::recompute).work.base() == 5000);
  CHECK(found(b.ops, "product", Pass::recompute).saved_bytes.base() == 0);
  CHECK(found(b.ops, "product", Pass::recompute).params.base() == 0);
  for (const char* name : {"attention", "head", "join"}) CHECK(count(b.ops, name, Pass::recompute) == 0);
}

TEST_CASE("recomputation by part repeats what it names, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.structure.recomputed = part::feed_forward;
  b.plan.recomputed = 0.75;
  (void)made(b.ops, OpKind::matmul, "named", part::none);
  made(b.ops, OpKind::matmul, "recompute_parts", part::none).parts = part::attention;
  made(b.ops, OpKind::matmul, "head", part::none).place = StageScope::last;
  detail::recompute(b.structure, b.plan, b.ops, b.ops.size());
  REQUIRE(b.ops.size() == 4);
  for (const char* name : {"named", "recompute_parts"}) {
    CHECK(found(b.ops, name, Pass::forward).saved_bytes.base() == 250);
    CHECK(found(b.ops, name, Pass::forward).recomputed_bytes.base() == 750);
  }
  CHECK(found(b.ops, "head", Pass::forward).saved_bytes.base() == 1000);
  CHECK(found(b.ops, "named", Pass::recompute).count == 3);
  CHECK(found(b.ops, "named", Pass::recompute).params.base() == 0);
}

TEST_CASE("recomputation that stops early does not repeat the last product of a block, by hand",
          "[lowering]") {
  const auto repeats = [](bool early, bool dropout) {
    Bench b(Phase::training);
    b.structure.recomputed = part::all;
    b.structure.early_stop = early;
    b.structure.dropout = dropout;
    for (const char* name : {"ffn_up", "ffn_down", "expert_down"})
      made(b.ops, OpKind::matmul, name, part::none).parts = part::block;
    for (const auto pattern : {Collective::reduce_scatter, Collective::all_gather}) {
      auto& join = made(b.ops, OpKind::collective, "ffn_tp_reduce", part::none);
      join.parts = part::block;
      join.collective = pattern;
    }
    detail::recompute(b.structure, b.plan, b.ops, b.ops.size());
    std::vector<int> out;
    for (const char* name : {"ffn_up", "ffn_down", "expert_down", "ffn_tp_reduce"})
      out.push_back(count(b.ops, name, Pass::recompute));
    return out;
  };
  CHECK(repeats(false, false) == std::vector{1, 1, 1, 2});
  // The gather is for the next block, and the weights of experts need what these returned.
  CHECK(repeats(true, false) == std::vector{1, 0, 1, 1});
  // The mask of a dropout lies behind the product.
  CHECK(repeats(true, true) == std::vector{1, 1, 1, 2});
}

TEST_CASE("the backward pass of each kind of operator, by hand", "[lowering]") {
  Bench b(Phase::training);
  b.structure.biased = true;
  b.plan.trainable = 0.5;
  made(b.ops, OpKind::matmul, "product", part::none).biased = 1;
  (void)made(b.ops, OpKind::matmul, "scores", part::core);
  (void)made(b.ops, OpKind::attention, "attention", part::none);
  (void)made(b.ops, OpKind::elementwise, "activation", part::none);
  made(b.ops, OpKind::elementwise, "norm", part::none).group = OpGroup::norm;
  detail::backward(b.structure, b.plan, b.ops, b.ops.size());
  const auto back = [&](const char* name, int place = 0) {
    return found(b.ops, name, Pass::backward, place);
  };
  CHECK((back("product").m == 10 && back("product").n == 11 && back("product").k == 7));
  CHECK(back("product").work.base() == 5000);
  CHECK((back("product").params.base() == 0 && back("product").saved_bytes.base() == 0 &&
         back("product").state.base() == 0));
  // The gradient of the weights: 11 x 7 from ten rows; half of them are trained, each read and written.
  const auto gradient = found(b.ops, "product", Pass::weight_gradient);
  CHECK((gradient.m == 11 && gradient.n == 7 && gradient.k == 10 && gradient.count == 2));
  CHECK(gradient.memory_bytes.base() == 400 + 2 * 7 * 231);
  const auto bias = found(b.ops, "bias_gradient", Pass::weight_gradient);
  CHECK((bias.work.base() == 210 && bias.memory_bytes.base() == 420 && bias.count == 2));
  CHECK(count(b.ops, "bias_gradient", Pass::weight_gradient) == 1);
  // Both factors of the scores are activations, and neither gradient can wait.
  CHECK(count(b.ops, "scores", Pass::weight_gradient) == 0);
  CHECK((back("scores").n == 11 && back("scores").k == 7 && back("scores", 1).m == 11 &&
         back("scores", 1).k == 10));
  CHECK((back("scores", 1).count == 4 && back("scores", 1).memory_bytes.base() == 600));
  CHECK(back("attention").work.base() == 2.5 * 5000);
  CHECK(back("attention").memory_bytes.base() == 1200);
  CHECK(back("activation").work.base() == 10000);
  CHECK(back("activation").memory_bytes.base() == 900);
  CHECK(back("norm").work.base() == 10000);
  CHECK(back("norm").memory_bytes.base() == 1000);
}

TEST_CASE("transposes of collectives", "[lowering]") {
  Bench b(Phase::training);
  const auto add = [&](std::string_view name, Collective pattern, OverlapWith overlap_with) {
    detail::collective(b.ops, name, pattern, CommGroup::tp, 1.0, 100 * u::B, 2.0, 1.0).overlap_with =
        overlap_with;
  };
  add("scatter", Collective::reduce_scatter, OverlapWith::product);
  add("gather", Collective::all_gather, OverlapWith::product);
  add("apart", Collective::all_gather, OverlapWith::nothing);
  add("sum", Collective::all_reduce, OverlapWith::product);
  detail::backward(b.structure, b.plan, b.ops, 4);
  CHECK(found(b.ops, "scatter", Pass::backward).collective == Collective::all_gather);
  CHECK(found(b.ops, "gather", Pass::backward).collective == Collective::reduce_scatter);
  CHECK(found(b.ops, "gather", Pass::backward, 1).collective == Collective::all_gather);
  CHECK(found(b.ops, "gather", Pass::backward, 1).overlap_with == OverlapWith::pass);
  CHECK(count(b.ops, "apart", Pass::backward) == 1);
  CHECK(found(b.ops, "sum", Pass::backward).collective == Collective::all_reduce);
}

TEST_CASE("what stages send to each other, by hand", "[lowering]") {
  Bench b(Phase::prefill);
  b.plan.pp = 3, b.plan.cp = 5, b.plan.ep = 3, b.plan.dp = 7;
  detail::pipeline_transfer(b.structure, b.stack, b.plan, 4.0, b.ops);
  const double whole = 2 * 2 * 10 / 5.0 * 96;  // two sequences a rank, two tokens of each
  check_collective(b["pipeline_transfer"], Collective::point_to_point, whole / 2, 3, 2 * 5 * 3 * 7);
  check_collective(b["pipeline_gather"], Collective::all_gather, whole, 2, 1);
  CHECK((b["pipeline_transfer"].count == 4 && b["pipeline_gather"].count == 4));
  Bench one(Phase::prefill);
  one.structure.sequence_parallel = true;
  detail::pipeline_transfer(one.structure, one.stack, one.plan, 4.0, one.ops);
  CHECK((one.ops.size() == 1 && one["pipeline_transfer"].count == 0));
}

namespace {

/// Four replicas of three context-parallel ranks and two expert-parallel ones; 1,200 weights and 2,400 of
/// experts.
struct Sharded : Bench {
  explicit Sharded(int zero_stage) : Bench(Phase::training) {
    structure.zero_stage = zero_stage;
    plan.dp = 4, plan.cp = 3, plan.ep = 2;
    plan.trainable = 0.5;
    plan.exchange_bucket = 1000 * u::B;
  }
};
ListTotals<> weights() {
  ListTotals<> t;
  t.dense_params = 1200 * u::param;
  t.expert_params = 2400 * u::param;
  t.saved_bytes = 1000 * u::B;
  t.block_again = 300 * u::B;
  t.working_set = 500 * u::B;
  t.state = 70 * u::B;
  return t;
}
void shard(Bench& b) { detail::shard(b.structure, b.plan, b.ops, StageScope::every_block, 8.0, weights()); }

}  // namespace

TEST_CASE("who holds the same weights", "[lowering]") {
  Sharded b(0);
  const Holders<double> dense(b.plan, false), routed(b.plan, true);
  CHECK((dense.ranks == 24 && dense.shards == 24 && dense.stride == 2));
  CHECK((routed.ranks == 12 && routed.shards == 12 && routed.stride == 4));
  auto plan = b.plan;
  plan.shards = 6;
  CHECK(Holders<double>(plan, false).shards == 6);
  plan.shards = 30;
  CHECK(Holders<double>(plan, false).shards == 24);
}

TEST_CASE("gradients and weights on their way, by ZeRO stage and by hand", "[lowering]") {
  Sharded b(0);
  b.structure.moe = true;
  shard(b);
  // Half of 1,200 gradients of 7 B: 4,200 B in five pieces of a bucket of 1,000; experts 8,400 B, of which
  // eight layers have one each.
  check_collective(found(b.ops, "gradient_exchange", Pass::update), Collective::all_reduce, 840, 24, 2);
  CHECK(found(b.ops, "gradient_exchange", Pass::update).count == 5);
  check_collective(found(b.ops, "gradient_exchange", Pass::update, 1), Collective::all_reduce, 1050, 12, 4);
  CHECK(found(b.ops, "gradient_exchange", Pass::update, 1).count == 8);
  // Gradients and weights once, states in and out: 7 + 2 x 11 + 3 B; twelve FLOP a weight.
  const auto& whole = found(b.ops, "optimizer", Pass::update);
  CHECK((whole.work.base() == 12 * 600 && whole.memory_bytes.base() == 32 * 600 && whole.count == 1));

  Sharded second(2);
  second.plan.shards = 6;
  shard(second);
  check_collective(found(second.ops, "gradient_scatter", Pass::backward), Collective::reduce_scatter, 840, 6,
                   2);
  check_collective(found(second.ops, "gradient_exchange", Pass::backward), Collective::all_reduce, 140, 4,
                   12);
  check_collective(found(second.ops, "weight_gather", Pass::update), Collective::all_gather, 900, 6, 2);
  CHECK(found(second.ops, "weight_gather", Pass::update).count == 2);
  CHECK(found(second.ops, "optimizer", Pass::update).memory_bytes.base() == 32 * 100);
  CHECK(count(second.ops, "optimizer", Pass::update) == 1);  // experts are apart where there are some

  Sharded first(1);
  first.plan.exchange_bucket = {};
  shard(first);
  CHECK(count(first.ops, "gradient_scatter", Pass::update) == 1);
  CHECK(found(first.ops, "gradient_scatter", Pass::update).count == 8);
  // Each of 24 ranks updates its 25 weights, which the others then gather.
  CHECK(found(first.ops, "optimizer", Pass::update).memory_bytes.base() == 32 * 25);
  CHECK(count(first.ops, "weight_gather", Pass::update) == 1);

  Sharded third(3);
  third.structure.prefetch = false;
  shard(third);
  check_collective(found(third.ops, "weight_gather", Pass::forward), Collective::all_gather, 450, 24, 2);
  check_collective(found(third.ops, "weight_gather", Pass::backward), Collective::all_gather, 450, 24, 2);
  CHECK(found(third.ops, "weight_gather", Pass::forward).overlap_with == OverlapWith::pass);
  CHECK(found(third.ops, "weight_gather", Pass::backward).overlap_with == OverlapWith::nothing);
  CHECK(count(third.ops, "weight_gather", Pass::update) == 0);
}

TEST_CASE("what lies in host memory comes and goes, by hand", "[lowering]") {
  Sharded b(0);
  b.structure.offloads = true;
  b.plan.offload_weights = 0.25, b.plan.offload_activations = 0.2, b.plan.offload_states = 0.1;
  shard(b);
  CHECK(found(b.ops, "state_transfer", Pass::update).message.base() == Approx(11 * 600 * 0.1));
  for (const Pass pass : {Pass::forward, Pass::backward})
    CHECK(found(b.ops, "weight_fetch", pass).message.base() == 3 * 3600 * 0.25);
  CHECK(found(b.ops, "activation_store", Pass::forward).message.base() == 200);
  CHECK(found(b.ops, "activation_fetch", Pass::backward).message.base() == 200);
  Bench prefill(Phase::prefill);
  prefill.structure.offloads = true;
  prefill.plan.offload_weights = 0.25;
  shard(prefill);
  CHECK(prefill.ops.size() == 1);
  CHECK(prefill["weight_fetch"].message.base() == 3 * 3600 * 0.25);
}

TEST_CASE("weights are updated on the host where their states lie, by hand", "[lowering]") {
  for (const int stage : {0, 2}) {
    Sharded b(stage);
    b.structure.offloads = b.structure.host_computes = true;
    b.plan.offload_states = 0.1;
    b.plan.host_bandwidth = 23 * u::B / u::s;
    shard(b);
    // A tenth of 600 trained weights, of which each of 24 ranks has its part from stage 1 on.
    const double mine = stage == 0 ? 600 : 25;
    CAPTURE(stage);
    CHECK(found(b.ops, "optimizer", Pass::update).memory_bytes.base() == Approx(32 * 0.9 * mine));
    const auto& store = found(b.ops, "gradient_store", stage == 0 ? Pass::update : Pass::backward);
    CHECK(store.message.base() == Approx(7 * 0.1 * mine));
    // A gradient of 4 B and a weight of 3 B, states of 11 B there and back.
    const auto& update = found(b.ops, "host_update", Pass::update);
    CHECK(update.message.base() == Approx((4 + 2 * 11 + 3) * 0.1 * mine));
    CHECK((update.count == 1 && update.host_bandwidth.base() == 23));
    CHECK(found(b.ops, "weight_return", Pass::update).message.base() == Approx(3 * 0.1 * mine));
    CHECK(count(b.ops, "state_transfer", Pass::update) == 0);
  }
}

TEST_CASE("the host multiplies what lies in its memory in passes of few rows, by hand", "[lowering]") {
  for (const double rows : {6.0, 5.0}) {
    Bench b(Phase::decode);  // a token of each of six sequences
    b.structure.offloads = b.structure.host_computes = true;
    b.plan.offload_weights = 0.25, b.plan.offload_experts = 0.5;
    b.plan.host_rows = rows;
    b.plan.host_bandwidth = 23 * u::B / u::s;
    (void)made(b.ops, OpKind::matmul, "dense", part::none);
    (void)made(b.ops, OpKind::matmul, "routed", part::routed);
    made(b.ops, OpKind::matmul, "head", part::none).place = StageScope::last;
    (void)made(b.ops, OpKind::collective, "join", part::none);
    (void)made(b.ops, OpKind::matmul, "later", part::none);
    detail::compute_layers_on_host(b.plan, b.ops, 4);
    // The host has a quarter of the dense weights, and of the experts' that and half of what is left.
    const double works = rows == 6 ? 1 : 0;
    CHECK(b["dense"].count == 4 * (1 - 0.25 * works));
    CHECK(b["routed"].count == 4 * (1 - 0.625 * works));
    for (const char* name : {"head", "join", "later"}) CHECK(b[name].count == 4);
    CHECK(b["host_layers"].message.base() == 600 * 4 * (0.25 + 0.625) * works);
    CHECK((b["host_layers"].count == 1 && b["host_layers"].host_bandwidth.base() == 23));
    // What the host does not multiply crosses the link.
    Bench link(Phase::decode);
    link.structure = b.structure, link.plan = b.plan;
    shard(link);
    CHECK(link["weight_fetch"].message.base() == 3 * (1200 * 0.25 + 2400 * 0.625));
    CHECK(link["weight_fetch"].count == 1 - works);
  }
}

TEST_CASE("the memory of a device in training, by hand", "[lowering]") {
  Device<> device;
  device.conventions.memory_fragmentation = 0.1;
  device.conventions.memory_reserve = 17 * u::B;
  device.memory.capacity = 1e6 * u::B;
  const auto memory = [&](int zero_stage) {
    Sharded b(zero_stage);
    b.plan.offload_weights = 0.25, b.plan.offload_activations = 0.2, b.plan.offload_states = 0.1;
    MemoryDemand<> d = demand_of(b.structure, b.plan, weights(), 4.0, 3.0);
    d.bucket = 0.5;
    return memory_of(b.structure, b.plan, device, d);
  };
  // Of 1,200 weights a 24th, of the experts' 2,400 a twelfth: 250.
  const auto whole = memory(0), divided = memory(3);
  CHECK(whole.weights.base() == Approx(3 * 3600 * 0.75));
  CHECK(whole.gradients.base() == Approx(7 * 1800));
  CHECK(whole.optimizer_states.base() == Approx(11 * 1800 * 0.9));
  CHECK(whole.activations.base() == Approx(500 + 3 * 1000 * 0.8));
  CHECK(whole.kv_cache.base() == 0);  // training leaves nothing behind
  CHECK(whole.communication_buffers.base() == Approx(7 * 900));
  const double used =
      (whole.weights + whole.gradients + whole.optimizer_states + whole.activations).base() + 7 * 900;
  CHECK(whole.fragmentation.base() == Approx(0.1 * used));
  CHECK(whole.total.base() == Approx(1.1 * used + 17));
  CHECK(whole.capacity.base() == 1e6);
  CHECK(memory(1).optimizer_states.base() == Approx(11 * 125 * 0.9));
  CHECK((memory(1).gradients == whole.gradients && memory(2).gradients.base() == Approx(7 * 125)));
  CHECK((memory(2).weights == whole.weights && divided.weights.base() == Approx(3 * 250 * 0.75)));
  // Two of four blocks are on the device while one is at work.
  CHECK(divided.communication_buffers.base() == Approx(7 * 62.5 + 2 * 3 * 3600 / 4.0));
  CHECK(larger(whole, divided).total == whole.total);
  CHECK(larger(divided, whole).weights == whole.weights);
}

TEST_CASE("the working set of serving, by hand", "[lowering]") {
  Bench b(Phase::prefill);
  const auto d = demand_of(b.structure, b.plan, weights(), 4.0);
  CHECK((d.kv_cache.base() == 70 && d.activations.base() == 1000 && d.buffers.base() == 0));
  b.structure.architecture = Architecture::program;
  CHECK(demand_of(b.structure, b.plan, weights(), 4.0).activations.base() == 500);
  b.structure.offloads = true;
  b.plan.offload_weights = 0.25, b.plan.offload_activations = 0.2;
  CHECK(demand_of(b.structure, b.plan, weights(), 4.0).buffers.base() ==
        Approx(2 * 3 * 3600 / 4.0 * 0.25 + 0.2 * 1000 / 4));
}

TEST_CASE("sums over a list: what grows with the count, and what a block has once", "[lowering]") {
  Bench b(Phase::training);
  (void)made(b.ops, OpKind::matmul, "dense", part::none);
  (void)made(b.ops, OpKind::matmul, "routed", part::routed);
  (void)made(b.ops, OpKind::matmul, "scores", part::core);
  auto& rare = made(b.ops, OpKind::elementwise, "rare", part::none);
  rare.count = 0.5, rare.working_set = 700 * u::B, rare.recomputed_bytes = 20 * u::B;
  made(b.ops, OpKind::matmul, "later", part::none).pass = Pass::update;
  const auto t = place_totals_of(b.ops, b.ops.size())[StageScope::every_block];
  CHECK(t.dense_params.base() == 231 * (4 + 4 + 0.5));
  CHECK(t.expert_params.base() == 231 * 4);
  CHECK(t.params().base() == 231 * 12.5);
  CHECK((t.work.base() == 5000 * 12.5 && t.weight_work.base() == 5000 * 8));
  CHECK((t.memory_bytes.base() == 600 * 12.5 && t.saved_bytes.base() == 1000 * 12.5 &&
         t.state.base() == 50 * 12.5));
  CHECK((t.working_set.base() == 400 && t.block_again.base() == 10));
}

TEST_CASE("blocks of models and of stages", "[lowering]") {
  Bench b(Phase::training);
  b.stack.layers = 5;
  b.plan.pp = 2;
  CHECK(layers_of(b.structure, b.stack, {}) == 5);
  CHECK(blocks_of(b.structure, b.stack, {}, b.plan) == 3);
  b.stack.layers = 0;
  CHECK(layers_of(b.structure, b.stack, {}) == 1);
}
