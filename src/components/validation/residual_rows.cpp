#include <mlsysim/validation/residual_rows.hpp>

#include <mlsysim/specs/device_class.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/workload.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace mlsysim {
namespace {

/// The class of a generation, or of what stands nearest to the device.
std::string class_of(const HardwareNode& device) {
  return device.device_class != nullptr ? device.device_class->name : std::string();
}

/// What the inputs of a row say about it.
ErrorSubject subject_of_row(const MeasuredTable& table, const MeasuredRow& row) {
  ErrorSubject s{.metric = std::string(table.measurand->metric()),
                 .device = {},
                 .generation = {},
                 .origin = table.name,
                 .family = row.group};
  for (const FieldInfo& f : table.measurand->inputs()) {
    const Value v = f.read(row.inputs.get());
    const auto* o = std::get_if<ObjectRef>(&v);
    if (o == nullptr || o->object == nullptr) continue;
    const HardwareNode* device = nullptr;
    if (o->type == ObjectType<HardwareNode>::name) device = static_cast<const HardwareNode*>(o->object);
    if (o->type == ObjectType<Node>::name) device = static_cast<const Node*>(o->object)->accelerator;
    if (device != nullptr) {
      s.device = device->name;
      s.generation = class_of(*device);
    }
    if (o->type == ObjectType<ServingEngine>::name)
      s.origin = static_cast<const ServingEngine*>(o->object)->name;
    if (o->type == ObjectType<Workload>::name) s.family = static_cast<const Workload*>(o->object)->name;
  }
  return s;
}

}  // namespace

std::vector<ResidualGroup> residual_groups(std::span<const MeasuredTable> tables, const Zoo& zoo) {
  const Constants constants(conventions_of(zoo));
  const PredictionContext context{&zoo, &constants};
  std::vector<ResidualGroup> out;
  for (const auto& table : tables) {
    if (table.measurand == nullptr) continue;
    std::map<std::tuple<std::string, std::string, std::string>, ResidualGroup> of_table;
    for (const auto& row : rows_of(table, zoo).rows) {
      const auto p = predict(*table.measurand, row.inputs.get(), context);
      if (!p.answered() || !(p.base > 0) || !(row.measured > 0)) continue;
      auto s = subject_of_row(table, row);
      auto& group = of_table[{s.device, s.origin, s.family}];
      group.subject = std::move(s);
      group.table = table.name;
      ++group.rows;
      const double residual = std::log(row.measured / p.base);
      group.residuals.push_back(table.measurand->kind() == MeasurandKind::rate ? -residual : residual);
    }
    for (auto& [key, group] : of_table) {
      group.residuals = thinned(std::move(group.residuals));
      out.push_back(std::move(group));
    }
  }
  return out;
}

}  // namespace mlsysim
