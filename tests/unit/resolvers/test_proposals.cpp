// What a pass of a serving engine takes: a budget of prompt tokens, and proposals that it verifies.

#include <support/catch.hpp>

#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;
using Catch::Matchers::WithinRel;
using In = InFlightBatchingModel::Inputs;

namespace {

template <class E> const E& entry(const char* name) { return standard_zoo().at<E>(name); }

ServingModel::Result prompts(double batch, std::optional<double> budget) {
  ServingModel::Inputs in{.workload = &entry<Workload>("Llama3_8B"),
                          .hardware = &entry<HardwareNode>("H100")};
  in.precision = Precision::bf16;
  in.batch_size = batch;
  in.seq_len = 1500;
  in.prefill_chunk_tokens = budget;
  return ServingModel{}.solve(in);
}

In latent_replica() {
  In in{.workload = &entry<Workload>("DeepSeek_V3"), .hardware = &entry<HardwareNode>("H200")};
  in.precision = Precision::fp8;
  in.concurrency = 16;
  in.tp_size = 8;
  return in;
}

InFlightBatchingModel::Result solved(const In& in) { return InFlightBatchingModel{}.solve(in); }

}  // namespace

TEST_CASE("a pass takes so many whole prompts as its budget holds", "[catalogue][proposals]") {
  // 4096 tokens hold two prompts of 1500: eight take four passes of two.
  const auto two = prompts(2, {}), eight = prompts(8, 4096), all = prompts(8, 12000);
  CHECK_THAT(eight.ttft.base(), WithinRel(4 * two.ttft.base(), 1e-9));
  CHECK(eight.kv_cache_size == all.kv_cache_size);
  CHECK(eight.memory.activations == two.memory.activations);
  CHECK(eight.memory.activations < all.memory.activations);
  CHECK(eight.itl == all.itl);
  // The share of the peak is that of one of the passes.
  CHECK_THAT(eight.prefill_mfu, WithinRel(two.prefill_mfu, 1e-9));
  // Of seven prompts the last pass holds one.
  const auto one = prompts(1, {}), seven = prompts(7, 4096);
  CHECK_THAT(seven.ttft.base(), WithinRel((3 * two.ttft + one.ttft).base(), 1e-9));
  CHECK_THAT(seven.prefill_mfu, WithinRel(two.prefill_mfu * 3.5 * (two.ttft / seven.ttft), 1e-9));
  // One below a prompt divides each.
  CHECK_THAT(prompts(3, 500).ttft.base(), WithinRel(3 * prompts(1, 500).ttft.base(), 1e-9));
}

TEST_CASE("a pass is as large as the engine prepares for on the device", "[catalogue][proposals]") {
  In in{.workload = &entry<Workload>("Llama3_8B"), .hardware = &entry<HardwareNode>("RTX4090")};
  in.precision = Precision::fp8;
  in.concurrency = 1;
  in.seq_len = 2048;
  in.engine = &entry<ServingEngine>("llama_cpp");
  const auto small = solved(in);
  in.prefill_chunk_tokens = 512;  // zoo/runtimes
  CHECK(solved(in).ttft == small.ttft);
  in.prefill_chunk_tokens = 2048;
  CHECK(solved(in).ttft != small.ttft);
}

TEST_CASE("what a verification yields is measured, or falls with the position", "[catalogue][proposals]") {
  auto in = latent_replica();
  const auto plain = solved(in);
  in.draft_tokens = 3;
  in.acceptance_length = 2.5;  // looked up in what was written: drafts cost nothing
  const auto looked_up = solved(in);
  CHECK(looked_up.tokens_per_pass == 2.5);
  CHECK(looked_up.itl < plain.itl);
  CHECK(looked_up.decode_step_time > plain.decode_step_time);
  CHECK(looked_up.max_active_requests == plain.max_active_requests);
  in.acceptance_length = 4.5;
  CHECK_THROWS_WITH(solved(in), ContainsSubstring("at most 4"));
  in.acceptance_length.reset();
  // Its own draft layer: 1 + 0.7 + 0.7 x 0.658 + 0.7 x 0.658 x 0.61852
  in.draft_model = in.workload;
  const auto own = solved(in);
  CHECK_THAT(own.tokens_per_pass, WithinRel(1 + 0.7 + 0.7 * 0.658 + 0.7 * 0.658 * 0.61852, 1e-12));
  CHECK(own.itl < plain.itl);
  CHECK(own.decode_step_time > looked_up.decode_step_time);
  CHECK(own.max_active_requests < plain.max_active_requests);
  in.draft_acceptance_decay = 1;
  CHECK_THAT(solved(in).tokens_per_pass, WithinRel(1 + 0.7 + 0.49 + 0.343, 1e-12));
  // A model of its own keeps its rate.
  in.draft_acceptance_decay.reset();
  in.draft_model = &entry<Workload>("Llama3_8B");
  CHECK_THAT(solved(in).tokens_per_pass, WithinRel(1 + 0.7 + 0.49 + 0.343, 1e-12));
  in.workload = in.draft_model;
  CHECK_THROWS_WITH(solved(in), ContainsSubstring("no draft layers"));
}

TEST_CASE("prefill workers have their own size, and their devices count", "[catalogue][proposals]") {
  In in{.workload = &entry<Workload>("Llama3_70B"), .hardware = &entry<HardwareNode>("H100")};
  in.precision = Precision::bf16;
  in.arrival_rate = 1.0 * (unit::request / unit::s);
  in.tp_size = 8;
  in.prefill_tp_size = 4;
  CHECK_THROWS_WITH(solved(in), ContainsSubstring("prefill_replicas"));
  in.prefill_replicas = 2;
  const auto four = solved(in);
  CHECK(four.accelerators == 8 + 2 * 4);
  CHECK_THAT((four.token_throughput / four.token_throughput_per_accelerator), WithinRel(16.0, 1e-12));
  in.prefill_tp_size.reset();
  const auto eight = solved(in);
  CHECK(eight.accelerators == 8 + 2 * 8);
  CHECK(*eight.ttft < *four.ttft);
  CHECK(eight.itl == four.itl);
}

TEST_CASE("every rank of a prefill worker takes a prompt", "[catalogue][proposals]") {
  In in{.workload = &entry<Workload>("Mixtral_8x7B"), .hardware = &entry<HardwareNode>("H200")};
  in.precision = Precision::bf16;
  in.tp_size = 2;
  in.prefill_replicas = 1;
  in.prefill_ep_size = 4;
  const auto spread = solved(in);
  // Full, a worker of four ranks gives 0.95 of four prompts a slot.
  const double slot = spread.mixed_step_time.base();
  in.arrival_rate = 0.9 * 4 / slot * (unit::request / unit::s);
  in.output_tokens = 2;
  CHECK(solved(in).is_stable);
  in.arrival_rate = 1.1 * 4 / slot * (unit::request / unit::s);
  CHECK_FALSE(solved(in).is_stable);
}
