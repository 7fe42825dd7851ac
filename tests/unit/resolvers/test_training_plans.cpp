#include <catch2/catch.hpp>

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinRel;

namespace {

DistributedModel::Inputs step(const char* model, double pp = 1) {
  return {.workload = &standard_zoo().at<Workload>(model),
          .fleet = &standard_zoo().at<Fleet>("Research_256"),
          .batch_size = 512,
          .precision = Precision::bf16,
          .tp_size = 8,
          .pp_size = pp,
          .microbatch_size = 1,
          .recomputation = Recomputation::none,
          .seq_len = 4096};
}

DistributedModel::Result run(const DistributedModel::Inputs& in) { return DistributedModel{}.solve(in); }

/// A fleet of one device.
struct Alone {
  Node node;
  Fleet fleet;
  explicit Alone(const char* device) {
    node.accelerator = &standard_zoo().at<HardwareNode>(device);
    node.accelerators_per_node = 1;
    fleet.node = &node;
    fleet.count = 1;
  }
};

NoteBook noted(const DistributedModel::Inputs& in) {
  NoteBook book;
  Notes notes(book);
  (void)DistributedModel{}.solve(in, notes);
  return book;
}

}  // namespace

TEST_CASE("context parallelism divides activations and work, and exchanges keys and values",
          "[catalogue][training]") {
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
  CHECK_THAT(four.memory.optimizer_states.base(),
             WithinRel(all.memory.optimizer_states.base() * 32 / 4, 1e-9));
  CHECK_THAT(four.memory.weights.base(), WithinRel(all.memory.weights.base() * 32 / 4, 1e-9));
  // As many shards as replicas is what no group says.
  in.shard_size = 32;
  CHECK(run(in).step_latency == all.step_latency);
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

TEST_CASE("no schedule ends before the first micro-batch has passed every stage", "[catalogue][training]") {
  auto in = step("Llama3_70B", 8);
  in.batch_size = 4;  // one micro-batch of one sequence on each replica
  const auto plain = run(in);
  in.v_stages = 2;
  CHECK(run(in).pipeline_bubble_latency >= 0.99 * plain.pipeline_bubble_latency);
  in.v_stages = 1;
  in.schedule = Schedule::zero_bubble;
  const auto one = run(in);
  // Of F + B + W, about a third each, the weight gradients alone are not waited for.
  CHECK(one.pipeline_bubble_latency > 0.6 * plain.pipeline_bubble_latency);
  CHECK(one.pipeline_bubble_latency < 0.8 * plain.pipeline_bubble_latency);
  in.batch_size = 8;
  const auto two = run(in);
  CHECK(two.pipeline_bubble_latency < one.pipeline_bubble_latency);
  CHECK(two.pipeline_bubble_latency > 0.8 * one.pipeline_bubble_latency);
}

TEST_CASE("what is offloaded leaves the device and crosses the host link", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto resident = run(in);
  in.offload_states = 1;
  const auto states = run(in);
  CHECK(states.memory.optimizer_states == Data<>());
  CHECK(states.step_latency > resident.step_latency);
  in.offload_states = 0;
  // What is kept leaves, the working set of an operator stays.
  const auto activations = [&](double share) {
    in.offload_activations = share;
    return run(in).memory.activations;
  };
  const Data<> working = activations(1);
  CHECK(working < 0.5 * resident.memory.activations);
  CHECK_THAT((activations(0.5) - working).base() * 2,
             WithinRel((resident.memory.activations - working).base(), 1e-9));
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
    CHECK(part.step_latency > none.step_latency);
    CHECK(part.step_latency < full.step_latency);
  }
  // A fused kernel keeps no scores, so there is no core to repeat.
  CHECK(with(Recomputation::selective).step_latency == none.step_latency);
}

TEST_CASE("recomputing operator by operator keeps attention and every second product",
          "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const auto none = run(in);
  in.recomputation = Recomputation::full;
  const auto full = run(in);
  in.recomputation = Recomputation::per_operator;
  const auto part = run(in);
  CHECK(part.memory.activations < none.memory.activations);
  CHECK(part.memory.activations > full.memory.activations);
  // Half of the products' work comes again: half of what full recomputation adds, but for attention.
  const auto added = part.latency_compute - none.latency_compute,
             whole = full.latency_compute - none.latency_compute;
  CHECK(added > 0.3 * whole);
  CHECK(added < 0.5 * whole);
}

TEST_CASE("interleaved chunks hold (pp - 1) / v micro-batches more", "[catalogue][training][golden]") {
  auto in = step("Llama3_70B", 8);
  in.batch_size = 512;
  const auto plain = run(in);
  in.v_stages = 5;
  const auto chunks = run(in);
  // Korthikanti et al. 2022, section 4.2.3: 1 + (pp - 1) / (pp v) = 1.175. The working set of one operator
  // does not grow.
  const double ratio = chunks.memory.activations / plain.memory.activations;
  CHECK(ratio > 1.10);
  CHECK(ratio < 1.175);
}

