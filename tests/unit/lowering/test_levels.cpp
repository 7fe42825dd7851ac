// Collectives over the levels of a machine: worked by hand, and what holds for every ladder.

#include <support/catch.hpp>

#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system_extra.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/op_price.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <random>

using namespace mlsysim;
namespace u = mlsysim::unit;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kGiB = 1073741824.0;

Level<> level(double peers, double gigabytes, double us, double share) {
  return {.peers = peers, .bandwidth = gigabytes * u::GB / u::s, .latency = us * u::us, .share = share};
}
/// Levels without start-up times of collectives.
Links<> links(std::initializer_list<Level<>> levels) {
  Links<> l;
  l.form.levels = 0;
  for (const auto& one : levels) l[l.form.levels++] = one;
  l.low_latency_share = 0.3;
  return l;
}
/// DGX A100: twelve links of 25 GB/s, eight cards of 200 Gbit/s.
Links<> a100(double nodes, double card_share = 0.95) {
  return links({level(8, 300, 0, 0.773), level(nodes, 25, 0, card_share)});
}

double ms(Collective what, double bytes, double ranks, const Links<>& l, double stride = 1) {
  Op<> op = collective_op<double>(what, bytes * u::B, ranks);
  op.stride = stride;
  return collective_time(op, l).in(u::ms);
}

Links<> machine(const Fleet& fleet, Phase phase = Phase::training) {
  Notes quiet;
  return links_view(fleet, conventions_of(standard_zoo()), quiet, phase);
}
const Node& node(const char* name) { return standard_zoo().at<Node>(name); }

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_to_all, Collective::point_to_point};

}  // namespace

TEST_CASE("rings and trees run through all levels at once", "[lowering]") {
  // The cards of a node take 2 (31/32) of 1 GiB at 8 x 25 x 0.95 GB/s, its links as much at 231.9 GB/s each.
  CHECK_THAT(ms(Collective::all_reduce, kGiB, 32, a100(4)), WithinRel(1.9375 * kGiB / 190e9 * 1e3, 1e-12));
  // Of two nodes each sends the message to the other once: the chain inside, up and down, is the slower part.
  CHECK_THAT(ms(Collective::all_reduce, kGiB, 16, a100(2)),
             WithinRel(1.05 * 2 * kGiB / 231.9e9 * 1e3, 1e-12));
  // One phase after the other, at the rate of NVLink's share: 8.1 inside and 6.9 between.
  CHECK(ms(Collective::all_reduce, kGiB, 16, a100(2)) < 8.1 + 6.9);
  // Gathers take the levels in turn: (7/8) of it inside, its own part copied, and 3/4 of an eighth between.
  const double inside = 0.875 * kGiB / 231.9e9 + kGiB / (8 * 2.5 * 300e9),
               between = 0.75 * kGiB / 8 / 23.75e9;
  CHECK_THAT(ms(Collective::all_gather, kGiB, 32, a100(4)), WithinRel((inside + between) * 1e3, 1e-12));
  // H100: the switch adds up while the cards send, (1 + 1/8) at 450 x 0.667 GB/s against once at 8 x 50 x
  // 0.95.
  auto h100 = links({level(8, 450, 0, 0.717), level(2, 50, 0, 0.95)});
  h100.switch_share = 0.667;
  CHECK_THAT(ms(Collective::all_reduce, kGiB, 16, h100),
             WithinRel(1.125 * kGiB / (450e9 * 0.667) * 1e3, 1e-12));
  h100.level2.peers = 4;  // from three nodes on the message leaves a node twice
  CHECK_THAT(ms(Collective::all_reduce, kGiB, 32, h100), WithinRel(2 * kGiB / 380e9 * 1e3, 1e-12));
  h100.form.reduces = true;  // switches between nodes that add up take it once
  CHECK_THAT(ms(Collective::all_reduce, kGiB, 32, h100),
             WithinRel(1.125 * kGiB / (450e9 * 0.667) * 1e3, 1e-12));
}

