#include "programs.hpp"

#include "support/catch.hpp"

#include <mlsysim/model_graphs/representation.hpp>

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

TEST_CASE("what a program is written in, with the version that a backend has to compare") {
  const auto of_file = [](const char* file) {
    return representation_of(read_program(kPrograms / file)).text();
  };
  CHECK(of_file("stablehlo/mnist_mlp.mlir") == "stablehlo");
  CHECK(of_file("mhlo/bert_tiny_forward_generic_form.mlir") == "mhlo");
  CHECK(of_file("hlo/scan_six_layers.hlo") == "hlo");
  CHECK(of_file("onnx/linear.onnx") == "onnx:6");
  const auto head = [](const char* file) {
    return representation_of(text_of(kPrograms / "portable" / file));
  };
  CHECK(head("stablehlo_all_ops.1_20_0.mlir.bc")->text() == "stablehlo:1.20.0");
  CHECK(head("invalid_future_version.mlir.bc")->text() == "stablehlo:2.0.0");
  CHECK_FALSE(representation_of(std::string_view("func.func @main() {}")));
}

TEST_CASE("text without a version is bounded by its youngest operator") {
  const auto with = [](const std::string& op) {
    return representation_of(
        read_mlir("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo." + op +
                      " %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
                  "m.mlir"));
  };
  CHECK(with("tan").text() == "stablehlo:>1.0.0");
  CHECK(with("tan").late == std::vector<std::string>{"tan (after 1.0.0)"});
  CHECK(with("tanh").text() == "stablehlo");  // the same letters, and older
}
