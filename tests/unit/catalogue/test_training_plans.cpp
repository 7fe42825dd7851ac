#include <catch2/catch.hpp>

#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinRel;

namespace {

DistributedModel::Inputs step(const char* model, double pp = 1) {
  return {.workload = &standard_zoo().at<Workload>(model), .fleet = &standard_zoo().at<Fleet>("Research_256"),
          .batch_size = 512, .precision = Precision::bf16, .tp_size = 8, .pp_size = pp, .microbatch_size = 1,
          .recomputation = Recomputation::none, .seq_len = 4096};
}

DistributedModel::Result run(const DistributedModel::Inputs& in) { return DistributedModel{}.solve(in); }

}  // namespace

TEST_CASE("context parallelism divides activations and work, and exchanges keys and values", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto whole = run(in);
  CHECK(whole.cp_communication_latency == Time<>());
  in.cp_size = 4;  // a quarter of the replicas, each with four times the sequences
  const auto divided = run(in);
  CHECK(divided.dp_size * 4 == whole.dp_size);
  CHECK(divided.cp_communication_latency > Time<>());
  CHECK_THAT(divided.memory.activations.base() * 4, WithinRel(whole.memory.activations.base(), 1e-9));
  CHECK_THAT(divided.memory.weights.base(), WithinRel(whole.memory.weights.base(), 1e-12));
  // Every rank holds the same weights as before: sharded states are divided by as many.
  in.zero_stage = 3;
  const auto sharded = run(in);
  CHECK_THAT(sharded.memory.weights.base() * 32, WithinRel(divided.memory.weights.base(), 1e-9));
}

TEST_CASE("hybrid sharding divides by its group and exchanges between the groups", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.zero_stage = 3;
  const auto all = run(in);
  in.shard_size = 4;
  const auto four = run(in);
  CHECK_THAT(four.memory.optimizer_states.base(), WithinRel(all.memory.optimizer_states.base() * 32 / 4, 1e-9));
  CHECK_THAT(four.memory.weights.base(), WithinRel(all.memory.weights.base() * 32 / 4, 1e-9));
  // As many shards as replicas is what no group says.
  in.shard_size = 32;
  CHECK(run(in).step_latency_total == all.step_latency_total);
}

TEST_CASE("schedules differ in what waits and in what is held", "[catalogue][training]") {
  auto in = step("Llama3_70B", 4);
  in.batch_size = 256;
  const auto plain = run(in);
  in.schedule = Schedule::gpipe;
  const auto gpipe = run(in);
  CHECK(gpipe.pipeline_bubble_latency == plain.pipeline_bubble_latency);
  // 32 micro-batches are held instead of four, now also on the last stage with its logits.
  CHECK(gpipe.memory.activations > 8.0 * plain.memory.activations);
  CHECK(gpipe.memory.activations < 10.0 * plain.memory.activations);
  in.schedule = Schedule::zero_bubble;
  const auto filled = run(in);
  CHECK(filled.pipeline_bubble_latency < 0.6 * plain.pipeline_bubble_latency);
  CHECK(filled.memory.activations == plain.memory.activations);
}

TEST_CASE("what is offloaded leaves the device and crosses the host link", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto resident = run(in);
  in.offload_states = 1;
  const auto states = run(in);
  CHECK(states.memory.optimizer_states == Data<>());
  CHECK(states.step_latency_total > resident.step_latency_total);
  in.offload_states = 0;
  // What is kept leaves, the working set of an operator stays.
  const auto activations = [&](double share) {
    in.offload_activations = share;
    return run(in).memory.activations;
  };
  const Data<> working = activations(1);
  CHECK(working < 0.5 * resident.memory.activations);
  CHECK_THAT((activations(0.5) - working).base() * 2, WithinRel((resident.memory.activations - working).base(), 1e-9));
}

TEST_CASE("recomputing a module drops what it makes and repeats its work", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto none = run(in);
  const auto with = [&](Recomputation r) {
    in.recomputation = r;
    return run(in);
  };
  const auto full = with(Recomputation::full);
  for (const Recomputation r : {Recomputation::norm, Recomputation::activation, Recomputation::pointwise,
                                Recomputation::feed_forward, Recomputation::attention}) {
    INFO(name_of(r));
    const auto part = with(r);
    CHECK(part.memory.activations < none.memory.activations);
    CHECK(part.memory.activations > full.memory.activations);
    CHECK(part.step_latency_total > none.step_latency_total);
    CHECK(part.step_latency_total < full.step_latency_total);
  }
  // A fused kernel keeps no scores, so there is no core to repeat.
  CHECK(with(Recomputation::selective).step_latency_total == none.step_latency_total);
}

