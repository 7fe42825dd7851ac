// What is trained beside frozen weights, updates that are made orthogonal, and a loss in chunks: the memory
// of whole models.

#include <support/catch.hpp>

#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

using namespace mlsysim;

namespace {

TrainingMemoryModel::Result memory(const TrainingMemoryModel::Inputs& in) {
  return TrainingMemoryModel{}.solve(in);
}
TrainingMemoryModel::Inputs llama(const char* model) {
  return {.workload = &standard_zoo().at<Workload>(model),
          .hardware = &standard_zoo().at<HardwareNode>("H100"),
          .seq_len = 2048,
          .precision = Precision::bf16};
}

}  // namespace

TEST_CASE("the rank-8 adapters of all projections of Llama-3-8B are 20,971,520 weights", "[catalogue]") {
  // The number that PEFT prints: 32 layers of 8 (2 x 8192 + 2 x 5120 + 3 x 18432).
  auto in = llama("Llama3_8B");
  in.lora_rank = 8;
  const auto m = memory(in).memory;
  constexpr double adapters = 20971520;
  CHECK(m.gradients.base() == Approx(2 * adapters));
  CHECK(m.optimizer_states.base() == Approx(12 * adapters));
  CHECK(m.weights.base() == Approx(2 * (8030261248.0 + adapters)));
  in.lora_modules = LoraModules::attention;  // 32 x 8 (2 x 8192 + 2 x 5120)
  CHECK(memory(in).memory.gradients.base() == Approx(2.0 * 6815744));
}

TEST_CASE("Muon keeps one moment of the matrices in the blocks", "[catalogue]") {
  auto in = llama("Llama3_8B");
  const double adam = memory(in).memory.optimizer_states.base();
  in.optimizer = OptimizerKind::muon;
  const double edges = 2.0 * 128256 * 4096 + 4096;  // embedding, head and the last norm
  CHECK(adam == Approx(12 * 8030261248.0));
  CHECK(memory(in).memory.optimizer_states.base() == Approx(8 * (8030261248.0 - edges) + 12 * edges));
}

TEST_CASE("a fused loss holds no logits of the whole batch", "[catalogue]") {
  auto in = llama("Llama3_8B");
  in.recomputation = Recomputation::full;
  const auto whole = memory(in).memory.activations;
  in.fused_loss = true;
  const auto chunked = memory(in).memory.activations;
  // 2,048 tokens x 128,256 logits: 4 B are kept, and 2 + 8 B alive at the peak beside the hidden states.
  const double logits = 2048.0 * 128256;
  CHECK((whole - chunked).base() > 4 * logits);
  CHECK((whole - chunked).base() < 14 * logits);
}
