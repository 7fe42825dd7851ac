// The experts' exchange over nodes, the ways of collectives over levels, and links that wait for what is on
// its way: worked by hand.

#include <support/catch.hpp>

#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <initializer_list>

using namespace mlsysim;
namespace u = mlsysim::unit;
using Catch::Matchers::WithinRel;

namespace {

Level<> level(double peers, double gigabytes, double us = 0) {
  return {.peers = peers, .bandwidth = gigabytes * u::GB / u::s, .latency = us * u::us, .share = 1};
}
/// Levels without start-up times inside, and a copy of the own share that costs nothing.
Links<> links(std::initializer_list<Level<>> levels) {
  Links<> l;
  l.form.levels = 0;
  for (const auto& one : levels) l[l.form.levels++] = one;
  l.low_latency_share = l.pair_share = 1e-3;
  l.copy_ratio = 1e12;
  return l;
}

/// 1 GB, each row of which counts once for each of its two experts of 32.
Op<> exchange(double ranks, bool one_copy) {
  Op<> op = collective_op<double>(Collective::all_to_all, 1 * u::GB, ranks);
  op.routed = {.experts = 32, .top_k = 2, .one_copy = one_copy};
  return op;
}
double ms(const Op<>& op, const Links<>& l) { return collective_time(op, l).in(u::ms); }
double ms(Collective what, double megabytes, double ranks, Links<> l, CollectiveAlgorithm algorithm) {
  l.form.algorithm = algorithm;
  return ms(collective_op<double>(what, megabytes * u::MB, ranks), l);
}

}  // namespace

TEST_CASE("a token crosses once to each node that has some of its experts", "[lowering]") {
  // Two nodes of eight ranks: half of the rows leave at 10 GB/s.
  const auto two = links({level(8, 1000), level(2, 10)});
  CHECK_THAT(ms(exchange(16, false), two), WithinRel(50.0, 1e-12));
  // Both experts are on one node with 2 C(16, 2) / C(32, 2) = 15/31: one copy and not two, 47/62 of the rows.
  CHECK_THAT(ms(exchange(16, true), two), WithinRel(50.0 * 47 / 62, 1e-12));
  // Inside all copies for ranks are passed on, those of other nodes' tokens too: a rank of two experts is
  // missed with C(30, 2) / C(32, 2) = 435/496, so that a token goes to 16 x 61/496 ranks; 7/8 leave the
  // device.
  const auto slow_inside = links({level(8, 1), level(2, 1000)});
  CHECK_THAT(ms(exchange(16, true), slow_inside), WithinRel(875.0 * 8 * 61 / 496, 1e-9));
  // A copy for each expert: of the rows only those of the own node are moved inside.
  CHECK_THAT(ms(exchange(16, false), slow_inside), WithinRel(875.0 / 2, 1e-9));
  // In one node a rank is sent each token once.
  CHECK_THAT(ms(exchange(8, true), slow_inside),
             WithinRel(875.0 * 8 * (1 - 28.0 * 27 / (32 * 31)) / 2, 1e-9));
  // With an expert on each rank and node there is nothing to save.
  const auto many = links({level(1, 1000), level(32, 10)});
  CHECK_THAT(ms(exchange(32, true), many), WithinRel(ms(exchange(32, false), many), 1e-12));
}

TEST_CASE("the exchange hides under the kernels that are kept for it", "[lowering]") {
  PassBreakdown<> cost;
  cost.compute_bound = 6 * u::ms;
  cost.network = cost.ep_comm = 4 * u::ms;
  cost.total = 10 * u::ms;
  Plan<> plan;
  CHECK_THAT(cost.exposed(plan, 10.0).in(u::ms), WithinRel(10.0, 1e-12));
  cost.overlap_compute = 1 * u::ms;
  CHECK_THAT(cost.exposed(plan, 10.0).in(u::ms), WithinRel(9.0, 1e-12));
  plan.overlap_slowdown = 0.25;
  CHECK_THAT(cost.exposed(plan, 10.0).in(u::ms), WithinRel(9.25, 1e-12));
  cost.overlap_compute = 6 * u::ms;
  CHECK_THAT(cost.exposed(plan, 10.0).in(u::ms), WithinRel(7.0, 1e-12));
  // What other traffic hides under is taken: 5 ms ahead leave 1 ms.
  cost.prefetch_comm = cost.host = 5 * u::ms;
  cost.total = 15 * u::ms;
  plan.overlap = 1, plan.overlap_slowdown = 0;
  CHECK_THAT(cost.exposed(plan, 1e9).in(u::ms), WithinRel(9.0, 1e-6));
}

