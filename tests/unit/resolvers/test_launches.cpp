// What a pass takes where nobody says, and which passes are captured graphs.

#include <support/catch.hpp>

#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>
#include <string>

using namespace mlsysim;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinRel;

namespace {

template <class E> const E& entry(const char* name) { return standard_zoo().at<E>(name); }

ServingModel::Inputs asked(double batch, double prompt, const char* device = "H100") {
  ServingModel::Inputs in{.workload = &entry<Workload>("Llama3_8B"),
                          .hardware = &entry<HardwareNode>(device)};
  in.precision = Precision::bf16;
  in.batch_size = batch;
  in.seq_len = prompt;
  return in;
}
ServingModel::Result solved(const ServingModel::Inputs& in) { return ServingModel{}.solve(in); }

std::string assumed(const ServingModel::Inputs& in, std::string_view name) {
  NoteBook book;
  Notes notes(book);
  (void)ServingModel{}.solve(in, notes);
  for (const auto& a : book.assumptions)
    if (a.name == name) return a.value.str() + " | " + std::string(a.source.view());
  return "";
}

/// An H100 whose host needs a second to launch a kernel, so that a pass lasts as long as it has kernels.
const HardwareNode& slow_host() {
  static const HardwareNode device = [] {
    HardwareNode d = entry<HardwareNode>("H100");
    d.kernels.issue = 1.0 * unit::s;
    return d;
  }();
  return device;
}

}  // namespace

TEST_CASE("a pass of prompts has a budget where nobody says one", "[catalogue][launches]") {
  // 8192 tokens hold eight prompts of 1000: 64 take eight passes, each with the working set of eight.
  const auto eight = solved(asked(8, 1000)), many = solved(asked(64, 1000));
  CHECK_THAT(many.ttft.base(), WithinRel(8 * eight.ttft.base(), 1e-9));
  CHECK(many.memory.activations == eight.memory.activations);
  CHECK_THAT(assumed(asked(64, 1000), "prefill_chunk_tokens"), Contains("8192") && Contains("vllm"));
  auto endless = asked(8, 1000);
  endless.prefill_chunk_tokens = 1e9;
  CHECK(solved(endless).ttft == eight.ttft);  // what fits into one pass is as it was
  endless.batch_size = 64;
  CHECK(solved(endless).memory.activations > 5 * many.memory.activations);
  // Formulas from totals take all at once.
  auto totals = asked(64, 1000);
  totals.fidelity = Fidelity::textbook;
  CHECK(assumed(totals, "prefill_chunk_tokens").empty());
}

TEST_CASE("a prompt longer than a pass is divided where chunked prefill is on", "[catalogue][launches]") {
  const auto whole = solved(asked(2, 20000));
  CHECK(whole.prefill_chunks == 1);
  CHECK_THAT(assumed(asked(2, 20000), "chunked_prefill"), Contains("no"));
  CHECK(assumed(asked(2, 2000), "chunked_prefill").empty());  // nothing hangs on it
  CHECK_THAT(whole.ttft.base(), WithinRel(2 * solved(asked(1, 20000)).ttft.base(), 1e-9));
  auto in = asked(2, 20000);
  in.chunked_prefill = true;
  CHECK(solved(in).prefill_chunks == 3);
  CHECK(solved(in).memory.activations < 0.5 * whole.memory.activations);
  in.chunked_prefill = false;
  in.prefill_chunk_tokens = 512;
  CHECK(solved(in).prefill_chunks == 1);
  CHECK(solved(in).ttft == whole.ttft);
  in.chunked_prefill.reset();
  CHECK(solved(in).prefill_chunks == 40);
}

TEST_CASE("an engine has its own budget on a device", "[catalogue][launches]") {
  auto in = asked(4, 1000, "L4");
  in.engine = &entry<ServingEngine>("vllm");
  CHECK_THAT(assumed(in, "prefill_chunk_tokens"), Contains("2048") && Contains("vllm"));
  in.hardware = &entry<HardwareNode>("B200");
  CHECK_THAT(assumed(in, "prefill_chunk_tokens"), Contains("16384"));
  in.seq_len = 20000;
  CHECK(solved(in).prefill_chunks == 2);
}

TEST_CASE("a pass that is no graph lasts as long as its launches", "[catalogue][launches]") {
  auto in = asked(4, 100);
  in.hardware = &slow_host();
  const auto graph = solved(in);
  CHECK(graph.itl < 0.1 * unit::s);
  in.execution = Execution::eager;
  const auto eager = solved(in);
  // A second for each kernel, and the dispatch of the pass. Llama-3-8B has 32 layers of nine or so kernels.
  const double kernels = std::floor(eager.itl.base());
  CHECK(eager.itl.base() - kernels < 1e-3);
  CHECK(kernels >= 32 * 7);
  CHECK(kernels <= 32 * 14);
  CHECK_THAT(eager.ttft.base(), WithinRel(eager.itl.base(), 0.05));
  CHECK_THAT(eager.ttft_dispatch.base(), WithinRel(eager.ttft.base(), 0.01));
  // On a host as fast as hosts are, the device is the slower side of a long prompt.
  auto real = asked(4, 2000), late = real;
  late.execution = Execution::eager;
  CHECK(solved(late).ttft == solved(real).ttft);
  CHECK(solved(late).itl >= solved(real).itl);
}

