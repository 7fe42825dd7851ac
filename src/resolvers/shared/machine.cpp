#include <mlsysim/resolvers/machine.hpp>

#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace mlsysim {
namespace {

/// Nodes that nobody describes have up to so many devices.
constexpr double kUsual = 8;

const Pod* pod_of(const HardwareNode& hardware) {
  for (const Pod* pod : standard_zoo().all<Pod>())
    if (pod->accelerator->name == hardware.name) return pod;
  return nullptr;
}

/// A part of a node, with its part of the adapters.
void take_part(Node& node, double devices) {
  if (node.nics_per_node) *node.nics_per_node *= devices / node.accelerators_per_node;
  node.accelerators_per_node = devices;
  node.levels.clear();
}

void say(const Node& node, double devices, TextRef why, Notes& notes) {
  if (!notes.wanted()) return;
  const double nodes = std::ceil(devices / node.accelerators_per_node);
  notes.assume("machine", nodes > 1 ? fmt::format("{} x {}", nodes, node.name) : node.name, why);
}

}  // namespace

double devices_in(const HardwareNode& entry) {
  return entry.part == nullptr ? 1 : entry.accelerator_count / std::max(1.0, entry.part->accelerator_count);
}

const Node* reference_node(const HardwareNode& hardware) {
  static std::mutex mutex;
  static std::map<std::string, const Node*, std::less<>> found;
  const std::lock_guard lock(mutex);
  if (const auto at = found.find(hardware.name); at != found.end()) return at->second;
  // An entry is read when it is asked for: those first that are called after the device, as most are.
  const Zoo& zoo = standard_zoo();
  const auto names = zoo.names<Node>();
  for (const bool called_so : {true, false})
    for (const auto& name : names) {
      if ((name.find(hardware.name) != name.npos) != called_so) continue;
      const Node& node = zoo.at<Node>(name);
      if (node.reference && node.accelerator->name == hardware.name)
        return found.emplace(hardware.name, &node).first->second;
    }
  return found.emplace(hardware.name, nullptr).first->second;
}

std::string devices_name(const HardwareNode& hardware, double devices, std::optional<double> per_node) {
  const auto counted = [](double count, const std::string& name) {
    return count > 1 ? fmt::format("{:g} x {}", count, name) : name;
  };
  // A rack is the domain of its links, or one node: most devices have neither, and their entries are not
  // read.
  const Node* reference = devices > kUsual ? reference_node(hardware) : nullptr;
  const double domain =
      reference != nullptr ? reference->domain_accelerators.value_or(0) : per_node.value_or(0);
  if (domain > kUsual && std::fmod(devices, domain) == 0)
    for (const auto* rack : standard_zoo().all<HardwareNode>()) {
      if (rack->part == nullptr || rack->part->name != hardware.name) continue;
      const double held = devices_in(*rack);
      if (std::fmod(devices, held) == 0 && per_node.value_or(held) == held)
        return counted(devices / held, rack->name);
    }
  return counted(devices, hardware.name);
}

Node shipped_node(const HardwareNode& hardware, double devices, Notes& notes) {
  Node node;
  node.name = "a node of " + hardware.name;
  node.accelerators_per_node = std::min(devices, kUsual);
  TextRef why = "no machine is known in which the device ships: up to 8 devices share a node";
  if (const Node* reference = devices > 1 ? reference_node(hardware) : nullptr) {
    node = *reference;
    why = "the machine in which the device ships";
    const double own = node.accelerators_per_node, domain = node.domain_accelerators.value_or(own);
    double part = std::min(own, devices);
    // The devices of a domain may be of any number of trays.
    if (domain > own) part = detail::divisor_at_most(part, devices);
    if (part < own) take_part(node, part);
  } else if (const Pod* pod = devices > 1 ? pod_of(hardware) : nullptr) {
    Pod slice = *pod;
    if (devices < pod->chips) slice.chips = devices, slice.axes.clear();
    node = node_of(slice);
    why = "the least torus of the pod in which the device ships";
  }
  node.accelerator = &hardware;
  if (devices > 1) say(node, devices, why, notes);
  return node;
}

Links<> shipped_links(const FidelityModel& fidelity_model, const HardwareNode& hardware, double devices,
                      const Conventions& conventions, Notes& notes, Phase phase) {
  const Node node = shipped_node(hardware, devices, notes);
  Fleet fleet;
  fleet.name = node.name;
  fleet.node = &node;
  fleet.count = std::ceil(devices / node.accelerators_per_node);
  return fidelity_model.links(fleet, conventions, notes, phase);
}

}  // namespace mlsysim
