// Where nobody names a machine, it is the one in which the device ships; what a fleet brings is not
// overridden in silence.

#include <support/catch.hpp>
#include <support/zoo_entries.hpp>

#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/topology.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <map>

using namespace mlsysim;

namespace {

Node shipped(const char* name, double devices) {
  Notes quiet;
  return shipped_node(device(name), devices, quiet);
}

}  // namespace

TEST_CASE("64 H100 by a resolver are those of a fleet of DGX H100", "[catalogue]") {
  ServingModel::Inputs in{.workload = &standard_zoo().at<Workload>("Llama3_70B"),
                          .hardware = &device("H100")};
  in.batch_size = 64;
  in.tp_size = 8;
  in.pp_size = 8;
  in.output_tokens = 128;
  NoteBook book;
  Notes notes(book);
  const auto alone = ServingModel{}.solve(in, notes);
  const auto& said = book.assumptions;
  const auto machine =
      std::find_if(said.begin(), said.end(), [](const auto& a) { return a.name == "machine"; });
  REQUIRE(machine != said.end());
  CHECK(machine->value == "8 x DGX_H100");
  const Fleet fleet{.name = "eight", .node = &standard_zoo().at<Node>("DGX_H100"), .count = 8};
  in.fleet = &fleet;
  const auto together = ServingModel{}.solve(in);
  CHECK(alone.itl == together.itl);
  CHECK(alone.ttft == together.ttft);
}

TEST_CASE("machines in which devices ship", "[catalogue]") {
  CHECK(shipped("A100", 32).name == "DGX_A100");
  const Node half = shipped("A100", 4);  // a part of a node has its part of the cards
  CHECK(half.accelerators_per_node == 4);
  CHECK(half.nics_per_node == 4.0);
  // Trays of one domain: six devices are two trays of three.
  CHECK(shipped("GB200", 72).accelerators_per_node == 4);
  CHECK(shipped("GB200", 6).accelerators_per_node == 3);
  // Hosts of a torus are parts of one domain too, and a pod without hosts is one node: the least torus that
  // holds the devices.
  CHECK(shipped("TPUv5e", 64).accelerators_per_node == 8);
  CHECK(shipped("TPUv5e", 64).domain_accelerators == 256.0);
  const Node slice = shipped("TPUv7", 8);
  REQUIRE(slice.levels.size() == 3);
  CHECK(slice.levels[0].peers * slice.levels[1].peers * slice.levels[2].peers == 8);
  CHECK(slice.levels[0].topology == LinkTopology::torus);
  CHECK(shipped("H100", 1).accelerators_per_node == 1);
}

TEST_CASE("at most one node is the reference of a device", "[catalogue]") {
  for (const Node* node : standard_zoo().all<Node>()) {
    if (!node->reference) continue;
    for (const Node* other : standard_zoo().all<Node>())
      CHECK((other == node || !other->reference || other->accelerator != node->accelerator));
  }
}

TEST_CASE("a network is that of its fleet", "[catalogue]") {
  const Fleet& fleet = standard_zoo().at<Fleet>("Research_256");
  const auto of_fleet = TopologyModel{}.solve({.fleet = &fleet});
  const auto by_hand = TopologyModel{}.solve({.fabric = fleet.fabric, .num_nodes = fleet.count});
  CHECK(of_fleet.num_nodes == 32);
  CHECK(of_fleet.bisection_bandwidth == by_hand.bisection_bandwidth);
  CHECK_THROWS_AS(TopologyModel{}.solve({}), InputError);
  const Fleet one{.name = "one", .node = fleet.node, .count = 1, .fabric = fleet.fabric};
  CHECK_THROWS_AS(TopologyModel{}.solve({.fleet = &one}), DomainError);
}

TEST_CASE("devices that fill racks are called by the racks", "[resolvers]") {
  const auto& gb200 = standard_zoo().at<HardwareNode>("GB200");
  CHECK(devices_in(standard_zoo().at<HardwareNode>("GB200_NVL72")) == 72);
  CHECK(devices_name(gb200, 72, {}) == "GB200_NVL72");
  CHECK(devices_name(gb200, 144, {}) == "2 x GB200_NVL72");
  CHECK(devices_name(gb200, 36, {}) == "36 x GB200");
  CHECK(devices_name(gb200, 72, 8) == "72 x GB200");
  CHECK(devices_name(gb200, 1, {}) == "GB200");
  CHECK(devices_name(standard_zoo().at<HardwareNode>("H100"), 72, {}) == "72 x H100");
}

TEST_CASE("a device ships in one machine at most, which is found", "[catalogue]") {
  std::map<std::string, const Node*> shipped_in;
  for (const Node* node : standard_zoo().all<Node>())
    if (node->reference) {
      INFO(node->name);
      CHECK(shipped_in.emplace(node->accelerator->name, node).second);
    }
  CHECK(shipped_in.size() > 20);
  for (const auto* hardware : standard_zoo().all<HardwareNode>()) {
    INFO(hardware->name);
    const auto at = shipped_in.find(hardware->name);
    CHECK(reference_node(*hardware) == (at == shipped_in.end() ? nullptr : at->second));
  }
}
