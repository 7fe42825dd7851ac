#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/specs/system_extra.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// Dimensions that a topology's name ends in: torus_3d has 3; 0 where it names none.
int dimensions_of(std::string_view topology) {
  if (!topology.starts_with("torus_") || !topology.ends_with("d")) return 0;
  return std::clamp(topology[topology.size() - 2] - '0', 0, 3);
}

}  // namespace

std::vector<double> axes_of(const Pod& pod) {
  if (!pod.axes.empty()) return pod.axes;
  std::vector<double> sides;
  double left = pod.chips;
  for (int more = dimensions_of(pod.topology); more > 0; --more) {
    const double side = detail::divisor_at_most(std::round(std::pow(left, 1.0 / more)), left);
    sides.push_back(side);
    left /= side;
  }
  return sides;
}

Node node_of(const Pod& pod) {
  Node node;
  node.name = pod.name;
  node.accelerator = pod.accelerator;
  node.accelerators_per_node = pod.chips;
  for (const double side : axes_of(pod))
    node.levels.push_back({.name = std::string(1, static_cast<char>('x' + node.levels.size())),
                           .peers = side,
                           .topology = LinkTopology::torus});
  return node;
}

}  // namespace mlsysim
