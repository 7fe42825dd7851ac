// Explains the values of a run: look-up by key, derivations, text and JSON.

#include "detail/run_state.hpp"

#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <utility>

namespace mlsysim {

using detail::kNone;

namespace {

using Json = nlohmann::ordered_json;

// Where a key points: a field of a stage's result, or a given value.
struct Place {
  std::size_t stage = kNone, field = kNone, given = kNone;
};

std::string text_of(const DynamicValue& value) {
  const auto* o = std::get_if<ObjectRef>(&value.value);
  if (o == nullptr || o->object == nullptr) return value.text();
  if (const auto name = spec_name(*o); !name.empty()) return fmt::format("{} '{}'", o->type, name);
  return value.text();
}

std::string text_of(const FieldInfo& field, const DynamicValue& value) {
  if (field.kind == ValueKind::quantity && std::holds_alternative<double>(value.value))
    return field_text(field, value.value);
  return text_of(value);
}

Json json_of(const FieldInfo* field, const DynamicValue& value) {
  if (const auto* x = std::get_if<double>(&value.value)) {
    const std::string unit = canonical_unit(value.exps);
    if (unit.empty()) return *x;
    Json j{{"value", *x}, {"unit", unit}};
    if (field != nullptr) j["text"] = text_of(*field, value);
    return j;
  }
  if (const auto* b = std::get_if<bool>(&value.value)) return *b;
  if (std::holds_alternative<std::monostate>(value.value)) return nullptr;
  return text_of(value);
}

Place find(const detail::PipelineGraph& graph, std::string_view key) {
  Place place;
  if (place.given = graph.find_given(key); place.given != kNone) return place;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    const auto& name = graph.stages[s].name;
    if (key.size() <= name.size() + 1 || !key.starts_with(name) || key[name.size()] != '.') continue;
    const auto outputs = graph.stages[s].resolver->outputs();
    for (std::size_t f = 0; f < outputs.size(); ++f)
      if (outputs[f].name == key.substr(name.size() + 1)) return {s, f, kNone};
  }
  std::vector<std::string> known, owners;
  for (const auto& g : graph.givens) known.push_back(g.key);
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    const auto outputs = graph.stages[s].resolver->outputs();
    for (std::size_t f = 0; f < outputs.size(); ++f) {
      known.push_back(outputs[f].name);
      if (outputs[f].name != key) continue;
      place = {s, f, kNone};
      owners.push_back(graph.stages[s].name + "." + outputs[f].name);
    }
  }
  if (owners.size() == 1) return place;
  throw LookupError(
      {.id = "mlsysim.pipeline.025",
       .message = fmt::format("pipeline '{}' has no single value '{}'", graph.name, key),
       .key = std::string(key),
       .found = owners.empty() ? fmt::format("'{}'", key) : fmt::format("{}", fmt::join(owners, " and ")),
       .expected = "a given key, a result that one stage has, or \"Stage.field\"",
       .hint = owners.empty() ? did_you_mean(key, known) : "write the stage before it"});
}

// Prints a value and, below it, what it was made of. A stage is opened once.
class Derivation {
 public:
  using Used = std::function<bool(const detail::PipelineSource&)>;
  Derivation(const Run& run, const detail::PipelineGraph& graph, Used used)
      : run_(run), graph_(graph), used_(std::move(used)), seen_(graph.stages.size(), false) {}

  void result(const Place& place, std::size_t depth) {
    const auto& stage = graph_.stages[place.stage];
    const auto& info = stage.resolver->info();
    const auto& field = stage.resolver->outputs()[place.field];
    const auto view = run_[stage.name];
    line(depth,
         fmt::format("{} = {}", field.name, view.ok() ? text_of(field, view[field.name]) : "(no result)"));
    auto from = fmt::format("from stage '{}' ({} {})", stage.name, name_of(info.tier), info.name);
    if (seen_[place.stage]) {
      line(depth + 1, from + ", shown above");
      return;
    }
    seen_[place.stage] = true;
    if (!info.source.empty()) from += fmt::format(", source {}", info.source);
    line(depth + 1, from);
    if (!view.ok())
      line(depth + 1,
           fmt::format("{}{}{}", name_of(view.status()), view.reason().empty() ? "" : ": ", view.reason()));
    if (!info.law.empty()) line(depth + 1, "law: " + info.law);
    for (const auto& input : stage.inputs) this->input(stage, view, input, depth + 1);
    for (const auto& a : run_.assumptions(stage.name)) {
      const auto* f = find_field(stage.resolver->inputs(), a.name);
      if (f == nullptr)
        line(depth + 1, fmt::format("assumed {} = {} ({})", a.name.view(), a.value.str(), a.source.view()));
    }
    if (view.ok() && info.tier == Tier::solver) line(depth + 1, run_.verify(stage.name).text());
  }

