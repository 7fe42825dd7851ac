#include "programs.hpp"

#include "support/catch.hpp"

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

ProgramTotals totals(const std::string& body, const ProgramOptions& options = {}) {
  return totals_of(read_mlir(body, "test.mlir", options));
}
double macs(const std::string& body, const ProgramOptions& options = {}) {
  return totals(body, options).macs;
}

constexpr const char* kLoop = R"(
func.func @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %c = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<8x16xf32>
  cond {
    %c_1 = stablehlo.constant dense<LIMIT> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c_1 = stablehlo.constant dense<STEP> : tensor<i32>
    %1 = stablehlo.dot_general %iterArg_0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<8x16xf32>
  }
  return %0#1 : tensor<8x16xf32>
})";
std::string loop(const std::string& limit, const std::string& step) {
  std::string text = kLoop;
  text.replace(text.find("LIMIT"), 5, limit);
  text.replace(text.find("STEP"), 4, step);
  return text;
}

}  // namespace

TEST_CASE("products with batches, on either side, in both forms") {
  CHECK(macs(R"(func.func @main(%a: tensor<4x8x16xbf16>, %b: tensor<4x16x32xbf16>) -> tensor<4x8x32xbf16> {
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x16xbf16>, tensor<4x16x32xbf16>) -> tensor<4x8x32xbf16>
    return %0 : tensor<4x8x32xbf16> })") == 4 * 8 * 16 * 32);
  CHECK(
      macs(
          R"("builtin.module"() ({ "func.func"() <{function_type = (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>, sym_name = "main"}> ({
    ^bb0(%arg0: tensor<3x5xf32>, %arg1: tensor<7x5xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
    "func.return"(%0) : (tensor<3x7xf32>) -> () }) : () -> () }) : () -> ())") == 3 * 5 * 7);
}

TEST_CASE("grouped, dilated and transposed kernels count by their layout") {
  // 2 groups: every output sums over 4 / 2 input features and a 3 x 3 kernel.
  CHECK(macs(R"(func.func @main(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x2x6xf32>) -> tensor<1x8x8x6xf32> {
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x8x8x6xf32>
    return %0 : tensor<1x8x8x6xf32> })") == 8 * 8 * 6 * 2 * 9);
}

TEST_CASE("a loop runs as often as its counter says") {
  CHECK(macs(loop("10", "1")) == 8 * 8 * 16 * 16);
  CHECK(macs(loop("10", "3")) == 3 * 8 * 16 * 16);
  CHECK(macs(loop("2", "1")) == 0);
}

TEST_CASE("a loop whose trip count depends on data is open until it is told") {
  auto text = loop("10", "1");
  text.replace(text.find("LT, "), 4, "NE, ");
  const auto p = read_mlir(text, "test.mlir");
  CHECK(p.open == std::vector<std::string>{"while.0"});
  const auto error = refusal([&] { (void)program_workload(p); });
  CHECK(error.facts().id == "mlsysim.programs.011");
  CHECK(error.facts().key == "while.0");
  CHECK(macs(text, {.trips = {{"while.0", 5}}}) == 5 * 8 * 16 * 16);
}

TEST_CASE("functions count as often as they are called, whatever their order") {
  const std::string text = R"(module {
  func.func private @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.dot %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func public @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = func.call @f(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  } })";
  CHECK(macs(text) == 2 * 64);
  auto cycle = text;
  cycle.replace(cycle.find("stablehlo.dot %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>)"), 57,
                "call @f(%a) : (tensor<4x4xf32>)");
  CHECK(refusal([&] { (void)macs(cycle); }).facts().id == "mlsysim.programs.007");
  auto missing = text;
  missing.replace(missing.find("call @f"), 7, "call @g");
  const auto error = refusal([&] { (void)macs(missing); });
  CHECK(error.facts().id == "mlsysim.programs.008");
  CHECK(error.facts().key == "g");
  CHECK(error.facts().where.line == 7);
}

TEST_CASE("of a branch the side with more work counts, and both are reported") {
  const auto p = read_mlir(R"(func.func @main(%i: tensor<i32>, %a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "stablehlo.case"(%i) ({
      %1 = stablehlo.dot %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      stablehlo.return %1 : tensor<4x4xf32>
    }, {
      stablehlo.return %a : tensor<4x4xf32>
    }) : (tensor<i32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32> })",
                           "test.mlir");
  CHECK(totals_of(p).macs == 64);
  REQUIRE(p.branches.size() == 1);
  CHECK(p.branches[0].least == 0);
  CHECK(p.branches[0].most == 64);
}

