// Prices of single operators against published measurements, and in their limits.

#include <support/catch.hpp>

#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;
using Catch::Matchers::WithinRel;

namespace {

Device<> device(const char* name, Phase phase = Phase::decode, Precision precision = Precision::bf16) {
  Notes notes;
  return device_view(standard_zoo().at<HardwareNode>(name), precision, conventions_of(standard_zoo()), notes,
                     phase);
}

Links<> links(const char* name, double ranks, Phase phase = Phase::training) {
  Notes notes;
  return links_view(standard_zoo().at<HardwareNode>(name), ranks, conventions_of(standard_zoo()), notes,
                    phase);
}

double us(const Op<>& op, const Device<>& d, const Links<>& l = {}) {
  return price(op, d, l).total.in(u::us) / op.count;
}

/// Mean of |predicted / measured - 1| over the rows.
template <class Rows, class Predict> double mean_error(const Rows& rows, Predict predict) {
  double sum = 0;
  for (const auto& row : rows) sum += std::fabs(predict(row) / row.us - 1);
  return sum / static_cast<double>(std::size(rows));
}

struct Product {
  double m, n, k, us;
};
struct Attention {
  double batch, tokens, heads, kv_heads, us;
};

}  // namespace

TEST_CASE("bf16 products on H100 as measured", "[lowering][measured]") {
  // Every 500th row, by m, n, k, of a published table (aiconfigurator-gemm-h100); six copies, nine replays.
  constexpr Product rows[] = {
      {2, 3072, 16384, 45.264},   {5, 5120, 6144, 24.648},     {8, 12288, 256, 4.29778},
      {11, 65536, 8192, 377.71},  {15, 128, 768, 3.57778},     {32, 64, 65536, 12.8756},
      {49, 256, 16384, 10.0907},  {80, 768, 10240, 13.9884},   {97, 1536, 65536, 98.1947},
      {128, 3072, 3584, 12.0462}, {161, 3072, 128, 3.92711},   {224, 3072, 12288, 49.8196},
      {257, 6144, 2048, 15.9147}, {768, 6144, 10240, 141.165}, {1025, 5120, 64, 6.50844},
      {1536, 7168, 512, 25.408},  {1793, 51200, 512, 160.69},  {2305, 256, 7168, 21.6889},
      {2816, 768, 1024, 9.27556}, {3073, 2048, 2560, 44.8711}, {3584, 3584, 1024, 40.1644},
      {3841, 5120, 4096, 206.69}, {4352, 3584, 256, 23.4258},  {16384, 6144, 3072, 786.364}};
  const auto h100 = device("H100");
  for (const auto& r : rows) {
    INFO(r.m << " x " << r.n << " x " << r.k);
    CHECK_THAT(us(product_op<double>(r.m, r.n, r.k, {}, 54), h100), WithinRel(r.us, 0.25));
  }
  CHECK(mean_error(rows, [&](const Product& r) {
          return us(product_op<double>(r.m, r.n, r.k, {}, 54), h100);
        }) < 0.08);
}

TEST_CASE("the backward pass of attention takes as much longer as its whole kernels do", "[lowering]") {
  // Long sequences, so that starts of blocks are few: 2.5 times the arithmetic at 0.86 of the rate.
  for (const char* name : {"A100", "H100", "B200"}) {
    const auto d = device(name, Phase::training);
    Op<> op = attention_op<double>({.batch = 1, .new_tokens = 32768, .context = 32768}, 8);
    const double forward = us(op, d) - d.kernels.attention_launch.in(u::us);
    op.pass = Pass::backward;
    op.work *= 2.5;
    op.memory_bytes *= 2.0;
    const double back = us(op, d) - d.kernels.attention_launch.in(u::us);
    INFO(name);
    CHECK_THAT(back / forward, WithinRel(2.5 / 0.86, 0.03));
  }
}

