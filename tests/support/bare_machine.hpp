#pragma once
// A machine of which little more than rates and capacities is known, so that defaults stand in for the rest.

#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

namespace mlsysim::test {

/// 32 nodes of eight such devices.
struct BareMachine {
  HardwareNode hardware = standard_zoo().at<HardwareNode>("H100");
  Node node = *standard_zoo().at<Fleet>("Research_256").node;
  NetworkFabric fabric = *standard_zoo().at<Fleet>("Research_256").fabric;
  Fleet fleet = standard_zoo().at<Fleet>("Research_256");

  BareMachine() {
    hardware.name = "Bare";
    hardware.efficiency = {};
    hardware.kernels = {};
    hardware.collectives = {};
    hardware.dispatch_overhead.reset();
    hardware.host_link = {};
    hardware.device_link.latency.reset();
    hardware.device_link.bandwidth.reset();
    hardware.compute.units.reset();
    hardware.storage = {};
    node.accelerator = &hardware;
    node.intra_node_bandwidth.reset();
    node.nics_per_node.reset();
    node.nic_bandwidth.reset();
    node.psus_per_node.reset();
    fabric.bandwidth.reset();
    fabric.latency.reset();
    fleet.node = &node;
    fleet.fabric = &fabric;
    fleet.datacenter = nullptr;
    fleet.grid = nullptr;
  }
  BareMachine(const BareMachine&) = delete;
  BareMachine& operator=(const BareMachine&) = delete;
};

}  // namespace mlsysim::test
