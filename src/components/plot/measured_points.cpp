// Measured runs of serving engines, as points beside a front.

#include <mlsysim/plot/front_beside.hpp>

#include "detail/point_scenario.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/validation/measured_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace mlsysim {
namespace {

/// One run: what its two tables say of a line.
struct Run {
  double first = 0, later = 0;  // seconds
  std::shared_ptr<const void> inputs;
};
using Runs = std::map<std::pair<std::string, std::size_t>, Run>;  // by file and record

double number_of(std::span<const FieldInfo> fields, const void* inputs, std::string_view name) {
  const auto* f = find_field(fields, name);
  if (f == nullptr) return 1;
  const auto value = f->read(inputs);
  const auto* x = std::get_if<double>(&value);
  return x == nullptr ? 1 : *x;
}
std::string text_of(std::span<const FieldInfo> fields, const void* inputs, std::string_view name) {
  const auto* f = find_field(fields, name);
  if (f == nullptr) return {};
  const auto value = f->read(inputs);
  if (const auto* o = std::get_if<ObjectRef>(&value)) return std::string(spec_name(*o));
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

constexpr std::string_view kFirst = "closed_loop_first_token", kLater = "closed_loop_token_time";

}  // namespace

std::vector<MeasuredPoint> measured_points(const ExploreAnswer& answer, const Space& space,
                                           const Scenario& scenario, const Zoo& zoo) {
  Runs runs;
  std::span<const FieldInfo> fields;
  for (const auto& name : table_names()) {
    const auto table = load_table(name);
    if (table.measurand == nullptr) continue;
    const auto what = table.measurand->name();
    if (what != kFirst && what != kLater) continue;
    if (what == kLater) fields = table.measurand->inputs();
    for (auto& row : rows_of(table, zoo).rows) {
      auto& run = runs[{table.data.file(), row.row}];
      (what == kFirst ? run.first : run.later) = row.measured;
      if (what == kLater) run.inputs = std::move(row.inputs);
    }
  }
  Notes quiet;
  const ResolvedScenario asked(scenario, quiet);
  std::vector<std::string> devices;
  for (std::uint64_t outer = 0; outer < space.outer(); ++outer)
    if (const auto at = detail::scenario_at(scenario, space, outer * space.inner()); at.hardware != nullptr)
      devices.push_back(at.hardware->name);
  std::vector<MeasuredPoint> out;
  for (const auto& [where, at] : runs) {
    const auto& run = at;  // a name that lambdas may hold
    if (!(run.first > 0 && run.later > 0) || run.inputs == nullptr) continue;
    const auto number = [&](std::string_view name) { return number_of(fields, run.inputs.get(), name); };
    const auto text = [&](std::string_view name) { return text_of(fields, run.inputs.get(), name); };
    const double many = number("tp_size") * number("pp_size") * number("ep_size");
    if (text("workload") != scenario.workload->name || many != asked.accelerators() ||
        std::find(devices.begin(), devices.end(), text("hardware")) == devices.end())
      continue;
    const double batch = number("concurrency"), tokens = number("output_tokens"),
                 request = run.first + (tokens - 1) * run.later;
    const std::map<std::string_view, double> values{
        {"ttft", run.first},
        {"itl", run.later},
        {"request_latency", request},
        {"token_throughput", batch * tokens / request},
        {"throughput_per_accelerator", batch * tokens / request / many}};
    const auto x = values.find(answer.objectives[0].text), y = values.find(answer.objectives[1].text);
    if (x == values.end() || y == values.end()) return {};
    out.push_back({text("hardware"),
                   fmt::format("{} {}, batch {:g}, {:g} + {:g} tokens", text("engine"), text("precision"),
                               batch, number("seq_len"), tokens),
                   {x->second, y->second}});
  }
  return out;
}

}  // namespace mlsysim