TEST_CASE("an earlier generation of attention kernels is slower where the device says so",
          "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.seq_len = 32768;
  const auto at = [&](AttentionKernel k) {
    in.attention_kernel = k;
    return run(in).step_latency;
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
  CHECK(run(in).step_latency == replicated.step_latency);  // nothing is gathered
  in.zero_stage = 3;
  const auto late = run(in);
  in.backward_prefetch = true;
  const auto ahead = run(in);
  CHECK(late.step_latency > ahead.step_latency);
  CHECK(late.dp_communication_latency == ahead.dp_communication_latency);
}

TEST_CASE("narrow training leaves the output head at 16 bits", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  const double wide = run(in).latency_compute.base();
  in.precision = Precision::fp8;
  const double narrow = run(in).latency_compute.base();
  // The head of 128256 x 4096 is 7 % of the work outside attention and stays as it is, so the whole gains
  // less than the ratio of the sustained rates.
  Notes quiet;
  const auto share = [&](const char* path) {
    return needed_figure(path, *in.fleet->node->accelerator, conventions_of(standard_zoo()), quiet);
  };
  const double ratio = 2.0 * share("efficiency.matrix_narrow") / share("efficiency.matrix");
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

TEST_CASE("accumulation steps that do not divide the sequences leave the last one shorter",
          "[catalogue][training]") {
  auto in = step("Llama3_8B", 4);  // 8 replicas of 64 sequences
  in.microbatch_size.reset();
  const Time<> whole = run(in).step_latency;
  for (const double steps : {2.0, 3.0, 7.0, 63.0, 64.0}) {
    in.gradient_accumulation_steps = steps;
    INFO(steps);
    CHECK(run(in).microbatch_size == 1);
    CHECK(run(in).microbatch_count == 64);
    CHECK_THAT(run(in).step_latency.base(), WithinRel(whole.base(), 1e-12));
  }
  in.gradient_accumulation_steps = 65;
  CHECK_THROWS_AS(run(in), DomainError);
  CHECK_THROWS_WITH(run(in), Contains("fewer sequences than gradient accumulation steps") && Contains("65") &&
                                 Contains("at most 64"));
}

TEST_CASE("plans that a model cannot be divided by are refused, uneven ones say so",
          "[catalogue][training][bad]") {
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
  CHECK(warned(mixture).empty());  // one sequence of each of 8 ranks, two times
  mixture.microbatch_size.reset();
  mixture.microbatch_count = 16;  // for 16 sequences of a replica
  CHECK_THAT(warned(mixture), Contains("1 sequences do not divide into 8") && Contains("7 ranks have none"));
  auto deep = step("Llama3_8B");
  deep.tp_size = 1;
  deep.pp_size = 64;  // 32 layers
  refused(deep, "pp_size", "fewer layers");
  deep.pp_size = 8;
  deep.v_stages = 8;
  refused(deep, "v_stages", "fewer layers");
  // 126 layers, the embedding and the output head make 128 chunks (the published plan of Llama 3 405B).
  auto ends = step("Llama3_405B", 16);
  ends.batch_size = 64;
  ends.v_stages = 8;
  CHECK(run(ends).dp_size == 2);
  ends.v_stages = 9;
  refused(ends, "v_stages", "fewer layers");
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
  ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>("Llama3_8B"),
                          .hardware = &standard_zoo().at<HardwareNode>("H100"),
                          .precision = Precision::bf16};
  in.ep_size = 8;
  CHECK_THROWS_WITH(ServingModel{}.solve(in), Contains("no experts"));
  in.ep_size = 1;
  in.pp_size = 33;
  CHECK_THROWS_WITH(ServingModel{}.solve(in), Contains("fewer layers"));
  in.pp_size = 32;
  CHECK_NOTHROW(ServingModel{}.solve(in));
}

TEST_CASE("a plan that divides nothing is the step of a single device", "[catalogue][training][identity]") {
  for (const char* device : {"H100", "A100", "MI300X"})
    for (const auto& [name, batch] : {std::pair{"ResNet50", 256.0},
                                      {"GPT2_Small", 8.0},
                                      {"Llama3_8B", 3.0},
                                      {"Mixtral_8x7B", 2.0},
                                      {"BERT_Base", 64.0}}) {
      INFO(name << " on " << device);
      const Alone alone(device);
      const Workload& w = standard_zoo().at<Workload>(name);
      const auto single = SingleNodeModel{}.solve({.workload = &w,
                                                   .hardware = alone.node.accelerator,
                                                   .batch_size = batch,
                                                   .precision = Precision::bf16,
                                                   .is_training = true,
                                                   .seq_len = 512});
      DistributedModel::Inputs in{.workload = &w,
                                  .fleet = &alone.fleet,
                                  .batch_size = batch,
                                  .precision = Precision::bf16,
                                  .recomputation = Recomputation::none,
                                  .seq_len = 512};
      if (!single.feasible) in.microbatch_count = 1;  // else it would be halved
      const auto divided = run(in);
      CHECK(divided.microbatch_count == 1);
      CHECK(divided.memory.total == single.memory.total);
      if (!single.feasible) continue;  // the single node adds the time of what does not fit
      CHECK_THAT(divided.step_latency.base(), WithinRel(single.latency.base(), 1e-12));
      CHECK_THAT(divided.mfu, WithinRel(single.mfu, 1e-9));
    }
}

TEST_CASE("a batch that does not fit in memory at once is divided until it does", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.tp_size = in.zero_stage = 1;
  in.batch_size = 16384;  // 64 sequences on each of 256 replicas
  in.seq_len = 1024;
  in.microbatch_size.reset();
  const auto r = run(in);
  CHECK(r.feasible);
  CHECK(r.microbatch_size < 64);
  // The largest micro-batch and their count hold all sequences, and one micro-batch less would not fit.
  CHECK(r.microbatch_size * r.microbatch_count >= 64);
  CHECK(r.microbatch_size * (r.microbatch_count - 1) < 64);
  in.microbatch_count = r.microbatch_count - 1;
  CHECK_FALSE(run(in).feasible);
  // No other division of an uneven batch is faster.
  in.batch_size = 37 * 256;
  in.microbatch_count.reset();
  const auto uneven = run(in);
  CHECK(uneven.feasible);
  for (int more = 1; more <= 16; ++more) {
    in.microbatch_count = uneven.microbatch_count + more;
    CHECK(run(in).step_latency >= uneven.step_latency);
  }
  in.microbatch_count.reset();
  in.batch_size = 16384;
  in.microbatch_size = 2 * r.microbatch_size;
  CHECK_FALSE(run(in).feasible);
  // What never fits is priced by the sequence.
  in.microbatch_size.reset();
  in.zero_stage = 0;
  const auto never = run(in);
  CHECK_FALSE(never.feasible);
  CHECK(never.microbatch_size == 1);
}

TEST_CASE("who names no micro-batch gets the same one from every resolver", "[catalogue][training]") {
  const auto& h100 = standard_zoo().at<HardwareNode>("H100");
  for (const double pp : {1.0, 4.0})
    for (const double ep : {1.0, 8.0})
      for (const double steps : {1.0, 2.0, 3.0}) {
        INFO("pp " << pp << " ep " << ep << " steps " << steps);
        auto in = step("Mixtral_8x7B", pp);
        in.microbatch_size.reset();
        in.tp_size = 1;
        in.batch_size = 2048;
        in.ep_size = ep;
        in.gradient_accumulation_steps = steps;
        const auto r = run(in);
        const auto memory = TrainingMemoryModel{}.solve({.workload = in.workload,
                                                         .hardware = &h100,
                                                         .batch_size = 2048,
                                                         .seq_len = in.seq_len,
                                                         .precision = Precision::bf16,
                                                         .recomputation = Recomputation::none,
                                                         .pp_size = pp,
                                                         .dp_size = r.dp_size,
                                                         .ep_size = ep,
                                                         .gradient_accumulation_steps = steps});
        const double local = 2048 / r.dp_size;
        CHECK(memory.microbatch_size == r.microbatch_size);
        CHECK(memory.memory.total == r.memory.total);
        CHECK(r.microbatch_size * ep * r.microbatch_count >= local);
        if (pp == 1)
          CHECK(r.microbatch_count >= std::min(steps, local));  // more where memory asks for it
        else
          CHECK(r.microbatch_size <= 1);
      }
}

TEST_CASE("accumulation steps hold fewer activations, and a pipeline says that it has no use for them",
          "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.microbatch_size.reset();
  const auto at = [&](double steps) {
    in.gradient_accumulation_steps = steps;
    return run(in);
  };
  const auto one = at(1), four = at(4);
  CHECK(one.microbatch_size == 16);  // 512 sequences on 32 replicas
  CHECK(four.microbatch_size == 4);
  CHECK(four.microbatch_count == 4);
  CHECK(four.memory.activations < 0.3 * one.memory.activations);
  CHECK(four.step_latency > one.step_latency);
  CHECK(noted(in).warnings.empty());
  const auto idle = [&] {
    for (const auto& w : noted(in).warnings)
      if (w.find("gradient_accumulation_steps") != std::string::npos && w.starts_with("no effect"))
        return true;
    return false;
  };
  in.microbatch_size = 4;
  CHECK(idle());
  in = step("Llama3_8B", 4);
  in.microbatch_size.reset();
  CHECK_FALSE(idle());
  in.gradient_accumulation_steps = 4;
  CHECK(idle());
}

TEST_CASE("gradients of small layers are exchanged together, beside the backward pass",
          "[catalogue][training]") {
  DistributedModel::Inputs in{.workload = &standard_zoo().at<Workload>("ResNet50"),
                              .fleet = &standard_zoo().at<Fleet>("Research_256"),
                              .batch_size = 8192,
                              .precision = Precision::fp16,
                              .microbatch_count = 1};
  const auto r = run(in);
  Conventions apart = conventions_or_standard(nullptr);
  apart.exchange_bucket = Data<>();
  in.conventions = &apart;
  CHECK(run(in).dp_communication_latency > 4.0 * r.dp_communication_latency);
  in.conventions = nullptr;
  const auto at = [&](double overlap) {
    in.overlap_efficiency = overlap;
    return run(in).step_latency;
  };
  CHECK(at(0) > at(0.05));
  CHECK(at(0.05) > at(1));
}

TEST_CASE("frozen weights have no gradients", "[catalogue][training]") {
  for (const Fidelity fidelity : {Fidelity::operator_level, Fidelity::textbook}) {
    auto in = step("Llama3_8B");
    in.fidelity = fidelity;
    in.recomputation = Recomputation::none;
    const auto all = run(in);
    const auto work = [](const DistributedModel::Result& r) { return r.mfu * r.step_latency.base(); };
    for (const double share : {0.5, 0.01, 0.0}) {
      INFO(name_of(fidelity) << " " << share);
      in.trainable_fraction = share;
      const auto part = run(in);
      CHECK(part.hfu == Approx(part.mfu).epsilon(1e-9));
      // 4 P + 2 P f for 6 P; attention, a tenth of the work at 4096 tokens, has no weights.
      CHECK(work(part) / work(all) >= (2 + share) / 3 - 1e-9);
      CHECK(work(part) / work(all) <= (2 + share) / 3 + (fidelity == Fidelity::textbook ? 1e-9 : 0.06));
      CHECK(part.latency_compute < all.latency_compute * ((2 + share) / 3 + 0.1));
    }
    in.recomputation = Recomputation::full;
    const auto again = run(in);  // one more forward pass on two
    CHECK(again.hfu / again.mfu > 1.4);
    CHECK(again.hfu / again.mfu <= 1.5 + 1e-9);
  }
}

TEST_CASE("what crosses the host link is a line of its own, and part of the sum", "[catalogue][training]") {
  DistributedModel::Inputs in{.workload = &standard_zoo().at<Workload>("Llama3_70B"),
                              .fleet = &standard_zoo().at<Fleet>("Training_512_H100"),
                              .batch_size = 512,
                              .precision = Precision::bf16,
                              .tp_size = 8,
                              .pp_size = 4,
                              .zero_stage = 1};
  const auto resident = run(in);
  CHECK(resident.host_transfer_latency == Time<>());
  for (double DistributedModel::Inputs::*share :
       {&DistributedModel::Inputs::offload_weights, &DistributedModel::Inputs::offload_activations,
        &DistributedModel::Inputs::offload_states}) {
    auto moved = in;
    moved.*share = 1;
    const auto r = run(moved);
    CHECK(r.host_transfer_latency > Time<>());
    CHECK(r.dp_communication_latency == resident.dp_communication_latency);
    CHECK_THAT((r.communication_latency - resident.communication_latency).base(),
               WithinRel(r.host_transfer_latency.base(), 1e-9));
    CHECK(r.exposed_communication_latency <= r.communication_latency);
  }
  in.offload_weights = 1;
  in.overlap_efficiency = 0;
  in.recomputation = Recomputation::full;
  in.batch_size = 16 * 32;
  in.seq_len = 512;
  const auto r = run(in);
  CHECK(r.exposed_communication_latency > r.latency_compute);
  CHECK(2.0 * r.host_transfer_latency > r.communication_latency);
}

TEST_CASE("dropout masks are written and read", "[catalogue][training]") {
  auto in = step("Llama3_8B");
  in.microbatch_size = 16;
  const auto none = run(in);
  in.dropout = true;
  const auto some = run(in);
  CHECK(some.latency_memory > none.latency_memory);
  CHECK(some.latency_compute == none.latency_compute);
  // Two masks of a byte a value and block, written once and read once, beside three times ten arrays of two
  // bytes.
  CHECK(some.latency_memory < 1.1 * none.latency_memory);
}
