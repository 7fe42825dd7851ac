// Kernels of routed experts and of linear attention of a family: which constants a device takes, and a
// product by hand.

#include <support/catch.hpp>

#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/op_price.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <array>

using namespace mlsysim;
namespace u = mlsysim::unit;
using Catch::Matchers::WithinRel;

namespace {

Device<> small_device() {
  Device<> d;
  d.compute.dense = 100 * u::TFLOP / u::s;
  d.compute.units = 10;
  d.memory.bandwidth = 1000 * u::GB / u::s;
  d.kernels.launch = 5 * u::us;
  d.kernels.split = 2 * u::us;
  return d;
}

}  // namespace

TEST_CASE("a product of experts in tiles of its family", "[lowering]") {
  Device<> d = small_device();
  d.experts.has_family = true;
  d.experts.rate_ratio = 2;
  d.experts.share = 0.5;
  d.experts.stream = 0.8;
  d.experts.tile = 16;
  d.experts.launch = 3 * u::us;
  // Four experts of 20 rows: two tiles of 16 rows and two of 64 columns each, 16 tiles over 10 units: two
  // waves.
  Op<> op;
  op.kind = OpKind::matmul;
  op.parts = part::routed;
  op.m = 20;
  op.n = 128;
  op.k = 1000;
  op.copies = 4;
  op.memory_bytes = 8 * u::MB;
  const double step = 2.0 * 16 * 64 * 10 / 100e12;  // a wave over a depth of one [s]
  const double memory = 8e6 / 0.8e12;               // 10 us
  const double whole = std::hypot(2 * 1000 * step, memory), spread = std::hypot(1600 * step, memory) + 2e-6;
  CHECK_THAT(matmul_cost(op, d).total.base(), WithinRel(3e-6 + std::min(whole, spread), 1e-12));
  // Other products do not change, and neither do experts where no family is known.
  op.parts = part::none;
  CHECK(matmul_cost(op, d).overhead == d.kernels.launch);
  op.kind = OpKind::elementwise;
  op.parts = part::routed;
  CHECK(stream_cost(op, d).overhead == d.experts.launch);
  d.experts.has_family = false;
  CHECK(stream_cost(op, d).overhead == d.kernels.launch);
}

TEST_CASE("constants of a family are those of the class and of the nearest format", "[lowering]") {
  const Zoo& zoo = standard_zoo();
  const auto& triton = zoo.at<KernelFamily>("triton_experts");
  const auto& h100 = zoo.at<HardwareNode>("H100");
  const auto* block = expert_rates(triton, h100, WeightFormat::fp8_block);
  REQUIRE(block != nullptr);
  CHECK(block->format == WeightFormat::fp8_block);
  CHECK(block->multiplies == Precision::fp8);
  // One scale for a tensor: as many bits to a thousandth.
  CHECK(expert_rates(triton, h100, WeightFormat::fp8) == block);
  // Nothing is near 32 bits, and nothing is known of an A100.
  CHECK(expert_rates(triton, h100, WeightFormat::fp32) == nullptr);
  CHECK(expert_rates(triton, zoo.at<HardwareNode>("A100"), WeightFormat::bf16) == nullptr);
  // Of two kinds of arithmetic on the same weights the first, or the one asked for.
  const auto& gen = zoo.at<KernelFamily>("trtllm_gen_experts");
  const auto& b200 = zoo.at<HardwareNode>("B200");
  CHECK(expert_rates(gen, b200, WeightFormat::mxfp4)->multiplies == Precision::fp8);
  CHECK(expert_rates(gen, b200, WeightFormat::mxfp4, Precision::bf16)->multiplies == Precision::bf16);
}

TEST_CASE("shapes with tuned tiles have constants of their own", "[lowering]") {
  KernelFamily general, family;
  const Zoo& zoo = standard_zoo();
  const auto& h100 = zoo.at<HardwareNode>("H100");
  general.experts = {{.share = 0.3, .stream = 0.9, .tile = 64}};
  general.tuned = {{.device = &h100, .experts = 16, .widths = {1024, 2048}}};
  family.extends = &general;
  family.experts = {{.tuned = true, .share = 0.6, .stream = 1.1, .tile = 128}};
  CHECK(expert_rates(family, h100, WeightFormat::bf16)->share == 0.3);
  CHECK(expert_rates(family, h100, WeightFormat::bf16, std::nullopt, true)->share == 0.6);
  CHECK(expert_rates(general, h100, WeightFormat::bf16, std::nullopt, true)->share == 0.3);
  CHECK(tuned_shapes(family, h100, WeightFormat::bf16).size() == 2);
  CHECK(tuned_shapes(family, h100, WeightFormat::fp8).empty());
  CHECK(tuned_shapes(family, zoo.at<HardwareNode>("H200"), WeightFormat::bf16).empty());

  Device<> d = small_device();
  d.experts.has_family = true;
  d.experts.share = 0.5;
  d.experts.tile = 64;
  d.experts.launch = 3 * u::us;
  d.experts.tuned = {.share = 1, .stream = 1, .tile = 16, .launch = 2 * u::us};
  Op<> op;
  op.kind = OpKind::matmul;
  op.parts = part::routed;
  op.m = 16;
  op.n = op.k = 64;
  op.copies = 10;
  op.device_experts = 16;
  op.expert_width = 2048;
  const auto usual = matmul_cost(op, d);
  d.experts.shapes =
      std::make_shared<const std::vector<ExpertShape>>(tuned_shapes(family, h100, WeightFormat::bf16));
  // One wave of ten units; a tile of a quarter of the rows at twice the rate.
  CHECK_THAT(matmul_cost(op, d).compute.base(), WithinRel(usual.compute.base() / 8, 1e-12));
  CHECK(matmul_cost(op, d).overhead == 2 * u::us);
  op.expert_width = 1536;
  CHECK(matmul_cost(op, d).total == usual.total);
}

