// Damaged files: an answer or a refusal, never a crash.

#include "programs.hpp"

#include "support/catch.hpp"

#include <random>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// @returns whether it was read
template <class Read> bool survives(const Read& read) {
  try {
    const Program p = read();
    (void)totals_of(p);
    if (p.open.empty()) (void)program_workload(p);
    return true;
  } catch (const Error& error) {
    CHECK_FALSE(std::string(error.what()).empty());
    return false;
  }
}

template <class Read> void mutate(const std::string& whole, int cases, const Read& read) {
  std::mt19937 random(7);
  for (std::size_t cut = 0; cut < whole.size(); cut += std::max<std::size_t>(1, whole.size() / 100))
    (void)survives([&] { return read(whole.substr(0, cut)); });
  for (int i = 0; i < cases; ++i) {
    auto text = whole;
    for (int k = static_cast<int>(random() % 4); k >= 0; --k)
      text[random() % text.size()] = static_cast<char>(random());
    (void)survives([&] { return read(text); });
  }
}

}  // namespace

TEST_CASE("cut and changed texts are read or refused") {
  for (const char* file : {"stablehlo/mnist_mlp.mlir", "stablehlo/fullyconnected.mlir",
                           "mhlo/bert_tiny_forward_generic_form.mlir"})
    mutate(text_of(kPrograms / file), 700,
           [](std::string text) { return read_mlir(std::move(text), "mutated.mlir"); });
}

TEST_CASE("cut and changed ONNX files are read or refused") {
  for (const char* file : {"onnx/light_squeezenet.onnx", "onnx/linear.onnx", "onnx/conv2d_groups.onnx"})
    mutate(text_of(kPrograms / file), 700,
           [](const std::string& bytes) { return read_onnx(bytes, "mutated.onnx"); });
}

TEST_CASE("cut and changed HLO texts and logs are read or refused") {
  mutate(text_of(kPrograms / "hlo/scan_six_layers.hlo"), 300,
         [](std::string text) { return read_hlo(std::move(text), "mutated.hlo"); });
  mutate(text_of(kPrograms / "torch_trace/bert_tiny_frames.log"), 300, [](const std::string& text) {
    auto graphs = read_torch_trace(text, "mutated.log");
    return graphs.empty() ? Program() : std::move(graphs.back());
  });
}

TEST_CASE("depth is bounded") {
  std::string deep = "func.func @main(%a: tensor<i1>) {";
  for (int i = 0; i < 5000; ++i) deep += " \"x.y\"() ({";
  CHECK_FALSE(survives([&] { return read_mlir(deep, "deep"); }));
  std::string brackets = "func.func @main(%a: tensor<4xf32>) { %0 = x.y " + std::string(100000, '<');
  CHECK_FALSE(survives([&] { return read_mlir(brackets, "deep"); }));
}
