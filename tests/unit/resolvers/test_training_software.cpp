// What the software of a training step decides: the format of attention, and what its host takes.

#include <support/catch.hpp>

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

DistributedModel::Inputs step_in(Precision precision) {
  return {.workload = &standard_zoo().at<Workload>("Llama3_8B"),
          .fleet = &standard_zoo().at<Fleet>("Research_256"),
          .batch_size = 512,
          .precision = precision,
          .tp_size = 8,
          .microbatch_size = 1,
          .recomputation = Recomputation::none,
          .seq_len = 32768};
}

DistributedModel::Result solved(const DistributedModel::Inputs& in) { return DistributedModel{}.solve(in); }

}  // namespace

TEST_CASE("attention in 8 bits is faster by less than its products", "[catalogue][training]") {
  auto in = step_in(Precision::fp8);
  const auto wide = solved(in);
  in.attention_kernel = AttentionKernel::fused_fp8;
  const auto narrow = solved(in);
  CHECK(narrow.latency_compute < wide.latency_compute);
  CHECK(narrow.latency_compute > 0.5 * wide.latency_compute);
  CHECK(narrow.latency_memory > wide.latency_memory);  // queries, keys and values are cast
  Fleet older = *in.fleet;                             // without such products
  older.node = &standard_zoo().at<Node>("DGX_A100");
  in.fleet = &older;
  in.precision = Precision::bf16;
  CHECK_THROWS_AS(solved(in), LookupError);
}

TEST_CASE("devices wait for the host between two steps", "[catalogue][training]") {
  auto in = step_in(Precision::bf16);
  in.states = "gradient=bf16";
  in.engine = &standard_zoo().at<ServingEngine>("megatron_core");
  const auto without = solved(in);
  in.engine = &standard_zoo().at<ServingEngine>("nemo");
  const auto with = solved(in);
  CHECK((with.step_latency - without.step_latency).in(u::ms) == Approx(25));
  CHECK((with.latency_overhead - without.latency_overhead).in(u::ms) == Approx(25));
}