TEST_CASE("a release takes the kernels of experts of what it extends", "[lowering]") {
  const Zoo& zoo = standard_zoo();
  const auto& h100 = zoo.at<HardwareNode>("H100");
  Notes notes;
  Device<> d = small_device();
  set_expert_kernels(d, &zoo.at<ServingEngine>("vllm@0.12"), h100, WeightFormat::fp8_block,
                     conventions_of(zoo), notes);
  CHECK(d.experts.has_family);
  const auto* rates = expert_rates(zoo.at<KernelFamily>("triton_experts"), h100, WeightFormat::fp8_block);
  CHECK(d.experts.tile == rates->tile);
  CHECK_THAT(d.experts.launch.base(),
             WithinRel(rates->floor.base() * conventions_of(zoo).chained_floor / kExpertKernels, 1e-12));
  Device<> other = small_device();
  set_expert_kernels(other, &zoo.at<ServingEngine>("vllm"), zoo.at<HardwareNode>("A100"), WeightFormat::bf16,
                     conventions_of(zoo), notes);
  CHECK_FALSE(other.experts.has_family);
  // A runtime that changes one row keeps the others of what it extends.
  const auto named = [&](const char* runtime, WeightFormat format) {
    NoteBook lines;
    Notes told(lines);
    Device<> device = small_device();
    set_expert_kernels(device, &zoo.at<ServingEngine>(runtime), h100, format, conventions_of(zoo), told);
    return lines.assumptions.front().value.str();
  };
  CHECK(named("sglang", WeightFormat::bf16) == "sglang_triton_experts");
  CHECK(named("sglang", WeightFormat::int4) == "marlin_experts");
  CHECK(named("vllm", WeightFormat::bf16) == "triton_experts");
}

TEST_CASE("products of a family are those of its arithmetic, before figures that are the device's own",
          "[lowering]") {
  const Zoo& zoo = standard_zoo();
  const auto& conventions = conventions_of(zoo);
  HardwareNode bare = zoo.at<HardwareNode>("H100");
  bare.efficiency = {};
  KernelFamily general, family;
  general.products = {{.multiplies = Precision::fp8, .share = 0.5, .stream = 0.6}};
  family.extends = &general;
  family.products = {{.multiplies = Precision::bf16, .share = 0.7, .stream = 0.9}};
  Notes notes;
  const auto with = [&](const HardwareNode& hardware, Precision precision) {
    Device<> d = small_device();
    set_products(d, family, hardware, precision, conventions, notes);
    return d;
  };
  CHECK(with(bare, Precision::bf16).efficiency.matrix == 0.7);
  CHECK(with(bare, Precision::bf16).efficiency.product_stream == 0.9);
  CHECK(with(bare, Precision::fp8).efficiency.matrix == 0.5);  // of the family that it extends
  CHECK(with(bare, Precision::fp32).efficiency.matrix == small_device().efficiency.matrix);
  // A figure that was measured on the device, and not its class's, stays.
  HardwareNode measured = bare;
  measured.efficiency.matrix = 0.33;
  CHECK(with(measured, Precision::bf16).efficiency.matrix == small_device().efficiency.matrix);
}