TEST_CASE("a group spans levels, each with its steps, by hand", "[lowering]") {
  // Nodes of eight, three to a rack, four racks.
  auto l = links({level(8, 300, 0, 1), level(3, 20, 5, 1), level(4, 10, 7, 1)});
  const auto s = spread_of(96.0, 1.0, l);
  CHECK((s.ranks == 96 && s.inner == 8 && s.nodes == 12));
  // In turn, two steps in a rack and three between racks.
  CHECK_THAT(s.turns.in(u::us), WithinRel(2 * 5 + 3 * 7.0, 1e-12));
  // Once around, eleven steps, three of which leave a rack; up a tree, two steps in a rack and two above.
  CHECK_THAT(s.step.in(u::us), WithinRel((8 * 5 + 3 * 7) / 11.0, 1e-12));
  CHECK_THAT(s.climb.in(u::us), WithinRel((2 * 5 + 2 * 7) / 4.0, 1e-12));
  // A ring leaves a rack once, over what its three nodes have together, so the nodes are the narrower part.
  CHECK_THAT(s.ring.in(u::GB / u::s), WithinRel(20, 1e-12));
  // Of what leaves a node, 11 of 12 parts, nine leave the rack.
  CHECK_THAT(s.exchange.in(u::GB / u::s), WithinRel(10 * 11 / 9.0, 1e-12));
  CHECK_THAT(s.per_byte.base(), WithinRel(2.0 / 3 / 20e9 + 3.0 / 4 / 3 / 10e9, 1e-12));
  CHECK_THAT(nested_rings(12 * u::MB, 2, s).in(u::us),
             WithinRel(2 * (31 + 12e6 * (2.0 / 3 / 20e9 + 1.0 / 4 / 10e9) * 1e6), 1e-12));
  // A ring of 96 leaves a node twelve times in its 95 steps. Short messages start without synchronization.
  l.launch = 3 * u::us, l.sync = 2 * u::us, l.hop = 1 * u::us;
  const double round = 83 + 12 * 61 / 11.0;
  const auto ring = [&](double bytes, double passes) {
    return ring_through(bytes * u::B, s, 100 * u::GB / u::s, l, passes).in(u::us);
  };
  CHECK_THAT(ring(0, 1), WithinRel(3 + round, 1e-12));
  CHECK_THAT(ring(0, 2), WithinRel(3 + 2 * round, 1e-12));
  // Long ones pass at 100 GB/s, of which short ones take 30 %.
  CHECK_THAT(ring(96e6, 2), WithinRel(5 + 2 * round + 2 * 95e6 / 100e9 * 1e6, 1e-12));
}

TEST_CASE("an engine's own kernel takes all messages of so few rows, and others where it is faster",
          "[lowering]") {
  auto l = links({level(8, 300, 0, 1)});
  l.direct = 1, l.direct_share = 0.01, l.direct_rows = 8;
  const auto us = [&](double rows) { return all_reduce_inside(8 * u::MB, rows, 8.0, l).in(u::us); };
  // A ring moves 7/8 of it twice at 300 GB/s; the kernel takes longer at a hundredth of that.
  CHECK_THAT(us(9), WithinRel(2 * 7e6 / 300e9 * 1e6, 1e-12));
  CHECK(us(8) > us(9));
  CHECK(us(0) == us(9));  // who counts no rows has none
}

TEST_CASE("devices without a node share one, which is noted where they are several", "[lowering]") {
  const auto noted = [](double devices) {
    NoteBook book;
    Notes notes(book);
    (void)links_view(standard_zoo().at<HardwareNode>("H100"), devices, conventions_of(standard_zoo()), notes,
                     Phase::training);
    return std::any_of(book.assumptions.begin(), book.assumptions.end(),
                       [](const auto& a) { return a.name == "per_node"; });
  };
  CHECK_FALSE(noted(1));
  CHECK(noted(2));
}

TEST_CASE("a message crosses the levels up to its neighbour's, over the narrowest", "[lowering]") {
  // Nodes of 4, trays of 8 nodes, 2 trays; 1 GB at 100, 50 and 10 GB/s.
  const auto l = links({level(4, 100, 1, 1), level(8, 50, 2, 1), level(2, 10, 3, 1)});
  const auto to = [&](double stride) { return ms(Collective::point_to_point, 1e9, 2, l, stride); };
  CHECK_THAT(to(1), WithinRel(10, 1e-9));
  CHECK_THAT(to(4), WithinRel(20 + 2e-3, 1e-9));
  CHECK_THAT(to(31), WithinRel(20 + 2e-3, 1e-9));  // the last node of the tray
  CHECK_THAT(to(32), WithinRel(100 + 3e-3, 1e-9));
}

