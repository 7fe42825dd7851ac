#pragma once
/// A built pipeline: an immutable graph of resolver stages without data. A Run holds the data.
///
/// Copies share the graph, and several threads may use it.
/// Example: stages of power, energy and carbon with a given fleet. `show()` has the line "hardware <- given
/// 'fleet' -> node -> hardware": the fleet implies the device that the stage of power needs.

#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/resolver_api/resolver.hpp>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim {

class Run;
struct RunOptions;
namespace detail {
struct PipelineGraph;
}

/// A value under its key: `{"workload", &llama}`.
using Supplied = std::pair<std::string_view, DynamicValue>;

/// A typed graph of resolvers, made by PipelineBuilder.
class Pipeline {
 public:
  explicit Pipeline(std::shared_ptr<const detail::PipelineGraph> graph) : graph_(std::move(graph)) {}

  [[nodiscard]] const std::string& name() const;
  /// Number of stages.
  [[nodiscard]] std::size_t size() const;
  /// Names of the stages in the order in which they run.
  [[nodiscard]] std::vector<std::string> stages() const;
  /// The resolver of a stage. @throws LookupError with near misses
  [[nodiscard]] const Resolver& resolver(std::string_view stage) const;
  /// Keys that a run must be given, in order of declaration; those with a value of their own may be left out.
  [[nodiscard]] std::vector<std::string> given() const;

  /// The input that a given key feeds: of one stage for "Stage.input", else the first of this name; null
  /// where the key is an object that only implies others, as a fleet does its devices.
  [[nodiscard]] const FieldInfo* input(std::string_view key) const;

  /// Runs once: sets the values, executes, and hands back the run with all results.
  /// @throws InputError for missing values; what a stage throws, with "in stage 'X'" added
  [[nodiscard]] Run run(std::initializer_list<Supplied> values) const;
  [[nodiscard]] Run run(std::span<const Supplied> values, const RunOptions& options) const;

  /// The stages, and where each input comes from, as lines of text.
  [[nodiscard]] std::string show() const;
  /// The graph for Graphviz.
  [[nodiscard]] std::string to_dot() const;
  /// The graph for Mermaid.
  [[nodiscard]] std::string to_mermaid() const;
  /// Stages, fields and edges as JSON.
  [[nodiscard]] std::string to_json() const;

  [[nodiscard]] const detail::PipelineGraph& graph() const { return *graph_; }

 private:
  std::shared_ptr<const detail::PipelineGraph> graph_;
};

}  // namespace mlsysim
