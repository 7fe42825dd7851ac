#include <mlsysim/pipeline/builder.hpp>

#include "detail/assembler.hpp"

#include <fmt/format.h>

namespace mlsysim {

namespace {

ErrorFacts joined(const std::string& pipeline, const std::vector<ErrorFacts>& problems) {
  ErrorFacts facts{.id = "mlsysim.pipeline.015",
                   .message = fmt::format("pipeline '{}' cannot be built: {} problem{}", pipeline,
                                          problems.size(), problems.size() == 1 ? "" : "s")};
  for (const auto& p : problems) facts.message += "\n  - " + render(p);
  return facts;
}

}  // namespace

PipelineBuildError::PipelineBuildError(const std::string& pipeline, std::vector<ErrorFacts> problems)
    : PipelineError(joined(pipeline, problems)), problems_(std::move(problems)) {}

PipelineBuilder& PipelineBuilder::registry(const ResolverRegistry& registry) {
  registry_ = &registry;
  return *this;
}

PipelineBuilder& PipelineBuilder::adapters(const AdapterTable& adapters) {
  adapters_ = &adapters;
  return *this;
}

PipelineBuilder& PipelineBuilder::stage(std::shared_ptr<const Resolver> resolver, std::string instance) {
  auto wanted = resolver->info().name;
  stages_.push_back({std::move(resolver), std::move(wanted), std::move(instance)});
  return *this;
}

PipelineBuilder& PipelineBuilder::stage(std::string_view resolver, std::string instance) {
  auto found =
      registry_ != nullptr && registry_->find(resolver) != nullptr ? registry_->share(resolver) : nullptr;
  stages_.push_back({std::move(found), std::string(resolver), std::move(instance)});
  return *this;
}

PipelineBuilder& PipelineBuilder::link(std::string_view from, std::string_view to) {
  links_.push_back({std::string(from), std::string(to)});
  return *this;
}

PipelineBuilder& PipelineBuilder::given(std::string_view key) {
  givens_.push_back({std::string(key), std::nullopt});
  return *this;
}

PipelineBuilder& PipelineBuilder::given(std::string_view key, DynamicValue value) {
  givens_.push_back({std::string(key), std::move(value)});
  return *this;
}

Pipeline PipelineBuilder::build() const { return Pipeline(PipelineAssembler(*this).assemble()); }

}  // namespace mlsysim