TEST_CASE("launches of linear attention are added up by whether chunks follow each other, by hand",
          "[lowering]") {
  const Zoo& zoo = standard_zoo();
  HardwareNode device = zoo.at<HardwareNode>("H100");
  device.compute.clock = Frequency<>::from_base(2e9);
  const RecurrenceRates rates{.generation = &zoo.at<DeviceClass>("hopper"),
                              .launch = 4000,
                              .row = 300,
                              .step = 100,
                              .stream = 0.5,
                              .states = 1.5};
  const RecurrenceRates others{.generation = &zoo.at<DeviceClass>("blackwell"), .launch = 1};
  KernelFamily base, family;
  base.name = "base", family.name = "family", family.extends = &base;
  base.recurrences = {
      {.rule = Recurrence::gated_delta,
       .chunk = 64,
       .columns = 32,
       .launches = {{.keys = 2, .wide_keys = 3, .values = 5, .squares = 7, .cells = 11},
                    {.keys = 13, .wide_keys = 17, .values = 19, .squares = 23, .cells = 29},
                    {.keys = 31, .wide_keys = 37, .values = 41, .squares = 43, .cells = 47, .in_order = true},
                    {.keys = 1, .wide_keys = 1, .values = 1, .squares = 1, .cells = 1, .in_order = true}},
       .rates = {rates}},
      {.rule = Recurrence::kda, .rates = {others}}};
  family.recurrences = {{.rule = Recurrence::gated_delta, .chunk = 16, .rates = {others, rates}},
                        {.rule = Recurrence::gated_delta, .decoding = true, .rates = {rates}}};
  Device<> made;
  Notes quiet;
  set_recurrences(made, family, device, conventions_of(zoo), quiet);
  REQUIRE(made.recurrences != nullptr);
  const auto& rule = made.recurrences->of[static_cast<std::size_t>(Recurrence::gated_delta)];
  // The chunks of the nearer family, the launches of the one that states some; cycles at 2 GHz.
  const auto& prompt = rule[0];
  CHECK((prompt.known && prompt.listed && prompt.family == "family" && prompt.generation == "hopper"));
  CHECK((prompt.chunk == 16 && prompt.columns == 128 && prompt.launches == 4));
  CHECK((prompt.stream == 0.5 && prompt.states == 1.5));
  CHECK(prompt.launch.base() == Approx(2e-6).epsilon(1e-12));
  CHECK(prompt.row.base() == Approx(150e-9).epsilon(1e-12));
  CHECK(prompt.step.base() == Approx(50e-9).epsilon(1e-12));
  const auto arrays = [](const ChainLaunch& sum) {
    return std::array{sum.keys, sum.wide_keys, sum.values, sum.squares, sum.cells};
  };
  CHECK(arrays(prompt.aside) == std::array{15.0, 20.0, 24.0, 30.0, 40.0});
  CHECK(arrays(prompt.in_order) == std::array{32.0, 38.0, 42.0, 44.0, 48.0});
  // Steps have launches of no family: one, with the traffic of the operator.
  CHECK((rule[1].known && !rule[1].listed && rule[1].launches == 1 && rule[1].chunk == 1));
  // Constants of another generation are none.
  CHECK_FALSE(made.recurrences->of[static_cast<std::size_t>(Recurrence::kda)][0].known);
}

TEST_CASE("a state crosses the memory as often as its kernels say, by hand", "[lowering]") {
  Device<> d = small_device();
  d.efficiency.memory = 0.5;
  d.compute.vector = 1 * u::TFLOP / u::s;
  Op<> op;
  op.kind = OpKind::recurrence;
  op.m = 64, op.n = 32, op.k = 16, op.copies = 2;
  op.state = 1 * u::MB;
  const SettledRecurrence k{.known = true, .listed = true, .states = 3, .stream = 0.8};
  // 3 MB at 1,000 x 0.5 x 0.8 GB/s.
  CHECK_THAT(recurrence_cost(op, k, d).memory.in(u::us), WithinRel(3e6 / 400e9 * 1e6, 1e-12));
}

TEST_CASE("a chunk of linear attention pays for its triangle and for the state, by hand", "[lowering]") {
  Device<> d = small_device();
  d.compute.dense = 1 * u::GFLOP / u::s;
  d.efficiency.matrix = 0.5;
  Op<> op;
  op.kind = OpKind::recurrence;
  op.m = 64, op.n = 32, op.k = 16, op.copies = 2;
  // A token: (3 x 16 + 2 x 32) x 2 x 64 = 14,336 FLOP of the triangle, 6 x 16 x 32 = 3,072 with the state;
  // 128 tokens of two heads at 0.5 GFLOP/s.
  const SettledRecurrence k{.known = true, .listed = true, .chunk = 64};
  CHECK_THAT(recurrence_cost(op, k, d).compute.in(u::us), WithinRel(128 * 17408.0 / 0.5e9 * 1e6, 1e-12));
  // A prompt of half a chunk has a triangle of its own length.
  op.m = 32;
  CHECK_THAT(recurrence_cost(op, k, d).compute.in(u::us), WithinRel(64 * 10240.0 / 0.5e9 * 1e6, 1e-12));
  // Without a list of launches it is the operator's own work, in plain arithmetic.
  d.compute.vector = 2 * u::GFLOP / u::s;
  d.efficiency.vector = 0.25;
  op.work = 1e6 * u::FLOP;
  const SettledRecurrence plain{.known = true, .chunk = 64};
  CHECK_THAT(recurrence_cost(op, plain, d).compute.in(u::us), WithinRel(1e6 / 0.5e9 * 1e6, 1e-12));
}
