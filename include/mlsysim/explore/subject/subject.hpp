#pragma once
/// Subject: a scenario or a resolver as one function from its input numbers to its results, at a starting
/// point.
///
/// Sensitivity, solve, uncertainty, comparison and search all work on a Subject. A law is recorded on a tape,
/// so that derivatives and bounds are exact. Other resolvers are called again and again.
/// Example: Llama3_70B on 8x H100, 16 requests in one burst, 512 out: 97 inputs, 55 results. At
/// `hardware.memory.bandwidth` 3.35 TB/s `itl` is 11.11 ms. With twice the bandwidth it is 8.05 ms.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/resolver_api/resolver.hpp>
#include <mlsysim/tape/derivation.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

/// A parameter of the zoo that states a range, and the input that it feeds.
struct EstimatedFigure {
  std::string input;         ///< of the subject
  std::string figure;        ///< "default.memory_share", "M3 memory.bandwidth"
  std::string source;        ///< kind and reference: "estimate, azure-ai-benchmarking"
  double low = 0, high = 0;  ///< of the input where the figure is at the ends of its range, base unit
};

/// A law with the point that questions start from.
///
/// `entry.is_law()` tells whether derivatives and bounds are exact; if not, tools take differences and say
/// so.
struct Subject {
  std::string title;  ///< "Llama3_70B on 8 x H100, serve, 16 requests kept in flight, 2048 tokens in, ..."
  std::string setting{};  ///< of these words those of load, lengths and software, behind a comma
  LawEntry entry;
  std::vector<double> point;  ///< canonical base units, one per input of the entry
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  std::string
      unmeasured{};         ///< says that the device is known by its class alone; empty where it was measured
  bool thread_safe = true;  ///< whether points may be evaluated on several threads
  /// Results that subjects of this kind have and this one lacks, each with the reason: {"tco", "the price of
  /// ..."}.
  std::vector<std::pair<std::string, std::string>> absent{};
  /// Figures of the zoo with a range, found by moving each to its ends; empty where the inputs were all
  /// given. Valid while what the scenario points to is.
  std::function<std::vector<EstimatedFigure>()> estimates{};

  /// The derivation of a result at a point, with the operations of these laws; empty where `derive_result` of
  /// the entry says it.
  std::function<Derivation(std::span<const double> point, std::size_t result,
                           std::span<const std::string> open)>
      derive{};

  /// Index of an input or result; also by its name in the scorecard ("performance.ttft").
  /// @throws LookupError with near misses
  [[nodiscard]] std::size_t input(std::string_view name) const;
  [[nodiscard]] std::size_t result(std::string_view name) const;
};

/// A scenario as a law from its numbers, and every zoo figure behind it, to its scorecard.
///
/// Inputs: the numbers of Scenario that its mode uses ("batch_size", "tp_size"), the figures of device,
/// network, facility and model as the views hold them ("hardware.memory.bandwidth", "links.level1.bandwidth",
/// "facility.pue", "workload.stacks[0].hidden"), and the remaining members of the plan ("plan.weight_bytes").
/// Results: the metrics of the scorecard with their names and units, the times behind them, and `plan_fits`,
/// 1 where the plan is one that eval accepts: the devices fill their nodes, the parallel degrees divide
/// devices and model, and the prompt is longer than its cached part. The number of devices varies at a fixed
/// number per node.
/// @param varied fields of Scenario that will vary: no default is derived from them
/// @throws what SystemEvaluator::evaluate throws
[[nodiscard]] Subject subject_of(const Scenario& scenario, std::span<const std::string> varied = {});

/// `subject_of(scenario)` with the named inputs. An input that was not given gets the value that changes
/// nothing: a power cap is the device's TDP, a clock limit is none.
[[nodiscard]] Subject subject_with(const Scenario& scenario, std::span<const std::string> inputs);

/// Figures of the zoo with a range behind the inputs of `subject_of(scenario)`: defaults, the device, node
/// and fabric, the grid and the facility. An estimate whose source states a spread has that range about its
/// value.
[[nodiscard]] std::vector<EstimatedFigure> estimates_behind(const Scenario& scenario);

/// A resolver at these inputs: its law where it is one, else calls of the resolver. Inputs are the numeric
/// fields that have a value, then the figures of the specs that fields point to, under the path of the zoo's
/// files: "hardware.memory.bandwidth", "fleet.node.accelerator.power.tdp", "conventions.textbook_efficiency".
/// A figure moves on a copy of its spec. Results are all numeric fields; where one is absent, or the resolver
/// has no answer, it is not a number.
/// @param inputs a live struct of the resolver; copied field by field
[[nodiscard]] Subject subject_of(std::shared_ptr<const Resolver> resolver, const void* inputs);

}  // namespace mlsysim
