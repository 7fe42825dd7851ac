#include "detail/assembler.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {

using detail::kNone;

void PipelineAssembler::problem(std::string id, std::string message, std::string key, std::string found,
                                std::string expected, std::string hint) {
  problems_.push_back({.id = std::move(id),
                       .message = std::move(message),
                       .key = std::move(key),
                       .found = std::move(found),
                       .expected = std::move(expected),
                       .hint = std::move(hint)});
}

std::shared_ptr<const detail::PipelineGraph> PipelineAssembler::assemble() {
  graph_->name = builder_.name_;
  const auto adapters = builder_.adapters_->all();
  graph_->adapters.assign(adapters.begin(), adapters.end());
  if (builder_.stages_.empty())
    problem("mlsysim.pipeline.002", "a pipeline needs stages", "", "none", "at least one",
            "add one with .stage(...)");
  name_stages();
  declare_givens();
  connect_links();
  connect_by_key();
  report_unused_givens();
  sort_stages();
  if (!problems_.empty()) throw PipelineBuildError(graph_->name, std::move(problems_));
  finish();
  return graph_;
}

void PipelineAssembler::name_stages() {
  std::vector<std::string> taken;
  for (const auto& s : builder_.stages_)
    if (!s.instance.empty()) taken.push_back(s.instance);
  for (const auto& s : builder_.stages_) {
    if (!s.resolver) {
      if (builder_.registry_ == nullptr) {
        problem("mlsysim.pipeline.003", fmt::format("stage '{}' is given by name", s.wanted), s.wanted,
                "no registry to look it up in", "a registry",
                "call .registry(ResolverRegistry::standard()) or pass the resolver itself");
      } else {
        // Unknown, or a bare name that several have: the registry says which.
        try {
          (void)builder_.registry_->share(s.wanted);
        } catch (const LookupError& error) {
          problems_.push_back(error.facts());
        }
      }
      continue;
    }
    detail::PipelineStage stage;
    stage.resolver = s.resolver;
    stage.name = s.instance;
    const auto clash = [&](const std::string& name) { return graph_->find_stage(name) != kNone; };
    if (stage.name.empty()) {
      stage.name = s.resolver->info().name;
      const auto own = [&](const std::string& name) {
        return std::find(taken.begin(), taken.end(), name) != taken.end();
      };
      for (int n = 2; clash(stage.name) || own(stage.name); ++n)
        stage.name = fmt::format("{}_{}", s.resolver->info().name, n);
    } else if (clash(stage.name)) {
      problem("mlsysim.pipeline.005", fmt::format("two stages are called '{}'", stage.name), stage.name,
              "the name twice", "a name for each",
              fmt::format("leave the names out, or write .stage(..., \"{}_2\")", stage.name));
      continue;
    }
    stage.inputs.resize(s.resolver->inputs().size());
    for (std::size_t f = 0; f < stage.inputs.size(); ++f) {
      stage.inputs[f].field = f;
      const auto& info = s.resolver->inputs()[f];
      if (info.kind == ValueKind::number || info.kind == ValueKind::quantity)
        stage.inputs[f].range = BaseRange::of(info);
    }
    linked_.emplace_back(stage.inputs.size(), false);
    graph_->stages.push_back(std::move(stage));
  }
}

void PipelineAssembler::declare_givens() {
  for (const auto& g : builder_.givens_) {
    const std::string key(canonical_key(g.key));
    const auto known = graph_->find_given(key);
    if (known == kNone)
      graph_->givens.push_back({key, g.value, {}});
    else
      problem("mlsysim.pipeline.006", fmt::format("'{}' is given twice", key), key, "two values", "one",
              "remove one of them");
  }
}

PipelineAssembler::Pin PipelineAssembler::pin_of(const std::string& text, bool is_source) {
  Pin pin;
  if (is_source && graph_->find_given(text) != kNone) {
    pin.given = graph_->find_given(text);
    return pin;
  }
  const auto dot = text.find('.');
  const auto stage = text.substr(0, dot);
  const auto names = graph_->stage_names();
  pin.stage = graph_->find_stage(stage);
  if (pin.stage == kNone || dot == text.npos) {
    pin.stage = kNone;
    auto hint = did_you_mean(stage, names);
    if (dot == text.npos && hint.empty()) hint = "write \"Stage.field\"";
    problem("mlsysim.pipeline.007", fmt::format("the end '{}' of a link names no stage", text), text,
            fmt::format("'{}'", stage), fmt::format("one of {}", fmt::join(names, ", ")), hint);
    return pin;
  }
  const auto& r = *graph_->stages[pin.stage].resolver;
  const auto fields = is_source ? r.outputs() : r.inputs();
  const auto name = text.substr(dot + 1);
  std::vector<std::string> known;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    known.push_back(fields[f].name);
    if (fields[f].name == name || (!is_source && fields[f].name == canonical_key(name))) pin.field = f;
  }
  if (pin.field == kNone) {
    problem("mlsysim.pipeline.008",
            fmt::format("stage '{}' has no {} '{}'", stage, is_source ? "result" : "input", name), text,
            fmt::format("'{}'", name), fmt::format("one of {}", fmt::join(known, ", ")),
            did_you_mean(name, known));
    pin.stage = kNone;
  }
  return pin;
}

