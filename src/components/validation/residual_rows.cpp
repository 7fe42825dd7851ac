#include <mlsysim/validation/residual_rows.hpp>

#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/specs/workload.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>

namespace mlsysim {
namespace {

/// Inputs of rows that count devices which work together.
bool counts_devices(std::string_view input) {
  return input == "accelerators" || input == "ranks" || input == "tp_size" || input == "pp_size" ||
         input == "ep_size";
}

/// Describes a row by its metric, device, engine or kernels, model and link.
ErrorSubject subject_of_row(const MeasuredTable& table, const MeasuredRow& row) {
  ErrorSubject s{.metric = std::string(table.measurand->metric()),
                 .device = {},
                 .generation = {},
                 .origin = table.name,
                 .family = row.group};
  const HardwareNode* device = nullptr;
  const Node* node = nullptr;
  double devices = 1;
  for (const FieldInfo& f : table.measurand->inputs()) {
    const Value v = f.read(row.inputs.get());
    if (const auto* n = std::get_if<double>(&v); n != nullptr && counts_devices(f.name))
      devices = std::max(devices, *n);
    const auto* o = std::get_if<ObjectRef>(&v);
    if (o == nullptr || o->object == nullptr) continue;
    if (o->type == ObjectType<HardwareNode>::name) device = static_cast<const HardwareNode*>(o->object);
    if (o->type == ObjectType<Node>::name) {
      node = static_cast<const Node*>(o->object);
      device = node->accelerator;
    }
    if (o->type == ObjectType<KernelFamily>::name)
      s.origin = static_cast<const KernelFamily*>(o->object)->name;
    if (o->type == ObjectType<ServingEngine>::name)
      note_engine(s, *static_cast<const ServingEngine*>(o->object));
    if (o->type == ObjectType<Workload>::name) s.family = static_cast<const Workload*>(o->object)->name;
  }
  note_device(s, device);
  if (device != nullptr) s.link = link_kind(*device, node, devices);
  return s;
}

/// Groups of a table, by device, origin, family and link, under these constants.
void add_groups(const MeasuredTable& table, std::span<const MeasuredRow> rows,
                const PredictionContext& context, bool unmeasured, std::vector<ResidualGroup>& out) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, ResidualGroup> of_table;
  for (const auto& row : rows) {
    auto s = subject_of_row(table, row);
    if (unmeasured && !s.measured) continue;
    const auto p = predict(*table.measurand, row.inputs.get(), context);
    if (!p.answered() || !(p.base > 0) || !(row.measured > 0)) continue;
    auto& group = of_table[{s.device, s.origin, s.family, s.link}];
    group.subject = std::move(s);
    group.subject.measured = group.subject.measured && !unmeasured;
    group.unmeasured = unmeasured;
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

}  // namespace

std::vector<ResidualGroup> residual_groups(std::span<const MeasuredTable> tables, const Zoo& zoo) {
  const Constants constants(conventions_of(zoo));
  Constants of_classes(conventions_of(zoo));
  std::deque<HardwareNode> unmeasured;
  for (const HardwareNode* device : zoo.all<HardwareNode>()) {
    unmeasured.push_back(as_of_its_class(*device));
    of_classes.stand_in(*device, unmeasured.back());
  }
  std::vector<ResidualGroup> out, again;
  for (const auto& table : tables) {
    if (table.measurand == nullptr) continue;
    const auto rows = rows_of(table, zoo).rows;
    const std::size_t before = out.size();
    add_groups(table, rows, {&zoo, &constants}, false, out);
    again.clear();
    add_groups(table, rows, {&zoo, &of_classes}, true, again);
    // Only what the figures of the class change says anything of its own.
    for (auto& g : again) {
      const auto& s = g.subject;
      const auto twin =
          std::find_if(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), [&](const auto& own) {
            const auto& o = own.subject;
            return !own.unmeasured && o.device == s.device && o.origin == s.origin && o.family == s.family &&
                   o.link == s.link;
          });
      if (twin == out.end() || twin->residuals != g.residuals) out.push_back(std::move(g));
    }
  }
  return out;
}

}  // namespace mlsysim
