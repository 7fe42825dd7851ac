#include "usual_space.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/reflect/detail/aliases.hpp>
#include <mlsysim/reflect/label.hpp>
#include <mlsysim/resolver_api/detail/name_list.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

/// Model chunks of a device that a pipeline of `pp` stages may have: those that share the layers evenly, with
/// or without the two ends of the model as chunks of their own.
std::vector<double> chunks_of(double pp, double layers) {
  std::vector<double> out{1};
  for (double v = 2; pp > 1 && v <= ParallelismOptimizer::Inputs{}.max_v_stages; ++v)
    if (std::fmod(layers, pp * v) == 0 || std::fmod(layers + 2, pp * v) == 0) out.push_back(v);
  return out;
}

/// Tensor and pipeline parallelism of which a replica has at most `devices`, with the chunks of each
/// pipeline.
std::string interleaved_degrees(double devices, double layers) {
  std::vector<std::string> out;
  for (double tp = 1; tp <= devices; ++tp)
    for (double pp = 1; std::fmod(devices, tp) == 0 && pp <= devices / tp; ++pp)
      if (std::fmod(devices / tp, pp) == 0)
        for (const double v : chunks_of(pp, layers)) out.push_back(fmt::format("{}x{}x{}", tp, pp, v));
  return fmt::format("tp_size,pp_size,v_stages={}", fmt::join(out, ","));
}

/// The axes of a search over the parallelism of a plan, as far as the request does not fix it.
void add_parallelism(const Scenario& scenario, double devices, bool trains,
                     const std::function<bool(const char*)>& is_free, std::vector<std::string>& axes) {
  const auto layers = scenario.workload != nullptr ? scenario.workload->layers() : std::nullopt;
  const bool interleaves = trains && layers && is_free("v_stages");
  if (devices > 1 && is_free("tp_size") && is_free("pp_size"))
    axes.push_back(interleaves ? interleaved_degrees(devices, *layers)
                               : fmt::format("tp_size,pp_size=degrees({})", devices));
  else if (interleaves && scenario.pp_size > 1)
    axes.push_back(fmt::format("v_stages={}", fmt::join(chunks_of(scenario.pp_size, *layers), ",")));
  if (devices > 1 && is_free("ep_size") && scenario.workload != nullptr && scenario.workload->is_moe())
    axes.push_back(fmt::format("ep_size=divisors({})", devices));
}

/// The names of axes, as a reader says them.
std::vector<std::string> labels_of(const std::vector<std::string>& axes) {
  std::vector<std::string> out;
  for (const auto& axis : axes) {
    std::string_view names = std::string_view(axis).substr(0, axis.find('='));
    while (!names.empty()) {  // an axis may have several
      const auto comma = std::min(names.find(','), names.size());
      out.push_back(label_of(names.substr(0, comma)));
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  }
  return out;
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
    add_parallelism(scenario, devices, trains, is_free, asked.axes);
    if (trains) {
      if (is_free("microbatch_size", "microbatch_count")) asked.axes.emplace_back("microbatch_size=1..16*2");
      if (devices > 1 && is_free("zero_stage")) asked.axes.emplace_back("zero_stage=0,1,2,3");
      if (is_free("recomputation")) asked.axes.emplace_back("recomputation=none,selective,full");
    } else if (is_free("batch_size", "concurrency", "burst", "arrival_rate")) {
      asked.axes.push_back(fmt::format("{}={}", serves ? "concurrency" : "batch_size",
                                       counts_up_to(kMostRequestsPerDevice * devices)));
    }
    if (asked.axes.empty()) return {};  // all is fixed: the space says that it needs an axis
    said = fmt::format("no --axis: searched {}", fmt::join(labels_of(asked.axes), ", "));
    if (said.find("virtual") != std::string::npos)
      said += fmt::format("; at most {:g} virtual stages", ParallelismOptimizer::Inputs{}.max_v_stages);
    if (trains && devices > 1 && is_free("cp_size"))
      said += "; context parallelism stayed 1: add --axis cp_size=1,2,4 to axes of your own";
    if (trains && asked.show.empty()) asked.show.emplace_back("mfu");
  }
  if (!has_goal) {
    add_usual_goals(scenario, serves, trains, asked);
    if (serves && asked.command == "optimize" && asked.show.empty()) asked.show = {"ttft", "itl"};
    auto goals = asked.maximize;
    goals.insert(goals.end(), asked.minimize.begin(), asked.minimize.end());
    said += fmt::format("{}no objective: {}", said.empty() ? "" : "; ", fmt::join(goals, ", "));
  }
  return said;
}

}  // namespace mlsysim::cli