TEST_CASE("a collective of one rank is not launched", "[lowering]") {
  for (const double ranks : {1.0, 2.0}) {
    Op<> op = collective_op<double>(Collective::all_reduce, 1 * u::MB, ranks);
    op.count = 3;
    PassBreakdown<double> pass;
    pass.add(op, OpCost<>{}, 5 * u::us);
    CHECK_THAT(pass.host_launch_time.in(u::us), WithinRel(ranks == 1 ? 0.0 : 15.0, 1e-12));
  }
}

TEST_CASE("replicas of a node share its network cards", "[lowering]") {
  // Eight replicas that talk to their like in other nodes have an eighth each, one replica of eight has all.
  const auto l = a100(4);
  const auto each = spread_of(4.0, 8.0, l), whole = spread_of(32.0, 1.0, l), half = spread_of(8.0, 4.0, l);
  CHECK(8.0 * each.ring * each.inner == whole.ring * whole.inner);
  CHECK(4.0 * half.ring * half.inner == whole.ring * whole.inner);
  // Four cards for eight devices.
  Node few = node("DGX_A100");
  few.nics_per_node = 4;
  Fleet fleet{.node = &few, .count = 2, .fabric = &standard_zoo().at<NetworkFabric>("InfiniBand_HDR")};
  Notes quiet;
  for (const Fidelity f : {Fidelity::textbook, Fidelity::operator_level})
    CHECK(fidelity_model_of(f)
              .links(fleet, conventions_of(standard_zoo()), quiet, Phase::training)
              .level2.bandwidth == 12.5 * u::GB / u::s);
}

TEST_CASE("a domain joins the devices of many trays", "[lowering]") {
  const Fleet rack{.node = &node("GB200_compute_tray"), .count = 18};
  const auto l = machine(rack);
  CHECK(l.level1.peers == 72);
  // 64 experts on one level at 900 GB/s: one channel to each, or half of the start of a ring and bulk.
  const double wire = 64e6 / 900e9;
  const double low = 2 * l.hop.in(u::s) + wire / (64 * l.pair_share);
  const double bulk = 0.5 * l.sync.in(u::s) + wire * (63.0 / 64 / l.level1.share + 1 / (64 * l.copy_ratio));
  const double by_hand = l.launch.in(u::s) + std::min(low, bulk);
  CHECK_THAT(ms(Collective::all_to_all, 64e6, 64, l), WithinRel(by_hand * 1e3, 1e-12));
  Node apart = node("GB200_compute_tray");
  apart.domain_accelerators.reset();
  CHECK(ms(Collective::all_to_all, 64e6, 64, machine({.node = &apart, .count = 18})) > 10 * by_hand * 1e3);
  // A machine that does not fill the domain has no more devices than it has.
  CHECK(machine({.node = &node("GB200_compute_tray"), .count = 2}).level1.peers == 8);
}

