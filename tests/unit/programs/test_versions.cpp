#include "programs.hpp"

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::test;

TEST_CASE("the version of a portable artifact comes before anything else") {
  const auto at = [](const char* file) {
    return refusal([&] { (void)read_program(kPrograms / "portable" / file); });
  };
  const auto future = at("invalid_future_version.mlir.bc");
  CHECK(future.facts().id == "mlsysim.programs.014");
  CHECK(future.facts().message == "the program needs StableHLO 2.0.0, this build knows up to 1.20.0");
  CHECK(future.facts().hint == "ask the producer to target <= 1.20.0");
  for (const char* known : {"stablehlo_all_ops.0_9_0.mlir.bc", "stablehlo_all_ops.1_20_0.mlir.bc"})
    CHECK(at(known).facts().id == "mlsysim.programs.016");
  CHECK(refusal([] { (void)read_program(kPrograms / "none.mlir"); }).facts().id == "mlsysim.programs.013");
}

TEST_CASE("a path binds sizes, and is refused where it does not name a number") {
  const auto path = (kPrograms / "onnx/linear.onnx").string();
  CHECK(is_program_file(path + "?batch=8"));
  CHECK_FALSE(is_program_file("model.gguf"));
  CHECK(totals_of(read_program(path + "?anything=8")).macs == 320);
  CHECK(refusal([&] { (void)read_program(path + "?batch"); }).facts().id == "mlsysim.programs.012");
  const auto model = model_of_path(path);
  CHECK(model.workload.architecture == Architecture::program);
  CHECK(model.entry.name == "linear");
}