  void given(std::size_t g, std::size_t depth) {
    line(depth,
         fmt::format("{} = {} (given)", graph_.givens[g].key, text_of(run_.value(graph_.givens[g].key))));
  }

  std::string text;

 private:
  void line(std::size_t depth, const std::string& what) { text += std::string(2 * depth, ' ') + what + "\n"; }

  void input(const detail::PipelineStage& stage, const StageView& view, const detail::PipelineInput& input,
             std::size_t depth) {
    const auto& field = stage.resolver->inputs()[input.field];
    const auto value = text_of(field, view.input(field.name));
    if (input.sources.empty()) {
      line(depth, fmt::format("{} = {} (default{}{})", field.name, value,
                              field.default_source.empty() ? "" : ": ", field.default_source));
      return;
    }
    const auto& source = input.sources[0];
    if (source.stage != kNone && source.chain.empty()) {
      const auto& made = graph_.stages[source.stage].resolver->outputs()[source.field];
      if (made.name != field.name) line(depth, fmt::format("{} = {} (linked)", field.name, value));
      result({source.stage, source.field, kNone}, made.name != field.name ? depth + 1 : depth);
      return;
    }
    std::string origin;
    for (const auto& s : input.sources)
      if (origin.empty() && used_(s)) origin = detail::describe_source(graph_, s);
    if (origin.empty())
      origin = fmt::format("default{}{}: {} has none", field.default_source.empty() ? "" : " ",
                           field.default_source, detail::describe_source(graph_, source));
    const bool plain =
        input.sources.size() == 1 && source.chain.empty() && graph_.givens[source.given].key == field.name;
    line(depth, fmt::format("{} = {} ({})", field.name, value, plain ? "given" : origin));
  }

  const Run& run_;
  const detail::PipelineGraph& graph_;
  Used used_;
  std::vector<bool> seen_;
};

}  // namespace

DynamicValue Run::value(std::string_view key) const {
  const auto place = find(state_->graph, key);
  if (place.stage == kNone) return state_->values[place.given].value;
  const auto& stage = state_->graph.stages[place.stage];
  return (*this)[stage.name][stage.resolver->outputs()[place.field].name];
}

std::string Run::explain(std::string_view key) const {
  const auto place = find(state_->graph, key);
  Derivation derivation(*this, state_->graph, [&](const detail::PipelineSource& source) {
    const bool there = source.stage == kNone ? state_->values[source.given].set
                                             : state_->slots[source.stage].status == StageStatus::ok;
    return there && !std::holds_alternative<std::monostate>(state_->fetch(source).value);
  });
  if (place.stage == kNone)
    derivation.given(place.given, 0);
  else
    derivation.result(place, 0);
  return std::move(derivation.text);
}

std::string Run::show() const {
  std::string out;
  for (const auto& view : stages()) {
    out += fmt::format("{}: {}\n", view.name(), name_of(view.status()));
    if (!view.ok() && !view.reason().empty()) out += fmt::format("  {}\n", view.reason());
    if (view.why() != nullptr && !view.why()->smallest_change.empty())
      out += fmt::format("  smallest change: {}\n", view.why()->smallest_change);
    if (!view.ok()) continue;
    for (const auto& f : view.resolver().outputs())
      out += fmt::format("  {} = {}\n", f.name, text_of(f, view[f.name]));
  }
  return out;
}

std::string Run::to_json() const {
  Json json{{"schema", "mlsysim.run/1"}, {"pipeline", state_->graph.name}, {"given", Json::object()},
            {"complete", true},          {"breaks", Json::array()},        {"stages", Json::array()}};
  for (std::size_t g = 0; g < state_->values.size(); ++g)
    json["given"][state_->graph.givens[g].key] = json_of(nullptr, state_->values[g].value);
  for (const auto& view : stages()) {
    const auto book = notes(view.name());
    for (const auto& b : breaks_of(view.name(), book)) {
      const auto& known = about(b.why);
      json["breaks"].push_back({{"stage", b.stage},
                                {"reason", name_of(b.why)},
                                {"id", known.id},
                                {"severity", known.severity},
                                {"text", b.text},
                                {"hint", known.hint}});
    }
    Json stage{{"name", view.name()},
               {"resolver", view.resolver().info().name},
               {"status", std::string(name_of(view.status()))}};
    if (!view.ok() && !view.reason().empty()) stage["reason"] = view.reason();
    if (const auto* why = view.why(); why != nullptr) {
      if (!why->smallest_change.empty()) stage["smallest_change"] = why->smallest_change;
      for (const auto& f : why->facts) stage["facts"][f.name] = f.value;
    }
    if (view.ok()) {
      for (const auto& f : view.resolver().outputs()) stage["result"][f.name] = json_of(&f, view[f.name]);
      stage["warnings"] = book.warnings;
    }
    json["stages"].push_back(std::move(stage));
  }
  json["complete"] = json["breaks"].empty();
  return detail::json_text(json, 2);
}

}  // namespace mlsysim