TEST_CASE("recomputing operator by operator keeps attention and every second product", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto none = run(in);
  in.recomputation = Recomputation::full;
  const auto full = run(in);
  in.recomputation = Recomputation::per_operator;
  const auto part = run(in);
  CHECK(part.memory.activations < none.memory.activations);
  CHECK(part.memory.activations > full.memory.activations);
  // Half of the products' work comes again: half of what full recomputation adds, but for attention.
  const auto added = part.latency_compute - none.latency_compute, whole = full.latency_compute - none.latency_compute;
  CHECK(added > 0.3 * whole);
  CHECK(added < 0.5 * whole);
}

TEST_CASE("interleaved chunks hold (pp - 1) / v micro-batches more", "[catalogue][training][golden]") {
  auto in = step("Llama3_70B", 8);
  in.batch_size = 512;
  const auto plain = run(in);
  in.v_stages = 5;
  const auto chunks = run(in);
  // Korthikanti et al. 2022, section 4.2.3: 1 + (pp - 1) / (pp v) = 1.175. The working set of one operator does not grow.
  const double ratio = chunks.memory.activations / plain.memory.activations;
  CHECK(ratio > 1.10);
  CHECK(ratio < 1.175);
}

TEST_CASE("an earlier generation of attention kernels is slower where the device says so", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.seq_len = 32768;
  const auto at = [&](AttentionKernel k) {
    in.attention_kernel = k;
    return run(in).step_latency_total;
  };
  CHECK(at(AttentionKernel::flash2) > at(AttentionKernel::fused));
  CHECK(at(AttentionKernel::flash1) > at(AttentionKernel::flash2));
  // On an A100 the second generation is the present one.
  Fleet older = *in.fleet;
  older.node = &standard_zoo().at<Node>("DGX_A100");
  in.fleet = &older;
  CHECK(at(AttentionKernel::flash2) == at(AttentionKernel::fused));
  CHECK(at(AttentionKernel::flash1) > at(AttentionKernel::flash2));
}

TEST_CASE("without fusion element-wise chains go to memory", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto fused = run(in);
  in.kernel_fusion = false;
  const auto eager = run(in);
  CHECK(eager.latency_memory > 1.2 * fused.latency_memory);
  CHECK(eager.latency_compute == fused.latency_compute);
  CHECK(eager.memory.activations == fused.memory.activations);
}

TEST_CASE("weights that are not gathered ahead are waited for", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.microbatch_size = 16;  // long kernels: the host is not what is waited for
  const auto replicated = run(in);
  in.backward_prefetch = false;
  CHECK(run(in).step_latency_total == replicated.step_latency_total);  // nothing is gathered
  in.zero_stage = 3;
  const auto late = run(in);
  in.backward_prefetch = true;
  const auto ahead = run(in);
  CHECK(late.step_latency_total > ahead.step_latency_total);
  CHECK(late.dp_communication_latency == ahead.dp_communication_latency);
}

TEST_CASE("narrow training leaves the output head at 16 bits", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const double wide = run(in).latency_compute.base();
  in.precision = Precision::fp8;
  const double narrow = run(in).latency_compute.base();
  // The head of 128256 x 4096 is 7 % of the work outside attention and stays as it is, so the whole gains less than
  // the ratio of the sustained rates.
  const auto& share = in.fleet->node->accelerator->efficiency;
  REQUIRE(share.matrix_narrow);
  const double ratio = 2.0 * *share.matrix_narrow / *share.matrix;
  CHECK(wide / narrow < ratio);
  CHECK(wide / narrow > 0.7 * ratio);
}

TEST_CASE("size and number of micro-batches must make up the batch", "[catalogue][training]") {
  auto in = step("Llama3_8B");  // 32 replicas of 16 sequences
  in.microbatch_size = 4;
  CHECK(run(in).microbatch_count == 4);
  in.microbatch_count = 4;
  CHECK(run(in).microbatch_size == 4);
  in.microbatch_count = 8;
  CHECK_THROWS_WITH(run(in), Contains("8 micro-batches of 4 sequences for 16 sequences a replica") &&
                                 Contains("expected 4 micro-batches") && Contains("give one of the two"));
}

