// Which inputs of a scenario rest on figures that the zoo gives with a range.

#include "explore/subject/scenario_point.hpp"
#include "explore/subject/spec_ranges.hpp"

#include <mlsysim/resolvers/defaults.hpp>

#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

std::string source_text(const Source& source) {
  return source.ref.empty() ? std::string(name_of(source.kind))
                            : fmt::format("{}, {}", name_of(source.kind), source.ref);
}

/// Moves one figure after the other to both ends of its range and looks which inputs follow.
class Prober {
 public:
  explicit Prober(const Scenario& scenario) : scenario_(scenario), point_(scenario) {}

  /// `put(scenario, x)` gives the figure the value x.
  template <class Put>
  void probe(const std::string& figure, const std::string& source, double low, double high, Put&& put) {
    const auto& inputs = point_.base().entry.inputs;
    const auto& here = point_.base().point;
    const auto at = [&](double x) -> std::vector<double> {
      try {
        Scenario s = scenario_;
        put(s, x);
        auto moved = point_.at(s);
        // Another structure has other inputs: then the ends cannot be compared.
        return moved.size() == here.size() ? moved : here;
      } catch (const Error&) {
        return here;  // the end of the range is not admissible here
      }
    };
    const auto below = at(low), above = at(high);
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double a = std::min({below[i], above[i], here[i]}), b = std::max({below[i], above[i], here[i]});
      if (!(a < b) || !std::isfinite(a) || !std::isfinite(b)) continue;
      const std::string& input = inputs[i].name;
      // Two figures behind one input: the wider range is used.
      const auto known = std::find_if(found.begin(), found.end(),
                                      [&](const EstimatedFigure& f) { return f.input == input; });
      if (known == found.end())
        found.push_back({input, figure, source, a, b});
      else if (known->high - known->low < b - a)
        *known = {input, figure, source, a, b};
    }
  }

  /// All figures of a spec with a range. `put(scenario, changed spec)` puts the changed spec in its place.
  template <class Spec, class Put> void spec(const Spec& spec, Put&& put) {
    if (spec.entry == nullptr) return;
    Spec changed = spec;
    for_each_member(field_table<Spec>(), &changed, [&](const MemberPlace& place) {
      double* const now = number_in(place.type, place.member);
      const Figure* figure = spec.entry->figure(place.path);
      if (now == nullptr || figure == nullptr) return;
      const Source& source = spec.entry->source_of(place.path);
      const double own = *now;
      const auto range = range_of(*figure, source);
      // A figure that the caller changed is the caller's.
      if (!range || own != figure->base) return;
      probe(fmt::format("{} {}", spec.name, place.path), source_text(source), range->first, range->second,
            [&](Scenario& s, double x) {
              *now = x;
              put(s, changed);
            });
      *now = own;
    });
  }

  /// Figures with a range that the device's class or a family of kernels gives. `put` as in `spec`.
  template <class Put> void of_class(const HardwareNode& device, const Conventions& conventions, Put&& put) {
    for (const auto& row : figure_rows()) {
      const auto f = filled(row, device, conventions);
      if (!f) continue;
      const auto written = authored(*f, row);
      if (!written.range) continue;
      probe(fmt::format("{} {}", f->giver(), row.path), source_text(*written.source), written.range->first,
            written.range->second, [&](Scenario& s, double x) {
              HardwareNode changed = device;
              row.state(changed, x);
              put(s, changed);
            });
    }
  }

  std::vector<EstimatedFigure> found;

 private:
  const Scenario& scenario_;
  detail::ScenarioPoint point_;
};

/// Inputs of a resolver that are figures of specs: "hardware.memory.bandwidth" is one of the spec's own.
class SpecRanges {
 public:
  SpecRanges(std::span<const FieldInfo> inputs, std::span<const double> point)
      : inputs_(inputs), point_(point) {}

  void spec(const std::string& prefix, const ObjectRef& o) {
    if (o.type == ObjectType<HardwareNode>::name) device(prefix, as<HardwareNode>(o));
    if (o.type == ObjectType<Node>::name) node(prefix, as<Node>(o));
    if (o.type == ObjectType<NetworkFabric>::name) entry(prefix, as<NetworkFabric>(o));
    if (o.type == ObjectType<GridProfile>::name) entry(prefix, as<GridProfile>(o));
    if (o.type == ObjectType<Datacenter>::name) entry(prefix, as<Datacenter>(o));
    if (o.type == ObjectType<ServingEngine>::name) entry(prefix, as<ServingEngine>(o));
    if (o.type == ObjectType<Fleet>::name) {
      const auto& fleet = as<Fleet>(o);
      if (fleet.node != nullptr) node(prefix + ".node", *fleet.node);
      if (fleet.fabric != nullptr) entry(prefix + ".fabric", *fleet.fabric);
    }
  }
  void conventions() {
    for (const auto& field : describe<Conventions>()) {
      if (field.kind == ValueKind::object) continue;
      const ScalarFigure& figure = standard_zoo().scalar("default." + field.name);
      if (figure.entry == nullptr) continue;
      const Figure* value = figure.entry->figure("value");
      if (value != nullptr)
        add_written("conventions." + field.name, figure.name, *value, figure.entry->source_of("value"));
    }
  }

  std::vector<EstimatedFigure> found;

