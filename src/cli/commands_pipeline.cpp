#include "observed.hpp"
#include "output.hpp"
#include "plugins.hpp"
#include "questions.hpp"

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/report/pipeline_report.hpp>
#include <mlsysim/report/resolver_report.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::cli {
namespace {

/// Words of a pipeline command: stages are words without '=', inputs are NAME=VALUE.
struct Parts {
  struct Stage {
    std::string resolver, instance;
  };
  std::vector<Stage> stages;
  std::vector<std::pair<std::string, std::string>> inputs;
};

Parts parts_of(const PipelineRequest& request) {
  Parts out;
  for (const auto& word : request.words) {
    if (const auto equals = word.find('='); equals != std::string::npos) {
      auto key = word.substr(0, equals);
      for (const auto& [other, text] : out.inputs)
        if (canonical_key(other) == canonical_key(key))
          throw InputError("mlsysim.cli.020", fmt::format("the input '{}' is given twice", key), key,
                           fmt::format("'{}' and '{}'", text, word.substr(equals + 1)), "one value",
                           "leave one out");
      out.inputs.emplace_back(std::move(key), word.substr(equals + 1));
    } else if (const auto colon = word.find(':'); colon != std::string::npos) {
      out.stages.push_back({word.substr(colon + 1), word.substr(0, colon)});
    } else {
      out.stages.push_back({word, ""});
    }
  }
  if (out.stages.empty())
    throw InputError("mlsysim.cli.100", "a pipeline needs a stage", "stage", "inputs only",
                     "names of resolvers", "mlsysim resolver list shows them");
  return out;
}

PipelineBuilder builder_of(const Parts& parts, const PipelineRequest& request) {
  PipelineBuilder builder("pipeline");
  builder.registry(ResolverRegistry::standard());
  for (const auto& stage : parts.stages) builder.stage(stage.resolver, stage.instance);
  for (const auto& [key, text] : parts.inputs) builder.given(key);
  for (const auto& link : request.links) {
    const auto equals = link.find('=');
    if (equals == std::string::npos)
      throw InputError("mlsysim.cli.101", "a link has two ends", "--link", fmt::format("'{}'", link),
                       "FROM=TO", "e.g. --link SingleNodeModel.latency=Other.time");
    builder.link(link.substr(0, equals), link.substr(equals + 1));
  }
  return builder;
}

/// A given key that no stage takes itself, such as a fleet that supplies the hardware.
DynamicValue implied_object(FieldReader& reader, std::string_view key, const std::string& text) {
  FieldInfo field;
  field.name = std::string(key);
  field.meaning = "supplies what the stages need";
  field.kind = ValueKind::object;
  field.object_type = key;
  return reader.read(field, text);
}

}  // namespace

Pipeline pipeline_asked(const PipelineRequest& request) {
  return builder_of(parts_of(request), request).build();
}

Answer resolver_list(const RenderOptions& options) {
  return {render(registry_table(ResolverRegistry::standard()), options)};
}

Answer resolver_show(const std::string& name, const RenderOptions& options) {
  return {render(ResolverRegistry::standard().at(name), options)};
}

namespace {

Answer pipeline_observed(const PipelineRequest& request, const RenderOptions& options, Callback* observer) {
  const auto parts = parts_of(request);
  const auto pipeline = builder_of(parts, request).build();
  FieldReader reader(zoo());
  Run run(pipeline);
  for (const auto& [key, text] : parts.inputs) {
    const auto* field = pipeline.input(key);
    const auto name = canonical_key(key);
    if (field != nullptr)
      run.set(key, reader.read(*field, text));
    else
      run.set(key, implied_object(reader, name, text));
  }
  auto callbacks = plugin_callbacks();
  if (observer != nullptr) callbacks.push_back(observer);
  Answer out;
  try {
    run.execute({.callbacks = std::move(callbacks),
                 .callback_faults = CallbackFaults::raise,
                 .fail_fast = request.fail_fast,
                 .notes = true});
  } catch (const Error& error) {
    // Stages that do not need the one that failed have their answers all the same.
    if (run.report().executed == 0) throw;
    out.diagnostics = error_text(error);
    out.exit = Exit::bad_input;
  }
  out.payload = render(run, options);
  if (out.exit != Exit::fine) return out;
  for (const auto& stage : run.stages())
    if (stage.status() == StageStatus::infeasible || stage.does_not_fit()) out.exit = Exit::infeasible;
  return out;
}

}  // namespace

Answer pipeline_run(const PipelineRequest& request, const RenderOptions& options) {
  Observed observed;
  return observed.around([&] { return pipeline_observed(request, options, observed.observer()); });
}

Answer pipeline_show(const PipelineRequest& request, const std::string& form) {
  const auto pipeline = pipeline_asked(request);
  std::string text;
  if (form == "dot")
    text = pipeline.to_dot();
  else if (form == "mermaid")
    text = pipeline.to_mermaid();
  else if (form == "json")
    text = pipeline.to_json();
  else
    text = pipeline.show();
  if (text.empty() || text.back() != '\n') text += '\n';
  return {std::move(text)};
}

}  // namespace mlsysim::cli
