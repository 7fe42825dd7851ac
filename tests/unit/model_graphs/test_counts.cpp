// Every program that was counted by another program.

#include "programs.hpp"

#include "support/catch.hpp"

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/timing/views.hpp>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

struct Counted {
  const char* file;
  double macs, convolutions, products;
};
constexpr Counted kCounted[] = {
    {"stablehlo/resnet50_imagenet_b1.mlir", 3857973248, 53, 1},
    {"stablehlo/mnist_mlp.mlir", 101632, 0, 2},
    {"stablehlo/fullyconnected.mlir", 325, 0, 3},
    {"mhlo/bert_tiny_forward_generic_form.mlir", 1121779712, 0, 18},
    {"mhlo/resnet18_forward.mlir", 1814073344, 20, 1},
    {"onnx/light_resnet50.onnx", 4089184256, 53, 1},
    {"onnx/light_squeezenet.onnx", 349151936, 26, 0},
    {"onnx/light_inception_v1.onnx", 1431556352, 57, 1},
    {"onnx/linear.onnx", 320, 0, 1},
    {"onnx/operator_conv.onnx", 68290560, 1, 0},
    {"onnx/conv2d_groups.onnx", 2304, 1, 0},
    // Seven products forward, by hand for 8 sequences of 128 tokens: 1024 x (768 + 256) x 256 for queries,
    // keys, values and output, twice 32 heads x 128 x 128 x 64 for attention, twice 1024 x 256 x 1024 for the
    // layer and once for the head. Backward twice as much.
    {"stablehlo/jax_train_step.mlir", 3.0 * (268435456.0 + 2 * 33554432.0 + 3 * 268435456.0), 0, 21},
};

}  // namespace

TEST_CASE("multiply-adds and operators are those of an independent count") {
  for (const auto& row : kCounted) {
    INFO(row.file);
    const auto t = totals_of(read_program(kPrograms / row.file));
    CHECK(t.macs == row.macs);
    CHECK(t.convolutions == row.convolutions);
    CHECK(t.products == row.products);
  }
}

TEST_CASE("the workload of a program computes and stores what the program does") {
  for (const auto& row : kCounted) {
    INFO(row.file);
    const auto program = read_program(kPrograms / row.file);
    const auto t = totals_of(program);
    const auto w = program_workload(program);
    auto view = model_view(w, Phase::inference);
    view.structure.fused = false;  // what is counted is each operator by itself
    Plan<> plan;
    plan.batch = 1;
    const double width = main_format(program).bits / 8;
    plan.weight_bytes = width * unit::B / unit::param;
    plan.activation_bytes = width * unit::B;
    OpList<> ops;
    (void)lower(view.structure, view.shape(), view.layers, plan, ops);
    double products = 0, traffic = 0;
    for (const auto& op : ops.span()) {
      if (op.kind == OpKind::matmul || op.kind == OpKind::convolution) products += op.work.base() * op.count;
      traffic += op.memory_bytes.base() * op.count;
    }
    CHECK(products == Approx(2 * row.macs).epsilon(1e-12));
    CHECK(traffic == Approx(t.traffic).epsilon(1e-9));
    CHECK(totals_of(ops, ops.size()).params().base() * width == Approx(t.weight_bytes).margin(1));
  }
}

TEST_CASE("more runs at once make more rows and read the weights once") {
  const auto w = program_workload(read_program(kPrograms / "stablehlo/mnist_mlp.mlir"));
  const auto view = model_view(w, Phase::inference);
  const auto at = [&](double batch) {
    Plan<> plan;
    plan.batch = batch;
    plan.weight_bytes = 4.0 * unit::B / unit::param;
    plan.activation_bytes = 4.0 * unit::B;
    OpList<> ops;
    (void)lower(view.structure, view.shape(), view.layers, plan, ops);
    return totals_of(ops, ops.size());
  };
  CHECK(at(8).work.base() == Approx(8 * at(1).work.base()));
  CHECK(at(8).params().base() == at(1).params().base());
  CHECK(at(8).memory_bytes.base() < 1.1 * at(1).memory_bytes.base());  // two matrices are nearly all of it
}

TEST_CASE("what a fused chain moves is no more than what each operator moves alone, and the weights stay") {
  for (const auto& row : kCounted) {
    INFO(row.file);
    const auto t = totals_of(read_program(kPrograms / row.file));
    CHECK(t.fused_traffic <= t.traffic);
    CHECK(t.fused_traffic >= t.weight_bytes);
    CHECK(t.kernels <= t.operators);
    CHECK(t.peak_activations > 0);
  }
}

TEST_CASE("two ResNet-50s are told apart by where their strides stand") {
  const auto note = [](const char* file) {
    for (const auto& n : read_program(kPrograms / file).notes)
      if (n.starts_with("convolutions with a stride")) return n;
    return std::string();
  };
  CHECK(note("stablehlo/resnet50_imagenet_b1.mlir") ==
        "convolutions with a stride: 1 of 7 x 7, 6 of 1 x 1, so that its blocks shrink in their first 1 x 1: "
        "ResNet as it was published");
  CHECK(note("onnx/light_resnet50.onnx") ==
        "convolutions with a stride: 1 of 7 x 7, 3 of 3 x 3, 3 of 1 x 1, so that its blocks shrink in their "
        "3 x 3: the variant of ResNet that is called 1.5");
  // Basic blocks, two of 3 x 3: the first strides, and the 1 x 1 of the shorter way beside it.
  CHECK(note("mhlo/resnet18_forward.mlir") ==
        "convolutions with a stride: 1 of 7 x 7, 3 of 3 x 3, 3 of 1 x 1");
  CHECK(note("stablehlo/mnist_mlp.mlir").empty());
}

TEST_CASE("a text that is no program is refused as that") {
  CHECK_THROWS_WITH(read_program_text("root:x:0:0:root:/root:/bin/bash\n", "passwd"),
                    ContainsSubstring("this is not a program"));
  CHECK(read_program_text(
            "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n",
            "printed")
            .ops.empty());
}