void PipelineAssembler::connect_links() {
  for (const auto& l : builder_.links_) {
    const auto from = pin_of(l.from, true);
    const auto to = pin_of(l.to, false);
    if (to.stage == kNone || (from.stage == kNone && from.given == kNone)) {
      // The mistake in the link is reported; the input it meant is not to be called missing as well.
      if (to.stage != kNone) linked_[to.stage][to.field] = true;
      continue;
    }
    if (linked_[to.stage][to.field]) {
      problem("mlsysim.pipeline.009", fmt::format("'{}' is linked twice", l.to), l.to, "two links", "one",
              "remove one of them");
      continue;
    }
    linked_[to.stage][to.field] = true;
    const Source source{from.stage, from.field, from.given, {}};
    graph_->stages[to.stage].inputs[to.field].sources.push_back(source);
    check_fit(source, to.stage, to.field, "linked to");
  }
}

void PipelineAssembler::connect_by_key() {
  for (std::size_t s = 0; s < graph_->stages.size(); ++s)
    for (std::size_t f = 0; f < graph_->stages[s].inputs.size(); ++f)
      if (!linked_[s][f]) meet(s, f);
}

std::vector<detail::PipelineSource> PipelineAssembler::direct_sources(std::size_t stage,
                                                                      const FieldInfo& field) const {
  std::vector<Source> found;
  if (field.shared) {
    for (std::size_t p = 0; p < graph_->stages.size(); ++p) {
      if (p == stage) continue;
      const auto outputs = graph_->stages[p].resolver->outputs();
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (outputs[o].shared && outputs[o].name == field.name) found.push_back({p, o, kNone, {}});
    }
  }
  // A stage that takes what was supplied and gives it back settled (an optimizer with one degree fixed, an
  // interval that was given) answers for the others: they get its result.
  const auto settles = [&](const Source& s) {
    const auto inputs = graph_->stages[s.stage].resolver->inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const FieldInfo& i) { return i.shared && i.name == field.name; });
  };
  const auto g = graph_->find_given(canonical_key(field.name));
  if (g != kNone && !(found.size() == 1 && settles(found[0]))) found.push_back({kNone, kNone, g, {}});
  return found;
}

std::vector<detail::PipelineSource> PipelineAssembler::implied_sources(
    std::size_t stage, std::string_view key, std::vector<std::string>& doubtful) const {
  std::vector<Source> found;
  for (const auto& chain : builder_.adapters_->chains_to(key)) {
    FieldInfo wanted;
    wanted.name = chain.front()->from;
    wanted.shared = true;
    auto starts = direct_sources(stage, wanted);
    if (starts.size() > 1) doubtful.push_back(wanted.name);
    if (starts.size() != 1) continue;
    // The builder's table may go away before the pipeline does: point into the graph's copy.
    for (const auto* a : chain)
      starts[0].chain.push_back(
          &graph_->adapters[static_cast<std::size_t>(a - builder_.adapters_->all().data())]);
    found.push_back(std::move(starts[0]));
  }
  return found;
}

void PipelineAssembler::meet(std::size_t stage, std::size_t field) {
  const auto& info = graph_->stages[stage].resolver->inputs()[field];
  auto& sources = graph_->stages[stage].inputs[field].sources;
  const auto& name = graph_->stages[stage].name;
  // A value for this one input goes before everything that is meant for all.
  if (const auto own = graph_->find_given(name + "." + info.name); own != kNone) {
    sources = {{kNone, kNone, own, {}}};
    check_fit(sources[0], stage, field, "supplied to");
    return;
  }
  auto found = direct_sources(stage, info);
  if (found.size() > 1) {
    std::vector<std::string> texts;
    for (const auto& s : found) texts.push_back(detail::describe_source(*graph_, s));
    problem("mlsysim.pipeline.010",
            fmt::format("input '{}' of stage '{}' has several producers", info.name, name), info.name,
            fmt::format("{}", fmt::join(texts, " and ")), "exactly one",
            fmt::format("choose one with .link(\"{}\", \"{}.{}\")",
                        found[0].stage == kNone ? graph_->givens[found[0].given].key : texts[0], name,
                        info.name));
    return;
  }
  if (found.size() == 1) {
    sources = std::move(found);
    check_fit(sources[0], stage, field, "used as");
    return;
  }
  if (info.kind == ValueKind::object || info.kind == ValueKind::any) {
    std::vector<std::string> doubtful;
    sources = implied_sources(stage, info.name, doubtful);
    if (!sources.empty()) return;
    if (!doubtful.empty()) {
      problem("mlsysim.pipeline.010",
              fmt::format("input '{}' of stage '{}' has several producers", info.name, name), info.name,
              fmt::format("more than one '{}' that implies it", doubtful[0]), "exactly one",
              fmt::format("choose with .link(..., \"{}.{}\")", name, info.name));
      return;
    }
  }
  if (info.required) report_missing(stage, info);
}