TEST_CASE("a pod is a torus", "[lowering]") {
  const Node pod = node_of(standard_zoo().at<Pod>("TPUv4_4096"));
  auto l = machine({.node = &pod});
  REQUIRE(l.form.axes == 3);
  CHECK(l.level1.bandwidth == 50 * u::GB / u::s);  // six links of 50 GB/s one way
  for (auto* t : {&l.launch, &l.level1.latency, &l.level2.latency, &l.level3.latency}) *t = {};
  for (int i = 0; i < 3; ++i) l[i].share = 1;
  const auto all_reduce = [&](double ranks, double stride = 1) {
    return ms(Collective::all_reduce, kGiB, ranks, l, stride);
  };
  CHECK_THAT(all_reduce(4096), WithinRel(2 * 4095.0 / 4096 * kGiB / 300e9 * 1e3, 1e-12));
  CHECK_THAT(all_reduce(256), WithinRel(2 * 255.0 / 256 * kGiB / 200e9 * 1e3, 1e-12));   // x and y
  CHECK_THAT(all_reduce(16), WithinRel(2 * 15.0 / 16 * kGiB / 100e9 * 1e3, 1e-12));      // all of x
  CHECK_THAT(all_reduce(16, 16), WithinRel(2 * 15.0 / 16 * kGiB / 100e9 * 1e3, 1e-12));  // all of y
  CHECK_THAT(all_reduce(8), WithinRel(2 * 7.0 / 8 * kGiB / 50e9 * 1e3, 1e-12));  // half of x is not closed
  CHECK_THAT(all_reduce(4, 4),
             WithinRel(2 * 3.0 / 4 * kGiB / 25e9 * 1e3, 1e-12));  // four such share the axis
  // A gather passes once around all of x.
  CHECK_THAT(ms(Collective::all_gather, kGiB, 16, l), WithinRel(15.0 / 16 * kGiB / 100e9 * 1e3, 1e-12));
  // All to all over one axis of 16: four links on average, by two ways.
  CHECK_THAT(ms(Collective::all_to_all, kGiB, 16, l), WithinRel(4 * kGiB / 100e9 * 1e3, 1e-12));
  CHECK_THAT(ms(Collective::all_to_all, kGiB, 4096, l), WithinRel(4 * kGiB / 100e9 * 1e3, 1e-12));
  // Start-ups: once round every axis, and back.
  l.level1.latency = l.level2.latency = l.level3.latency = 1 * u::us;
  CHECK_THAT(ms(Collective::all_reduce, 0, 4096, l), WithinRel(2 * 45e-3, 1e-12));
}

TEST_CASE("sides of pods", "[lowering]") {
  for (const Pod* pod : standard_zoo().all<Pod>()) {
    const auto sides = axes_of(*pod);
    CHECK(std::accumulate(sides.begin(), sides.end(), 1.0, std::multiplies<>()) == pod->chips);
  }
  Pod unstated{.chips = 4096, .topology = "torus_3d"};
  CHECK(axes_of(unstated) == std::vector<double>{16, 16, 16});
  unstated.chips = 512, unstated.topology = "torus_2d";
  CHECK(axes_of(unstated) == std::vector<double>{16, 32});
  unstated.chips = 0x1p53 - 111;  // a prime: the search for sides ends all the same
  CHECK(axes_of(unstated) == std::vector<double>{1, 0x1p53 - 111});
  unstated.topology = "";
  CHECK(axes_of(unstated).empty());
}

TEST_CASE("a cluster may list its levels", "[lowering]") {
  Fleet cluster = standard_zoo().at<Fleet>("GB200_NVL72_x8");
  const auto l = machine(cluster);
  REQUIRE(l.form.levels == 3);
  CHECK(l.level1.peers * l.level2.peers * l.level3.peers == cluster.total_accelerators());
  CHECK(l.level3.bandwidth * 2.0 == l.level2.bandwidth);
  // All devices exchange: those of a spine's part send 7/8 - 1/8 of it over half of a card's rate.
  const double card = 50e9 * l.level2.share, message = 1e9;
  const double over_leaf = message * (1 - 1.0 / 8) / card, over_spine = message * (1 - 1.0 / 4) / (card / 2);
  const double messages = 7 * l.level2.latency.in(u::s);
  CHECK_THAT(ms(Collective::all_to_all, message, 576, l),
             WithinRel((std::max(over_leaf, over_spine) + messages) * 1e3, 1e-12));
  cluster.levels.back().ports = 36;  // shared by the 144 devices of a leaf
  CHECK(machine(cluster).level3.bandwidth == 50 * u::GB / u::s * 36.0 / (144.0 * 2.0));
  cluster.levels.back().peers = 5;
  CHECK_THROWS_AS(machine(cluster), InputError);
}

TEST_CASE("rings go through all devices of a node whose levels are stated", "[lowering]") {
  Node bus = node("L40S_8GPU_no_peer_access");
  bus.levels.erase(bus.levels.begin());
  bus.levels.front().peers = 4;  // two switches of four
  Fleet machines;
  machines.node = &bus;
  CHECK(machine(machines).form.levels == 3);  // with the network between nodes, of which there is one
  CHECK(machine(machines).level3.peers == 1);
  CHECK(machine(machines).form.algorithm == CollectiveAlgorithm::flat);
  machines.node = &node("DGX_H100");
  CHECK(machine(machines).form.algorithm == CollectiveAlgorithm::usual);
}