TEST_CASE("accumulation steps that do not divide the sequences leave the last one shorter", "[catalogue][training]") {
  auto in = step("Llama3_8B", 4);  // 8 replicas of 64 sequences
  in.microbatch_size.reset();
  const Time<> whole = run(in).step_latency_total;
  for (const double steps : {2.0, 3.0, 7.0, 63.0, 64.0}) {
    in.gradient_accumulation_steps = steps;
    INFO(steps);
    CHECK(run(in).microbatch_size == 1);
    CHECK(run(in).microbatch_count == 64);
    CHECK_THAT(run(in).step_latency_total.base(), WithinRel(whole.base(), 1e-12));
  }
  in.gradient_accumulation_steps = 65;
  CHECK_THROWS_AS(run(in), DomainError);
  CHECK_THROWS_WITH(run(in), Contains("fewer sequences than gradient accumulation steps") && Contains("65") &&
                                 Contains("at most 64"));
}

TEST_CASE("plans that a model cannot be divided by are refused, uneven ones say so", "[catalogue][training][bad]") {
  const auto refused = [](const DistributedModel::Inputs& in, const char* key, const char* words) {
    INFO(words);
    CHECK_THROWS_AS(run(in), DomainError);
    CHECK_THROWS_WITH(run(in), Contains(words));
    try {
      (void)run(in);
    } catch (const Error& error) {
      CHECK(error.facts().key == key);
      CHECK_FALSE(error.facts().hint.empty());
    }
  };
  const auto warned = [](const DistributedModel::Inputs& in) {
    NoteBook book;
    Notes notes(book);
    (void)DistributedModel{}.solve(in, notes);
    std::string all;
    for (const auto& w : book.warnings) all += w + "\n";
    return all;
  };
  CHECK(warned(step("Llama3_8B", 4)).empty());
  auto dense = step("Llama3_8B");
  dense.ep_size = 2;
  refused(dense, "ep_size", "no experts");
  auto mixture = step("Mixtral_8x7B");
  mixture.tp_size = 1;
  mixture.ep_size = 16;
  refused(mixture, "ep_size", "fewer experts");
  mixture.ep_size = 8;
  CHECK(warned(mixture).empty());
  auto deep = step("Llama3_8B");
  deep.tp_size = 1;
  deep.pp_size = 64;  // 32 layers
  refused(deep, "pp_size", "fewer layers");
  deep.pp_size = 8;
  deep.v_stages = 8;
  refused(deep, "v_stages", "fewer layers");
  auto wide = step("Llama3_8B");
  wide.tp_size = 64;  // 32 heads
  refused(wide, "tp_size", "fewer heads");
  auto shard = step("Llama3_8B");  // 32 replicas
  shard.zero_stage = 1;
  shard.shard_size = 3;
  refused(shard, "shard_size", "do not divide");
  shard.shard_size = 64;
  refused(shard, "shard_size", "do not divide");
  shard.shard_size = 16;
  CHECK_NOTHROW(run(shard));
  auto cut = step("Llama3_8B");
  cut.seq_len = 2;
  cut.cp_size = 4;
  refused(cut, "cp_size", "fewer tokens");
  auto batch = step("Llama3_8B");
  batch.batch_size = 500;  // on 32 replicas
  CHECK_THAT(warned(batch), Contains("500 does not divide into the 32 replicas: each is priced with 16"));
  batch.batch_size = 512;
  CHECK(warned(batch).empty());
  batch.microbatch_size = 5;  // of 16
  CHECK_THAT(warned(batch), Contains("do not divide into"));
  auto chunks = step("Llama3_8B", 4);
  chunks.v_stages = 2;
  CHECK(warned(chunks).empty());
  chunks.batch_size = 8 * 9;
  CHECK_THAT(warned(chunks), Contains("in groups of 4"));
}

TEST_CASE("serving plans are checked against the model as well", "[catalogue][bad]") {
  ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>("Llama3_8B"), .hardware = &standard_zoo().at<HardwareNode>("H100"),
                          .precision = Precision::bf16};
  in.ep_size = 8;
  CHECK_THROWS_WITH(ServingModel{}.solve(in), Contains("no experts"));
  in.ep_size = 1;
  in.pp_size = 33;
  CHECK_THROWS_WITH(ServingModel{}.solve(in), Contains("fewer layers"));
  in.pp_size = 32;
  CHECK_NOTHROW(ServingModel{}.solve(in));
}