TEST_CASE("attention on H100 as measured", "[lowering][measured]") {
  // Every 450th row of prefill and every 400th of decoding in bf16 (aiconfigurator-attention-h100), head
  // width 128.
  constexpr Attention prefill[] = {
      {64, 128, 2, 1, 16.352},    {64, 32, 4, 4, 15.3152},    {32, 64, 8, 8, 16.544},
      {16, 512, 12, 12, 92.9712}, {8, 4096, 16, 8, 1043.42},  {8, 32, 24, 4, 12.5568},
      {4, 3072, 32, 2, 588.57},   {4, 16, 40, 1, 12.0432},    {1, 2048, 40, 40, 131.299},
      {1, 1, 48, 8, 9.7808},      {128, 512, 64, 2, 1943.53}, {64, 1024, 96, 1, 4202.89},
      {16, 3072, 96, 96, 8841.81}};
  constexpr Attention decode[] = {
      {1, 65536, 2, 1, 24.3712}, {8, 1024, 4, 1, 14.3824},   {128, 128, 4, 4, 21.8128},
      {2, 16384, 8, 4, 35.912},  {512, 64, 12, 12, 166.947}, {32, 16384, 16, 4, 360.027},
      {16, 2, 24, 24, 15.44},    {8, 2048, 32, 4, 16.8304},  {16, 128, 40, 40, 28.5456},
      {256, 32, 64, 2, 23.6864}, {2, 2, 96, 1, 11.2688},     {64, 128, 96, 8, 21.824},
      {2, 1024, 128, 8, 14.224}};
  const auto h100 = device("H100");
  const auto shape = [](const Attention& r, double fresh) {
    return attention_op<double>({.batch = r.batch,
                                 .heads = r.heads,
                                 .kv_heads = r.kv_heads,
                                 .new_tokens = fresh,
                                 .context = r.tokens});
  };
  // The kernel that writes the cache, keys and values once from 16 bits to 16 bits, is inside of these times.
  const auto call = [&](const Attention& r, double fresh) {
    const auto written = 2.0 * 2.0 * 128 * r.batch * fresh * r.kv_heads * 2.0 * u::B;
    return us(shape(r, fresh), h100) + us(stream_op<double>(written), h100);
  };
  CHECK(mean_error(prefill, [&](const Attention& r) { return call(r, r.tokens); }) < 0.1);
  CHECK(mean_error(decode, [&](const Attention& r) { return call(r, 1); }) < 0.15);
}

TEST_CASE("memory streams on H100 and A100 as measured", "[lowering][measured]") {
  // Copy, add, triad of arrays of a gigabyte and more (azure-ai-benchmarking), TB/s.
  const auto rate = [](const char* name) {
    return 3.0 * 1e3 / us(stream_op<double>(3.0 * u::GB), device(name));
  };
  CHECK_THAT(rate("H100"), WithinRel(2.9, 0.05));
  CHECK_THAT(rate("H100"), WithinRel(2.97, 0.05));
  CHECK_THAT(rate("A100"), WithinRel(1.61, 0.06));
  CHECK_THAT(rate("A100"), WithinRel(1.75, 0.05));
}

TEST_CASE("large fp16 products on A100 as measured", "[lowering][measured]") {
  constexpr Product rows[] = {{2048, 2048, 2048, 77.46},
                              {4096, 4096, 4096, 602.80},
                              {8192, 8192, 8192, 4333.90},
                              {16384, 16384, 16384, 34292.76},
                              {6144, 12288, 12288, 7398.03}};
  // Ten thousand warm-ups: the power limit has settled.
  const auto a100 = device("A100", Phase::training);
  CHECK(mean_error(rows, [&](const Product& r) { return us(product_op<double>(r.m, r.n, r.k), a100); }) <
        0.08);
}

TEST_CASE("collectives in an H100 node as measured", "[lowering][measured]") {
  struct Row {
    Collective pattern;
    double ranks, bytes, us;
  };
  using enum Collective;
  // Medians of three runs of nccl-tests, fp16 (aiconfigurator-nccl-h100).
  constexpr Row rows[] = {{all_reduce, 2, 512, 6.2},          {all_reduce, 4, 131072, 11.5},
                          {all_reduce, 8, 4096, 16.0},        {all_reduce, 8, 524288, 19.6},
                          {all_reduce, 8, 16777216, 122.1},   {all_reduce, 8, 536870912, 2111.4},
                          {all_reduce, 4, 67108864, 324.0},   {all_gather, 2, 512, 5.4},
                          {all_gather, 8, 65536, 13.1},       {all_gather, 8, 8388608, 44.3},
                          {all_gather, 4, 536870912, 1268.2}, {reduce_scatter, 8, 512, 10.2},
                          {reduce_scatter, 4, 262144, 8.7},   {reduce_scatter, 8, 134217728, 381.3},
                          {all_to_all, 8, 512, 7.8},          {all_to_all, 4, 131072, 12.5},
                          {all_to_all, 8, 16777216, 72.6},    {all_to_all, 8, 536870912, 1480.7}};
  const auto time = [](const Row& r) {
    return us(collective_op<double>(r.pattern, r.bytes * u::B, r.ranks), {}, links("H100", r.ranks));
  };
  for (const auto& r : rows) {
    INFO(name_of(r.pattern) << " of " << r.bytes << " B on " << r.ranks);
    CHECK_THAT(time(r), WithinRel(r.us, 0.2));
  }
  CHECK(mean_error(rows, time) < 0.09);
  // An engine's own kernels, eight ranks, in a graph (aiconfigurator-allreduce-h100, vLLM).
  constexpr Row direct[] = {{all_reduce, 8, 256, 4.7},     {all_reduce, 8, 65536, 6.4},
                            {all_reduce, 8, 524288, 12.0}, {all_reduce, 8, 4194304, 30.8},
                            {all_reduce, 2, 1048576, 8.3}, {all_reduce, 4, 262144, 7.2}};
  CHECK(mean_error(direct, [](const Row& r) {
          return us(collective_op<double>(r.pattern, r.bytes * u::B, r.ranks), {},
                    links("H100", r.ranks, Phase::decode));
        }) < 0.09);
}