TEST_CASE("what holds for every ladder", "[lowering]") {
  std::mt19937 bits(7);
  const auto pick = [&](double low, double high) {
    return std::exp2(std::uniform_real_distribution<>(std::log2(low), std::log2(high))(bits));
  };
  for (int round = 0; round < 200; ++round) {
    auto l = links({level(8, pick(100, 900), pick(0.1, 2), 0.75), level(4, pick(10, 50), pick(1, 9), 0.9),
                    level(4, pick(5, 50), pick(1, 9), 0.9)});
    l.launch = l.hop = 1 * u::us, l.sync = 20 * u::us, l.switch_start = 60 * u::us;
    l.switch_share = round % 2 == 0 ? 0 : 0.6;
    l.form.reduces = round % 3 == 0;
    const double bytes = pick(1e3, 1e10), stride = std::exp2(round % 4);
    for (const Collective what : kAll) {
      INFO(static_cast<int>(what) << " of " << bytes << " B, stride " << stride);
      CHECK(ms(what, bytes, 1, l, stride) == 0);
      const double ranks = 128 / stride, time = ms(what, bytes, ranks, l, stride);
      // A level with one peer changes nothing.
      auto more = links({l.level1, level(1, pick(1, 900), 3, 0.9), l.level2, l.level3});
      const auto with_times = [&](Links<> other) {
        const auto levels = other;
        other = l;
        for (int i = 0; i < levels.form.levels; ++i) other[i] = levels[i];
        other.form.levels = levels.form.levels;
        return other;
      };
      CHECK_THAT(ms(what, bytes, ranks, with_times(more), stride), WithinRel(time, 1e-9));
      // A level in two makes nothing faster.
      auto halves = l.level2;
      halves.peers = 2;
      CHECK(ms(what, bytes, ranks, with_times(links({l.level1, halves, halves, l.level3})), stride) >=
            time * (1 - 1e-9));
      // More bandwidth makes nothing slower.
      for (int i = 0; i < 3; ++i) {
        auto wider = l;
        wider[i].bandwidth = wider[i].bandwidth * 1.5;
        CHECK(ms(what, bytes, ranks, wider, stride) <= time * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("starts of collectives are the node's, else the device's, else those of its generation",
          "[lowering]") {
  HardwareNode device = *node("DGX_A100").accelerator;
  Node own = node("DGX_A100");
  own.accelerator = &device;
  Fleet fleet;
  fleet.node = &own;
  fleet.count = 1;
  const auto conventions = conventions_of(standard_zoo());
  const auto figure = [&](const char* path) {
    return filled(*find_figure_row(path), device, conventions)->base;
  };
  CHECK(machine(fleet).launch.in(u::us) == Approx(10.1));
  CHECK(machine(fleet).level1.share == figure("efficiency.link"));
  own.collectives.launch = 31 * u::us;
  own.link_share = 0.5;
  CHECK(machine(fleet).launch == 31 * u::us);
  CHECK(machine(fleet).hop.base() == figure("collectives.hop"));
  CHECK(machine(fleet).level1.share == 0.5);
  own.collectives.launch.reset();
  device.collectives.launch = 12 * u::us;
  CHECK(machine(fleet).launch == 12 * u::us);
  device.collectives.launch.reset();
  device.entry = nullptr;  // of the generation, on which nothing was measured
  CHECK(machine(fleet).launch.in(u::us) == Approx(10.1));
  // A processor of no known generation takes as many cycles as the three that are known do: 14240 / 1.41 GHz.
  device.device_class = &standard_zoo().at<DeviceClass>("gpu");
  CHECK(machine(fleet).launch.in(u::us) == Approx(10.1).epsilon(1e-3));
  // Of systolic arrays nothing is known: the convention.
  device.device_class = &standard_zoo().at<DeviceClass>("systolic");
  CHECK(machine(fleet).launch == conventions.collective_launch);
}
