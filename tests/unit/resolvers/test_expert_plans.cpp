// Experts over the devices of a training step.

#include <catch2/catch.hpp>

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/specs/zoo.hpp>
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

}  // namespace

TEST_CASE("expert-parallel ranks do not divide a sequence", "[catalogue][training]") {
  ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>("Mixtral_8x7B"),
                          .hardware = &standard_zoo().at<HardwareNode>("H200"),
                          .precision = Precision::bf16};
  in.seq_len = 8192;
  const Time<> one = ServingModel{}.solve(in).ttft;
  in.ep_size = 8;
  Time<> before;
  for (const double batch : {1.0, 2.0, 4.0, 8.0}) {
    INFO(batch);
    in.batch_size = batch;
    const Time<> ttft = ServingModel{}.solve(in).ttft;
    // The rank with the sequence does all of its attention: only the experts, three quarters of the work, are
    // shared.
    CHECK(ttft > 0.2 * one);
    CHECK(ttft < one * batch);
    CHECK(ttft > before);
    before = ttft;
  }
  DistributedModel::Inputs large{.workload = &standard_zoo().at<Workload>("DeepSeek_V3"),
                                 .fleet = &standard_zoo().at<Fleet>("Frontier_8K"),
                                 .batch_size = 4096,
                                 .precision = Precision::bf16,
                                 .pp_size = 16,
                                 .ep_size = 64,
                                 .seq_len = 2048};
  CHECK(run(large).microbatch_size == 1);  // of each of 64 ranks
}

TEST_CASE("experts are folded over the tensor-parallel devices", "[catalogue][training]") {
  // 32 groups of whole experts are the 32 devices of a stage, 16 ranks of two: 8 stages fill 256 devices
  // once.
  auto folded = step("DeepSeek_V3", 8);
  folded.tp_size = 2;
  folded.ep_size = 32;
  folded.expert_tp_size = 1;
  const auto r = run(folded);
  CHECK(r.dp_size == 1);
  CHECK(r.microbatch_size == 1);
  CHECK(r.microbatch_count == 512 / 16);
  CHECK_THROWS_WITH(run([&] {
                      auto wide = folded;
                      wide.expert_tp_size.reset();  // 512 devices a replica
                      return wide;
                    }()),
                    Contains("do not fit the fleet"));

  // tp 4: two experts on each pair of devices weigh as much as four on each four, and a device sends half the
  // rows: those of two of the four devices of a rank.
  auto pairs = step("Mixtral_8x7B");
  pairs.tp_size = 4;
  pairs.ep_size = 4;
  pairs.expert_tp_size = 2;
  auto fours = pairs;
  fours.ep_size = 2;
  fours.expert_tp_size.reset();
  const auto a = run(pairs), b = run(fours);
  CHECK(a.dp_size == b.dp_size);
  CHECK_THAT(a.memory.weights.base(), WithinRel(b.memory.weights.base(), 1e-12));
  CHECK_THAT(a.memory.optimizer_states.base(), WithinRel(b.memory.optimizer_states.base(), 1e-12));
  CHECK(a.tp_communication_latency < b.tp_communication_latency);  // sums of pairs, not of fours
  pairs.expert_tp_size = 4;
  fours.ep_size = 4;
  CHECK(run(pairs).step_latency == run(fours).step_latency);

  const auto refused = [&](auto change, const char* words) {
    auto in = folded;
    change(in);
    CHECK_THROWS_WITH(run(in), Contains(words));
  };
  refused([](auto& in) { in.expert_tp_size = 4; }, "do not divide the tensor-parallel ones");
  refused([](auto& in) { in.ep_size = 1; }, "no whole number of ranks");
  refused([](auto& in) { in.sequence_parallel = false; }, "all have the same tokens");
}

TEST_CASE("a micro-batch has so many sequences of each expert-parallel rank", "[catalogue][training]") {
  auto in = step("Mixtral_8x7B");
  in.tp_size = 1;
  in.ep_size = 8;  // 32 replicas of 8 ranks; 512 sequences: 2 of each rank
  in.microbatch_size = 2;
  CHECK(run(in).microbatch_count == 1);
  CHECK(run(in).microbatch_size == 2);
  in.microbatch_size = 1;
  CHECK(run(in).microbatch_count == 2);
}