 private:
  template <class Spec> static const Spec& as(const ObjectRef& o) {
    return *static_cast<const Spec*>(o.object);
  }
  void node(const std::string& prefix, const Node& n) {
    entry(prefix, n);
    if (n.accelerator != nullptr) device(prefix + ".accelerator", *n.accelerator);
  }
  void device(const std::string& prefix, const HardwareNode& d) {
    entry(prefix, d);
    const Conventions& conventions = conventions_or_standard(nullptr);
    for (const auto& row : figure_rows()) {
      const auto f = filled(row, d, conventions);
      if (!f) continue;
      const auto written = authored(*f, row);
      if (written.range)
        add(fmt::format("{}.{}", prefix, row.path), fmt::format("{} {}", f->giver(), row.path), f->base,
            *written.source, *written.range);
    }
  }
  template <class Spec> void entry(const std::string& prefix, const Spec& spec) {
    if (spec.entry == nullptr) return;
    for (const auto& figure : spec.entry->figures)
      add_written(fmt::format("{}.{}", prefix, figure.path), fmt::format("{} {}", spec.name, figure.path),
                  figure, spec.entry->source_of(figure.path));
  }
  void add_written(const std::string& input, std::string figure, const Figure& written,
                   const Source& source) {
    if (const auto range = range_of(written, source))
      add(input, std::move(figure), written.base, source, *range);
  }
  /// A figure that the caller changed is the caller's.
  void add(const std::string& input, std::string figure, double base, const Source& source,
           std::pair<double, double> range) {
    const auto at = std::ranges::find(inputs_, input, &FieldInfo::name);
    if (at == inputs_.end()) return;
    const double here = point_[static_cast<std::size_t>(at - inputs_.begin())];
    if (std::abs(here - base) > 1e-9 * std::abs(here)) return;
    found.push_back({input, std::move(figure), source_text(source), range.first, range.second});
  }

  std::span<const FieldInfo> inputs_;
  std::span<const double> point_;
};

}  // namespace

std::vector<EstimatedFigure> estimates_behind(const Scenario& scenario) {
  Prober prober(scenario);
  const Conventions& conventions = conventions_or_standard(scenario.conventions);
  for (const auto& field : describe<Conventions>()) {
    if (field.kind == ValueKind::object) continue;
    const ScalarFigure& figure = standard_zoo().scalar("default." + field.name);
    const Figure* authored = figure.entry == nullptr ? nullptr : figure.entry->figure("value");
    if (authored == nullptr || std::get<double>(field.read(&conventions)) != figure.value.base()) continue;
    const auto range = range_of(*authored, figure.entry->source_of("value"));
    if (!range) continue;
    Conventions changed = conventions;
    prober.probe(figure.name, source_text(figure.entry->source_of("value")), range->first, range->second,
                 [&](Scenario& s, double x) {
                   field.write(&changed, Value(x));
                   s.conventions = &changed;
                 });
  }
  // The places where a changed spec lives while its subject is made.
  HardwareNode device;
  Node node;
  NetworkFabric fabric;
  Fleet fleet;
  const auto in_fleet = [&](Scenario& s) {
    fleet = *scenario.fleet;
    node = *scenario.fleet->node;
    fleet.node = &node;
    s.fleet = &fleet;
  };
  if (scenario.hardware != nullptr) {
    const auto put = [&](Scenario& s, const HardwareNode& changed) {
      device = changed;
      s.hardware = &device;
    };
    prober.of_class(*scenario.hardware, conventions, put);
    prober.spec(*scenario.hardware, put);
  } else if (scenario.fleet != nullptr && scenario.fleet->node != nullptr) {
    if (scenario.fleet->node->accelerator != nullptr) {
      const auto put = [&](Scenario& s, const HardwareNode& changed) {
        in_fleet(s);
        device = changed;
        node.accelerator = &device;
      };
      prober.of_class(*scenario.fleet->node->accelerator, conventions, put);
      prober.spec(*scenario.fleet->node->accelerator, put);
    }
    prober.spec(*scenario.fleet->node, [&](Scenario& s, const Node& changed) {
      in_fleet(s);
      node = changed;
    });
    if (scenario.fleet->fabric != nullptr)
      prober.spec(*scenario.fleet->fabric, [&](Scenario& s, const NetworkFabric& changed) {
        in_fleet(s);
        fabric = changed;
        fleet.fabric = &fabric;
      });
  }
  GridProfile grid;
  if (scenario.grid != nullptr)
    prober.spec(*scenario.grid, [&](Scenario& s, const GridProfile& changed) {
      grid = changed;
      s.grid = &grid;
    });
  Datacenter datacenter;
  if (scenario.datacenter != nullptr)
    prober.spec(*scenario.datacenter, [&](Scenario& s, const Datacenter& changed) {
      datacenter = changed;
      s.datacenter = &datacenter;
    });
  return std::move(prober.found);
}

std::vector<EstimatedFigure> detail::spec_ranges(std::span<const FieldInfo> inputs,
                                                 std::span<const double> point,
                                                 std::span<const FieldInfo> fields,
                                                 std::span<const DynamicValue> values) {
  SpecRanges ranges(inputs, point);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto* o = std::get_if<ObjectRef>(&values[i].value);
    if (o != nullptr && o->object != nullptr) ranges.spec(fields[i].name, *o);
  }
  ranges.conventions();
  return std::move(ranges.found);
}

}  // namespace mlsysim