TEST_CASE("a pair in a full mesh has one link of seven", "[lowering][measured]") {
  // Bus bandwidth of a 4 GiB all-reduce on MI300X (ml-engineering-network), GB/s: 47.7 on two devices, 313 on
  // eight.
  const auto bus = [](double ranks) {
    const auto op = collective_op<double>(Collective::all_reduce, 4294967296.0 * u::B, ranks);
    return 2 * (1 - 1 / ranks) * 4294967296e-3 / us(op, {}, links("MI300X", ranks));
  };
  CHECK_THAT(bus(2), WithinRel(47.7, 0.05));
  CHECK_THAT(bus(8), WithinRel(313, 0.1));
}

TEST_CASE("an operator with no executions costs nothing", "[lowering]") {
  const auto h100 = device("H100");
  for (Op<> op : {product_op<double>(0, 0, 0, {}, 0), product_op<double>(16, 4096, 4096, {}, 1, 0),
                  attention_op<double>({.batch = 0, .new_tokens = 1, .context = 1}, 0), stream_op<double>({}),
                  collective_op<double>(Collective::all_reduce, 1 * u::MB, 1)}) {
    if (op.kind == OpKind::elementwise || op.copies == 0) op.count = 0;
    const auto cost = price(op, h100, links("H100", 8));
    CHECK(cost.total.base() == 0);
  }
}

TEST_CASE("without a graph the host's launches bound a pass of short kernels", "[lowering]") {
  auto d = device("H100");
  OpList<> ops;
  const auto pass = [&] {
    return price_list<double>(ops.span(), d, {}, d.kernels.issue).stage(Pass::forward, 1, 1, 1);
  };
  const Plan<> plan;
  for (int i = 0; i < 10; ++i) ops.push(stream_op<double>(1 * u::kB));
  const auto graph = pass();
  d.kernels.issue = 10 * u::us;
  const auto eager = pass();
  CHECK(graph.exposed(plan, 1) < 30 * u::us);
  CHECK(graph.exposed(plan, 1) == graph.total);
  CHECK_THAT(eager.exposed(plan, 1).in(u::us), WithinRel(100.0, 1e-12));
  CHECK_THAT(eager.launch_wait(plan, 1).in(u::us), WithinRel(100.0 - graph.total.in(u::us), 1e-12));
  ops.push(stream_op<double>(3 * u::GB));  // a millisecond of work hides the launches
  const auto long_pass = pass();
  d.kernels.issue = {};
  CHECK(long_pass.exposed(plan, 1) == pass().exposed(plan, 1));
}

TEST_CASE("training keeps nothing of a burst and launches kernel by kernel", "[lowering]") {
  const auto serve = device("H100"), train = device("H100", Phase::training);
  CHECK(serve.efficiency.burst > 0);
  CHECK(train.efficiency.burst == 0);
  CHECK(serve.kernels.issue == Time<>());
  CHECK(train.kernels.issue > Time<>());
  Notes notes;
  const auto& h100 = standard_zoo().at<HardwareNode>("H100");
  CHECK(device_view(h100, Precision::bf16, conventions_of(standard_zoo()), notes, Phase::training,
                    Execution::graph)
            .kernels.issue == Time<>());
  auto fixed = serve;
  set_matrix_share(fixed, 0.5);
  CHECK(fixed.efficiency.matrix == 0.5);
  CHECK(fixed.efficiency.burst == 0);
}

TEST_CASE("a device without a matrix engine has no tiles to fill", "[lowering]") {
  const auto mac = device("MacBookM3Max", Phase::decode, Precision::fp16);
  CHECK(mac.tiles.tile_m == 1);
  // One row through a wide matrix: memory decides, nearly exactly.
  const auto cost = price(product_op<double>(1, 8192, 8192), mac, {});
  CHECK(cost.memory > 20.0 * cost.compute);
}
