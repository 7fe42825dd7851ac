// Measured rows that are like a scenario.

#include <mlsysim/plot/report_page.hpp>

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/validation/validate.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// Numbers that tell how far a row is from a scenario, by their names in both.
constexpr std::array<std::string_view, 7> kCompared{"batch_size", "concurrency",   "seq_len", "accelerators",
                                                    "tp_size",    "output_tokens", "pp_size"};

/// A number of the scenario by its name in `kCompared`; empty where the scenario does not state it.
std::optional<double> asked_number(const Scenario& s, const ResolvedScenario& r, std::string_view name) {
  if (name == "batch_size" || name == "concurrency") return s.batch_size;
  if (name == "seq_len") return r.seq_len();
  if (name == "accelerators") return r.accelerators();
  if (name == "tp_size") return r.tp_size();
  if (name == "pp_size") return s.pp_size;
  if (name == "output_tokens") return s.output_tokens;
  return std::nullopt;
}

const void* object_of(std::span<const FieldInfo> fields, const void* inputs, std::string_view type) {
  for (const auto& f : fields)
    if (f.kind == ValueKind::object && f.object_type == type)
      if (const auto value = f.read(inputs); std::holds_alternative<ObjectRef>(value))
        return std::get<ObjectRef>(value).object;
  return nullptr;
}

/// Whether a table measures what a mode asks for.
bool of_mode(const MeasuredTable& t, Mode mode) {
  const std::string_view topic = t.topic;
  return mode == Mode::train ? topic == "training" : topic == "inference" || topic == "energy";
}

struct Candidate {
  const MeasuredTable* table;
  MeasuredRow row;
  double distance;
  bool same_model;
};

}  // namespace

std::vector<NearRow> nearest_rows(const Scenario& scenario, const Zoo& zoo, std::size_t most) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  std::vector<MeasuredTable> tables;
  for (const auto& name : table_names()) {
    auto table = load_table(name);
    if (table.measurand != nullptr && table.unpredicted.empty() && of_mode(table, r.mode()))
      tables.push_back(std::move(table));
  }
  std::vector<Candidate> found;
  for (const auto& table : tables) {
    const auto fields = table.measurand->inputs();
    for (auto& row : rows_of(table, zoo).rows) {
      const void* device = object_of(fields, row.inputs.get(), ObjectType<HardwareNode>::name);
      if (device == nullptr || static_cast<const HardwareNode*>(device)->name != r.hardware().name) continue;
      const void* model = object_of(fields, row.inputs.get(), ObjectType<Workload>::name);
      double distance = 0;
      for (const auto name : kCompared) {
        const auto* f = find_field(fields, name);
        const auto asked = asked_number(scenario, r, name);
        if (f == nullptr || !asked) continue;
        const auto value = f->read(row.inputs.get());
        if (const auto* x = std::get_if<double>(&value); x != nullptr && *x > 0 && *asked > 0)
          distance += std::abs(std::log2(*x / *asked));
      }
      found.push_back(
          {&table, std::move(row), distance,
           model != nullptr && static_cast<const Workload*>(model)->name == scenario.workload->name});
    }
  }
  const bool any_same =
      std::any_of(found.begin(), found.end(), [](const Candidate& c) { return c.same_model; });
  std::erase_if(found, [&](const Candidate& c) { return c.same_model != any_same; });
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  const Constants constants(conventions_of(zoo));
  std::vector<NearRow> out;
  for (const auto& c : found) {
    if (out.size() == most) break;
    const auto p = predict(*c.table->measurand, c.row.inputs.get(), {.zoo = &zoo, .constants = &constants});
    if (!p.answered() || !(c.row.measured > 0)) continue;
    out.push_back({c.table->name, c.table->label(c.row.row), c.distance, c.row.measured, p.base,
                   std::string(c.table->measurand->unit())});
  }
  return out;
}

}  // namespace mlsysim