TEST_CASE("an engine replays steps of up to the requests that it has captured", "[catalogue][launches]") {
  auto in = asked(256, 100);
  in.hardware = &slow_host();
  in.engine = &entry<ServingEngine>("sglang");  // 256 on 80 GB
  CHECK(solved(in).itl < 1.0 * unit::s);
  CHECK_THAT(assumed(in, "execution"), Contains("up to 256 requests") && Contains("sglang"));
  in.batch_size = 257;
  CHECK(solved(in).itl > 100.0 * unit::s);
  CHECK(solved(in).ttft < 10.0 * unit::s);  // prompts are as they were
  in.execution = Execution::graph;
  CHECK(solved(in).itl < 1.0 * unit::s);
  // Every rank has its own requests.
  in.execution.reset();
  in.batch_size = 1024;
  in.ep_size = 4;
  in.workload = &entry<Workload>("Mixtral_8x7B");
  CHECK(solved(in).itl < 1.0 * unit::s);
  in.batch_size = 1025;
  CHECK(solved(in).itl > 100.0 * unit::s);
}

TEST_CASE("passes in flight are launched as the engine does", "[catalogue][launches]") {
  InFlightBatchingModel::Inputs in{.workload = &entry<Workload>("Llama3_8B"), .hardware = &slow_host()};
  in.precision = Precision::bf16;
  in.concurrency = 300;
  in.seq_len = 100;
  in.engine = &entry<ServingEngine>("vllm");  // 512
  const auto graph = InFlightBatchingModel{}.solve(in);
  CHECK(graph.itl < 1.0 * unit::s);
  in.engine = &entry<ServingEngine>("sglang");
  CHECK(InFlightBatchingModel{}.solve(in).decode_step_time > 100.0 * unit::s);
  in.execution = Execution::graph;
  CHECK(InFlightBatchingModel{}.solve(in).decode_step_time < 1.0 * unit::s);
  in.execution = Execution::eager;
  CHECK(InFlightBatchingModel{}.solve(in).mixed_step_time > 100.0 * unit::s);
}

TEST_CASE("a training step and a batch may be graphs or eager", "[catalogue][launches]") {
  SingleNodeModel::Inputs batch{.workload = &entry<Workload>("Llama3_8B"), .hardware = &slow_host()};
  CHECK(SingleNodeModel{}.solve(batch).latency < 1.0 * unit::s);
  batch.execution = Execution::eager;
  CHECK(SingleNodeModel{}.solve(batch).latency > 100.0 * unit::s);
  Node node{.name = "one", .accelerator = &slow_host(), .accelerators_per_node = 8};
  Fleet fleet{.name = "one", .node = &node, .count = 1};
  DistributedModel::Inputs step{.workload = &entry<Workload>("Llama3_8B"), .fleet = &fleet, .batch_size = 8};
  step.seq_len = 128;
  CHECK(DistributedModel{}.solve(step).step_latency > 300.0 * unit::s);
  step.execution = Execution::graph;
  CHECK(DistributedModel{}.solve(step).step_latency < 30.0 * unit::s);
}

TEST_CASE("moments of an optimizer in the format that is asked for", "[catalogue][launches]") {
  // 8.03e9 weights: two moments of 4 bytes and a master copy of 4 are 12 bytes, with moments of 16 bits 8.
  const Node& node = entry<Node>("DGX_H100");
  const Fleet fleet{.name = "one", .node = &node, .count = 1};
  DistributedModel::Inputs in{.workload = &entry<Workload>("Llama3_8B"), .fleet = &fleet, .batch_size = 8};
  in.seq_len = 1024;
  const auto states = [&] { return DistributedModel{}.solve(in).memory.optimizer_states.base(); };
  const double wide = states();
  in.moment_precision = Precision::bf16;
  CHECK_THAT(states(), WithinRel(wide * 8 / 12, 1e-12));
  in.moment_precision = Precision::fp8;
  CHECK_THAT(states(), WithinRel(wide * 6 / 12, 1e-12));
  in.optimizer = OptimizerKind::sgd;
  const double none = states();
  in.moment_precision.reset();
  CHECK(states() == none);  // it keeps no moments
}

TEST_CASE(
    "a framework with hooks pays for saved tensors where blocks are recomputed, and draws its own power",
    "[catalogue][training]") {
  // Llama-3.2-1B in transformers, one sequence of 2,048 tokens on an H100: 41 tensors of each of 16 blocks
  // are handled three times, 16 us each, which is 31.5 ms of host time. The step takes 66.7 ms, recomputed
  // 117.6 ms.
  Node node;
  node.accelerator = &entry<HardwareNode>("H100");
  node.accelerators_per_node = 1;
  Fleet fleet;
  fleet.node = &node;
  DistributedModel::Inputs in{.workload = &entry<Workload>("Llama3_2_1B"),
                              .fleet = &fleet,
                              .batch_size = 1,
                              .precision = Precision::bf16,
                              .microbatch_size = 1,
                              .recomputation = Recomputation::full,
                              .seq_len = 2048};
  in.optimizer = OptimizerKind::adamw;
  in.states = "parameter=bf16,gradient=bf16,moment=bf16,master=none";
  ServingEngine hookless = entry<ServingEngine>("pytorch_eager");
  hookless.host.hook = Time<>();
  ServingEngine plain = entry<ServingEngine>("transformers");
  plain.extends = &hookless;
  in.engine = &entry<ServingEngine>("transformers");
  const auto with = DistributedModel{}.solve(in);
  in.engine = &plain;
  const auto without = DistributedModel{}.solve(in);
  CHECK_THAT((with.step_latency - without.step_latency) / unit::ms, WithinRel(41.0 * 16 * 3 * 0.016, 0.2));
  CHECK(with.step_latency > 110.0 * unit::ms);
  CHECK(with.step_latency < 125.0 * unit::ms);
  // The host is the slower side: a device that waits draws less.
  in.engine = nullptr;
  CHECK(with.utilization < DistributedModel{}.solve(in).utilization);
}
