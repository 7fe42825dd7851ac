#pragma once
/// Builds a pipeline from stages, links and given keys, and reports all problems at once.
///
/// An input takes its value from a link. Else from the given value or the stage result of its key, else from
/// an object that implies it, else from its default. Two sources of one key are an error.
/// Example: a stage of energy without its inputs, and a stage name without a registry, throw one
/// PipelineBuildError with 3 problems: no registry, no power, no duration_days.

#include <mlsysim/pipeline/adapters.hpp>
#include <mlsysim/pipeline/pipeline.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// All problems of a pipeline that cannot be built.
class PipelineBuildError : public PipelineError {
 public:
  PipelineBuildError(const std::string& pipeline, std::vector<ErrorFacts> problems);
  [[nodiscard]] const std::vector<ErrorFacts>& problems() const noexcept { return problems_; }

 private:
  std::vector<ErrorFacts> problems_;
};

/// Collects stages, links and given keys. `build()` checks all of them and makes the Pipeline.
///
/// The order of stages follows the links. The order in which they were added only breaks ties.
class PipelineBuilder {
 public:
  explicit PipelineBuilder(std::string name = "Pipeline") : name_(std::move(name)) {}

  /// Where stages are looked up by name, and who could produce a missing key. It outlives the builder.
  PipelineBuilder& registry(const ResolverRegistry& registry);
  /// Replaces the table of implications.
  PipelineBuilder& adapters(const AdapterTable& adapters);

  /// Adds a stage. @param instance its name; by default that of the resolver, the second one with "_2"
  PipelineBuilder& stage(std::shared_ptr<const Resolver> resolver, std::string instance = {});
  /// Adds a stage of the registry. An unknown name is reported by `build()`.
  PipelineBuilder& stage(std::string_view resolver, std::string instance = {});
  /// Adds a stage of a resolver type: `.stage(PowerEfficiencyModel{})`.
  template <class R>
    requires(detail::HasPlainStructs<R> || detail::HasTemplateStructs<R>)
  PipelineBuilder& stage(R resolver, std::string instance = {}) {
    return stage(std::shared_ptr<const Resolver>(make_resolver(std::move(resolver))), std::move(instance));
  }

  /// Connects a result to an input: `.link("A.latency", "B.time")`; a given key may stand on the left.
  PipelineBuilder& link(std::string_view from, std::string_view to);
  /// Declares a key that every run supplies; "Stage.input" for the input of one stage.
  PipelineBuilder& given(std::string_view key);
  /// Declares a key with a value that runs may replace.
  PipelineBuilder& given(std::string_view key, DynamicValue value);

  /// @throws PipelineBuildError listing all problems
  [[nodiscard]] Pipeline build() const;

 private:
  friend class PipelineAssembler;
  struct StageRequest {
    std::shared_ptr<const Resolver> resolver;  // null when the registry has none of this name
    std::string wanted;
    std::string instance;
  };
  struct LinkRequest {
    std::string from, to;
  };
  struct GivenRequest {
    std::string key;
    std::optional<DynamicValue> value;
  };

  std::string name_;
  const ResolverRegistry* registry_ = nullptr;
  const AdapterTable* adapters_ = &AdapterTable::standard();
  std::vector<StageRequest> stages_;
  std::vector<LinkRequest> links_;
  std::vector<GivenRequest> givens_;
};

}  // namespace mlsysim