void PipelineAssembler::check_fit(const Source& source, std::size_t stage, std::size_t field,
                                  std::string_view how) {
  const auto& to = graph_->stages[stage].resolver->inputs()[field];
  const auto& name = graph_->stages[stage].name;
  const auto from_text = detail::describe_source(*graph_, source);
  FieldInfo from;
  if (source.stage != kNone) {
    from = graph_->stages[source.stage].resolver->outputs()[source.field];
  } else {
    const auto& value = graph_->givens[source.given].value;
    if (!value || !std::holds_alternative<double>(value->value)) return;  // settled when the run sets it
    from.kind = ValueKind::quantity;
    from.exps = value->exps;
  }
  if (from.kind == ValueKind::any || to.kind == ValueKind::any) return;
  const auto numeric = [](const FieldInfo& f) {
    return f.kind == ValueKind::number || f.kind == ValueKind::quantity;
  };
  const auto shown = [&](const FieldInfo& f) {
    if (numeric(f)) return dimension_name(f.exps);
    return f.kind == ValueKind::object ? "a " + std::string(f.object_type)
                                       : "a " + std::string(name_of(f.kind));
  };
  const bool fits =
      numeric(from) ? numeric(to) && from.exps == to.exps
                    : from.kind == to.kind && from.object_type == to.object_type &&
                          (from.kind != ValueKind::choice || std::ranges::equal(from.choices, to.choices));
  if (fits) return;
  problem("mlsysim.pipeline.011",
          fmt::format("{} cannot be {} input '{}' of stage '{}'", from_text, how, to.name, name), to.name,
          shown(from), shown(to), "link another result, or convert it in a stage of its own");
}

std::vector<std::string> PipelineAssembler::all_names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& g : graph_->givens) add(g.key);
  for (const auto& s : graph_->stages)
    for (const auto& o : s.resolver->outputs()) add(o.name);
  return names;
}

void PipelineAssembler::report_missing(std::size_t stage, const FieldInfo& field) {
  const auto& name = graph_->stages[stage].name;
  std::vector<std::string> advice;
  if (auto near = did_you_mean(field.name, all_names()); !near.empty()) advice.push_back(std::move(near));
  std::vector<std::string> makers;
  if (builder_.registry_ != nullptr && field.shared) makers = builder_.registry_->producers_of(field.name);
  std::erase(makers, graph_->stages[stage].resolver->info().name);
  if (!makers.empty()) advice.push_back(fmt::format("{} could produce it", fmt::join(makers, ", ")));
  for (const auto& chain : builder_.adapters_->chains_to(field.name))
    if (chain.size() == 1) advice.push_back(fmt::format("a {} would imply it", chain[0]->from));
  const std::string key = field.shared ? field.name : name + "." + field.name;
  advice.push_back(fmt::format(
      "give '{}' a value: {}=... in Python and on the command line, .given(\"{}\") in C++", key, key, key));
  std::string wanted = field.kind == ValueKind::object     ? "a " + std::string(field.object_type)
                       : field.kind == ValueKind::quantity ? dimension_name(field.exps)
                                                           : "a " + std::string(name_of(field.kind));
  if (!field.meaning.empty()) wanted += fmt::format(" ({})", field.meaning);
  problem("mlsysim.pipeline.012", fmt::format("stage '{}' misses its input '{}'", name, field.name),
          field.name, "nothing that gives it", wanted, fmt::format("{}", fmt::join(advice, "; ")));
}

void PipelineAssembler::report_unused_givens() {
  std::vector<bool> used(graph_->givens.size(), false);
  std::vector<std::string> inputs;
  for (const auto& s : graph_->stages) {
    for (const auto& input : s.inputs) {
      inputs.push_back(s.resolver->inputs()[input.field].name);
      for (const auto& source : input.sources)
        if (source.given != kNone) used[source.given] = true;
    }
  }
  // An input with several producers was reported; the given among them is not to be called unused as well.
  for (std::size_t g = 0; g < used.size(); ++g) {
    const auto& key = graph_->givens[g].key;
    const bool in_doubt =
        std::any_of(problems_.begin(), problems_.end(), [&](const auto& p) { return p.key == key; });
    if (used[g] || in_doubt) continue;
    problem("mlsysim.pipeline.013", fmt::format("no stage uses the given '{}'", key), key,
            fmt::format("'{}'", key), "the name of an input, or of an object that implies one",
            did_you_mean(key, inputs));
  }
}

}  // namespace mlsysim
