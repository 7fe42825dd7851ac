// Models as people have them: a mixture with sparse attention, a model that sees, and a training step that
// JAX lowered.
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cstdio>
#include <filesystem>

using namespace mlsysim;

/// @param argv the folder tests/data, where it is not that of the current one
int main(int argc, char** argv) {
  const std::filesystem::path data = argc > 1 ? argv[1] : "tests/data";
  const auto config = [&](const char* name) {
    return read_model(data / "model_files/configs" / name).workload;
  };
  const Zoo& zoo = standard_zoo();

  // Where the memory of a device goes when eight of them serve the mixture, with the policy of an engine.
  const Workload sparse = config("deepseek-ai--DeepSeek-V3.2.json");
  const auto account = memory_account({.model = &sparse,
                                       .device = &zoo.at<HardwareNode>("H200"),
                                       .context = 32768,
                                       .requests = 8,
                                       .tensor_parallel = 8,
                                       .kv_precision = Precision::bf16,
                                       .engine = &zoo.at<ServingEngine>("vllm")},
                                      conventions_of(zoo));
  for (const auto part : {MemoryPart::weights, MemoryPart::cache, MemoryPart::index_keys})
    std::printf("%s: %s\n", std::string(name_of(part)).c_str(),
                pretty(AnyQuantity(account.sum(part)), 4).c_str());
  std::printf("vLLM fits %.0f tokens\n", account.engine->tokens);

  // A tower of 27 layers reads the image, 36 layers of 8 key and value heads the text.
  const Workload seeing = config("Qwen--Qwen3-VL-8B-Instruct.json");
  Data<> tower;
  for (const auto& item : memory_account({.model = &seeing}, conventions_of(zoo)).items)
    if (item.part == MemoryPart::weights && item.what.starts_with("tower: ")) tower += item.bytes;
  std::printf("tower: %s\n", pretty(AnyQuantity(tower), 4).c_str());

  // Forward, backward and update of a decoder block as one StableHLO program.
  const auto step = read_program(data / "programs/stablehlo/jax_train_step.mlir");
  const auto totals = totals_of(step);
  std::printf("%s: %.0f products, %.0f multiply-adds\n", step.format.c_str(), totals.products, totals.macs);
  const auto model = program_model(step);
  const auto card = SystemEvaluator::evaluate({.workload = &model.workload,
                                               .hardware = &zoo.at<HardwareNode>("H100"),
                                               .batch_size = 1,
                                               .precision = Precision::fp32});
  std::printf("%s\n", std::string(card.performance.summary.str()).c_str());
}
