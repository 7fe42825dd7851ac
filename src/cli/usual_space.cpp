#include "usual_space.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace mlsysim::cli {
namespace {

constexpr double kMostRequestsPerDevice = 256;  // in flight
constexpr double kStepsPerOctave = 16;

/// Whole numbers from 1 to `most`, at most one sixteenth of an octave apart.
std::string counts_up_to(double most) {
  std::set<std::uint64_t> out;
  for (double k = 0; k <= kStepsPerOctave * std::log2(most); ++k)
    out.insert(static_cast<std::uint64_t>(std::round(std::exp2(k / kStepsPerOctave))));
  return fmt::format("{}", fmt::join(out, ","));
}

/// Whether an axis, "tp_size,pp_size=degrees(8)", varies one of these.
bool any_varies(const std::vector<std::string>& axes, std::initializer_list<std::string_view> inputs) {
  return std::any_of(axes.begin(), axes.end(), [&](const std::string& axis) {
    for (const auto name : names_in(std::string_view(axis).substr(0, axis.find('=')))) {
      const auto known = canonical_name(name);
      if (std::find(inputs.begin(), inputs.end(), known.empty() ? name : known) != inputs.end()) return true;
    }
    return false;
  });
}

/// Whether the devices and what they finish are given: then throughput tells no plan from another.
bool is_rate_fixed(const Scenario& s, const std::vector<std::string>& axes) {
  return s.arrival_rate &&
         !any_varies(axes, {"arrival_rate", "accelerators", "node_count", "accelerators_per_node",
                            "prefill_replicas", "decode_replicas"});
}

/// Adds the objectives of a search that names none.
void add_usual_goals(const Scenario& s, bool serves, bool trains, SearchRequest& asked) {
  const bool front = asked.command == "pareto";
  if (serves && is_rate_fixed(s, asked.axes)) {
    if (front)
      asked.minimize.insert(asked.minimize.end(), {"ttft", "itl"});
    else
      asked.minimize.emplace_back("request_latency");
    return;
  }
  const char* time = serves ? "itl" : trains ? "step_latency" : "latency";
  if (!trains) asked.maximize.emplace_back(serves ? "throughput_per_accelerator" : "throughput");
  if (trains || front) asked.minimize.emplace_back(time);
  if (trains && front) asked.minimize.emplace_back("memory_used");
}

}  // namespace

std::string fill_in_search(const Scenario& scenario, const ScenarioRequest& request, SearchRequest& asked) {
  const bool has_goal = !asked.minimize.empty() || !asked.maximize.empty();
  if ((asked.command != "optimize" && asked.command != "pareto") || (has_goal && !asked.axes.empty()))
    return {};
  Notes quiet;
  std::optional<ResolvedScenario> settled;
  try {
    settled.emplace(scenario, quiet);
  } catch (const DomainError&) {  // an axis may mend it, such as a number of devices
    if (!asked.axes.empty()) return {};
    throw;
  }
  const double devices = settled->accelerators();
  const bool serves = settled->mode() == Mode::serve, trains = settled->mode() == Mode::train;
  const auto is_free = [&](auto... names) { return (!request.fields.contains(names) && ...); };
  std::string said;
  if (asked.axes.empty()) {
    if (devices > 1 && is_free("tp_size", "pp_size"))
      asked.axes.push_back(fmt::format("tp_size,pp_size=degrees({})", devices));
    if (devices > 1 && is_free("ep_size") && scenario.workload != nullptr && scenario.workload->is_moe())
      asked.axes.push_back(fmt::format("ep_size=divisors({})", devices));
    if (trains) {
      if (is_free("microbatch_size", "microbatch_count")) asked.axes.emplace_back("microbatch_size=1..16*2");
      if (devices > 1 && is_free("zero_stage")) asked.axes.emplace_back("zero_stage=0,1,2,3");
      if (is_free("recomputation")) asked.axes.emplace_back("recomputation=none,selective,full");
    } else if (is_free("batch_size", "concurrency", "burst", "arrival_rate")) {
      asked.axes.push_back(fmt::format("{}={}", serves ? "concurrency" : "batch_size",
                                       counts_up_to(kMostRequestsPerDevice * devices)));
    }
    if (asked.axes.empty()) return {};  // all is fixed: the space says that it needs an axis
    std::vector<std::string> names;
    for (const auto& axis : asked.axes) {
      const auto name = axis.substr(0, axis.find('='));
      const auto comma = std::min(name.find(','), name.size());  // two numbers of one axis
      names.push_back(label_of(name.substr(0, comma)));
      if (comma < name.size()) names.push_back(label_of(name.substr(comma + 1)));
    }
    said = fmt::format("no --axis: searched {}", fmt::join(names, ", "));
  }
  if (!has_goal) {
    add_usual_goals(scenario, serves, trains, asked);
    auto goals = asked.maximize;
    goals.insert(goals.end(), asked.minimize.begin(), asked.minimize.end());
    said += fmt::format("{}no objective: {}", said.empty() ? "" : "; ", fmt::join(goals, ", "));
  }
  return said;
}

}  // namespace mlsysim::cli