TEST_CASE("ways of a collective over levels", "[lowering]") {
  using enum CollectiveAlgorithm;
  // Four nodes of eight, 100 GB/s inside and 10 out. A gather of 1 GB in turn: 7/8 inside, 3/4 of an eighth
  // out.
  const auto l = links({level(8, 100), level(4, 10)});
  const double nested_ms = 1e3 * (0.875 / 100 + 0.75 / 8 / 10), flat_ms = 1e3 * (31.0 / 32) / 80;
  const auto gather = Collective::all_gather;
  CHECK_THAT(ms(gather, 1000, 32, l, usual), WithinRel(nested_ms, 1e-9));
  CHECK_THAT(ms(gather, 1000, 32, l, nested), WithinRel(nested_ms, 1e-9));
  CHECK_THAT(ms(gather, 1000, 32, l, flat), WithinRel(flat_ms, 1e-9));
  CHECK_THAT(ms(gather, 1000, 32, l, fastest), WithinRel(std::min(nested_ms, flat_ms), 1e-9));
  // An all-reduce is twice a gather in turn (the ring), or twice round all at once.
  const auto reduce = Collective::all_reduce;
  CHECK_THAT(ms(reduce, 1000, 32, l, nested), WithinRel(2 * nested_ms, 1e-9));
  CHECK_THAT(ms(reduce, 1000, 32, l, usual), WithinRel(2 * flat_ms, 1e-9));
  CHECK(ms(reduce, 1000, 32, l, usual) == ms(reduce, 1000, 32, l, fastest));
  // Inside a node there is nothing to choose.
  CHECK(ms(reduce, 1000, 8, l, flat) == ms(reduce, 1000, 8, l, nested));

  const auto way = [&](Collective what, double ranks, CollectiveAlgorithm algorithm) {
    auto asked = l;
    asked.form.algorithm = algorithm;
    return collective_way(collective_op<double>(what, 1 * u::GB, ranks), asked);
  };
  CHECK(way(reduce, 32, usual) == "flat");
  CHECK(way(reduce, 32, nested) == "nested");
  CHECK(way(gather, 32, usual) == "nested");
  CHECK(way(gather, 32, fastest) == "flat");
  CHECK(way(gather, 8, fastest) == "inside");
  CHECK(way(Collective::all_to_all, 32, usual) == "direct");
}

TEST_CASE("rings nest over any number of levels", "[lowering]") {
  using enum CollectiveAlgorithm;
  // Two devices a node, four nodes a leaf, eight leaves. Start-ups: 3 x 2 us and 7 x 5 us, where one ring
  // over 32 nodes has 24 x 2 and 7 x 5.
  const auto l = links({level(2, 1000), level(4, 10, 2), level(8, 10, 5)});
  CHECK_THAT(1e3 * ms(Collective::all_gather, 0, 64, l, nested), WithinRel(41.0, 1e-9));
  CHECK_THAT(1e3 * ms(Collective::reduce_scatter, 0, 64, l, nested), WithinRel(41.0, 1e-9));
  // 1 GB: half of it inside; of a device's half 3/4 over the leaf, then 7/8 of a quarter of it over the
  // spine. One ring takes 31/32 of the half at 4 GB/s, which eight devices have, and twice the start-ups.
  const auto slow = links({level(2, 1000), level(4, 10, 2000), level(8, 1, 5000)});
  CHECK_THAT(ms(Collective::all_gather, 1000, 64, slow, nested),
             WithinRel(0.5 + 500 * (0.75 / 10 + 0.875 / 4) + 41, 1e-9));
  const auto quick = links({level(2, 1000), level(4, 10), level(8, 1)});
  CHECK_THAT(ms(Collective::all_gather, 1000, 64, quick, nested), WithinRel(0.5 + 500 * 31.0 / 32 / 4, 1e-9));
}

TEST_CASE("a network of long ways carries what its buffers hold", "[lowering]") {
  // 4 MB that wait 2 ms for an answer: 2 of 10 GB/s. Half of 1 GB leaves.
  auto l = links({level(8, 1000), level(2, 10, 1000)});
  const Op<> op = collective_op<double>(Collective::all_to_all, 1 * u::GB, 16.0);
  CHECK_THAT(ms(op, l), WithinRel(50.0 + 1, 1e-12));
  l.level2.in_flight = 4 * u::MB;
  CHECK_THAT(ms(op, l), WithinRel(250.0 + 1, 1e-12));
  l.level2.latency = 10 * u::us;  // 200 GB/s would be on their way
  CHECK_THAT(ms(op, l), WithinRel(50.0 + 0.01, 1e-12));
}

TEST_CASE("a fabric of long ways says so", "[lowering]") {
  NetworkFabric far;
  far.name = "far", far.bandwidth = 50 * u::GB / u::s, far.latency = 10 * u::ms;
  const Fleet fleet{.node = &standard_zoo().at<Node>("DGX_H100"), .count = 2, .fabric = &far};
  const auto view = [&](NoteBook& book) {
    Notes notes(book);
    return links_view(fleet, conventions_of(standard_zoo()), notes, Phase::training);
  };
  const auto assumes = [](const NoteBook& book, std::string_view name) {
    return std::any_of(book.assumptions.begin(), book.assumptions.end(),
                       [&](const Assumption& a) { return a.name == name; });
  };
  NoteBook unstated, stated, near;
  CHECK(level_rate(view(unstated).level2).in(u::GB / u::s) == Approx(4 * 1.048576e6 / 20e-3 / 1e9));
  REQUIRE(unstated.warnings.size() == 1);
  CHECK_THAT(unstated.warnings[0], Catch::Contains("on their way"));
  CHECK(assumes(unstated, "network_in_flight"));
  far.in_flight = 40 * u::MB;
  CHECK(level_rate(view(stated).level2).in(u::GB / u::s) == Approx(2.0));
  CHECK_FALSE(assumes(stated, "network_in_flight"));
  far.in_flight.reset(), far.latency = 10 * u::us;
  CHECK(view(near).level2.in_flight.in(u::MB) == Approx(4.194304));
  CHECK(near.warnings.empty());
}