TEST_CASE("open sizes are symbols until they are bound") {
  const std::string text = R"(func.func @main(%a: tensor<?x16xf32>, %w: tensor<16x8xf32>) -> tensor<?x8xf32> {
    %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32> })";
  CHECK(read_mlir(text, "t").open == std::vector<std::string>{"arg0.0"});
  CHECK(macs(text, {.dims = {{"arg0.0", 5}}}) == 5 * 16 * 8);
}

TEST_CASE("element-wise chains are one kernel, reductions end them") {
  const auto t = totals(R"(func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.add %a, %b : tensor<1024xf32>
    %1 = stablehlo.exponential %0 : tensor<1024xf32>
    %2 = stablehlo.multiply %1, %a : tensor<1024xf32>
    %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32> })");
  CHECK(t.operators == 4);
  CHECK(t.kernels == 1);
  CHECK(t.traffic == 4 * (3 * 1024 + 2 * 1024 + 3 * 1024 + 1024 + 1));
  CHECK(t.fused_traffic == 4 * (2 * 1024 + 1));  // both arguments in, the sum out
  CHECK(t.flops == 3 * 1024);
  CHECK(t.transcendentals == 1024);
  CHECK(t.peak_activations == 3 * 4 * 1024);  // an argument and two links of the chain
}

TEST_CASE("a bias that is spread before its product is part of the product's kernel") {
  const auto p = read_mlir(
      R"(func.func @main(%a: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
    %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
    %1 = stablehlo.dot %a, %w : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %2 = stablehlo.add %1, %0 : tensor<8x32xf32>
    return %2 : tensor<8x32xf32> })",
      "t");
  CHECK(totals_of(p).kernels == 1);
  const auto w = program_workload(p);
  REQUIRE(w.operators.size() == 3);
  CHECK(w.operators[0].op == ListedKind::product);
  CHECK_FALSE(w.operators[0].joined);
  CHECK(w.operators[1].joined);
}

TEST_CASE("values of all kinds are read: quantised, complex, f8, bounded, tokens, blobs") {
  const auto p = read_mlir(R"mlir(
#loc1 = loc("jit(f)/jit(main)/encoder/layer_3/add"(#loc0))
module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%a: tensor<2x!quant.uniform<i8:f32, 0.1:3>> {jax.arg = "x"} loc("a"), %b: tensor<2x2xf8E4M3FN>,
      %c: tensor<2xcomplex<f32>>, %t: !stablehlo.token, %d: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> (tensor<8x4xf32> {x = "}"}) {
    %0 = stablehlo.constant dense<"0x0000803F}{)("> : tensor<8x4xf32>
    %1 = stablehlo.add %d, %0 : (tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<8x4xf32>) -> tensor<8x4xf32> loc(#loc1) // a comment with %9 = x.y
    %2 = "util.foreign"(%1) {k = #x.y<[1], "s">} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32> loc(#loc1)
  } loc(unknown)
})mlir",
                           "t");
  CHECK(p.open.empty());
  CHECK(p.values[p.inputs[1]].type.element->name == "f8E4M3FN");
  CHECK(p.values[p.inputs[0]].type.element->name == "quantised");
  CHECK(p.values[p.inputs.back()].type.dims == std::vector<std::int64_t>{8, 4});
  REQUIRE(p.ops.size() == 2);
  CHECK(p.ops[0].path == "encoder/layer_3");
  CHECK(totals_of(p).weights == 32);
  CHECK(p.unknown.at("util.foreign") == 1);
}

TEST_CASE("a text that cannot be read is refused with its line and column") {
  const auto error = refusal([] {
    (void)read_mlir("func.func @main(%a: tensor<4xf32>) {\n  %0 = stablehlo.add %a, %z : tensor<4xf32>\n}",
                    "t.mlir");
  });
  CHECK(error.facts().where.file == "t.mlir");
  CHECK(error.facts().where.line == 2);
  CHECK(error.facts().where.column > 20);
  CHECK(error.facts().message.find("%z") != std::string::npos);
  CHECK_FALSE(error.facts().hint.empty());
  CHECK(refusal([] { (void)read_mlir("module {}", "t"); }).facts().id == "mlsysim.programs.005");
  CHECK(refusal([] {
          (void)macs(
              "func.func @main(%a: tensor<4x3xf32>) { %0 = stablehlo.dot %a, %a : (tensor<4x3xf32>, "
              "tensor<4x3xf32>) -> tensor<4x3xf32>\n return }");
        })
            .facts()
            .id == "mlsysim.programs.001");
}
