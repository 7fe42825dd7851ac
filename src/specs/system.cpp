#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/specs/detail/torus.hpp>
#include <mlsysim/specs/system_extra.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// Dimensions that a topology's name ends in: torus_3d has 3; 0 where it names none of 1 to 3.
int dimensions_of(std::string_view topology) {
  if (!topology.starts_with("torus_") || !topology.ends_with("d")) return 0;
  const int dimensions = topology[topology.size() - 2] - '0';
  return dimensions >= 1 && dimensions <= 3 ? dimensions : 0;
}

}  // namespace

std::vector<double> torus_sides(std::string_view topology, double devices) {
  const int dimensions = dimensions_of(topology);
  const auto most = [](double whole, double root) {
    return std::floor(std::pow(whole, 1 / root) * (1 + 1e-12));
  };
  if (dimensions < 3) {
    const double side = dimensions == 2 ? detail::divisor_at_most(most(devices, 2), devices) : devices;
    return dimensions == 0   ? std::vector<double>{}
           : dimensions == 1 ? std::vector{devices}
                             : std::vector{side, devices / side};
  }
  // The largest divisor is not always the best first side: 9216 is 16 x 24 x 24, and not 18 x 16 x 32.
  std::vector<double> best;
  double least = 0;
  for (double first = detail::divisor_at_most(most(devices, 3), devices);;
       first = detail::divisor_at_most(first - 1, devices)) {
    const double left = devices / first, second = detail::divisor_at_most(most(left, 2), left);
    const double around = first + second + left / second;
    if (best.empty() || around < least) best = {first, second, left / second}, least = around;
    if (first <= 1) break;
  }
  std::sort(best.begin(), best.end());
  return best;
}

std::vector<LinkLevel> torus_levels(std::span<const double> sides) {
  std::vector<LinkLevel> levels;
  for (const double side : sides)
    levels.push_back({.name = std::string(1, static_cast<char>('x' + levels.size())),
                      .peers = side,
                      .topology = LinkTopology::torus});
  return levels;
}

double joined_inside(const Fleet& fleet) {
  const double own = fleet.node->accelerators_per_node;
  return std::max(own, std::min(fleet.node->domain_accelerators.value_or(own), fleet.total_accelerators()));
}

std::vector<double> axes_of(const Pod& pod) {
  return pod.axes.empty() ? torus_sides(pod.topology, pod.chips) : pod.axes;
}

Node node_of(const Pod& pod) {
  Node node;
  node.name = pod.name;
  node.accelerator = pod.accelerator;
  node.accelerators_per_node = pod.chips;
  node.levels = torus_levels(axes_of(pod));
  return node;
}

}  // namespace mlsysim
