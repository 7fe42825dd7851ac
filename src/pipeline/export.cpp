// The graph as text, DOT, Mermaid and JSON.

#include "detail/graph.hpp"

#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mlsysim {

using detail::kNone;

namespace {

using Json = nlohmann::ordered_json;

// DOT and Mermaid need quotes and line ends out of the way.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out;
  for (const char c : text) {
    if (c == '"')
      out += quote;
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

std::string origin(const detail::PipelineGraph& graph, const detail::PipelineInput& input,
                   const FieldInfo& field) {
  if (input.sources.empty())
    return field.nullable && !field.required && std::holds_alternative<std::monostate>(field.default_value)
               ? "absent"
               : fmt::format("default ({})",
                             field.default_source.empty() ? "initialiser" : field.default_source);
  std::string text;
  for (const auto& s : input.sources)
    text += (text.empty() ? "" : ", else ") + detail::describe_source(graph, s);
  return text;
}

std::string key_of(const detail::PipelineGraph& graph, const detail::PipelineSource& source) {
  std::string text = source.stage == kNone
                         ? graph.givens[source.given].key
                         : graph.stages[source.stage].resolver->outputs()[source.field].name;
  for (const auto* a : source.chain) text += " -> " + a->to;
  return text;
}

}  // namespace

std::string Pipeline::show() const {
  const auto& g = *graph_;
  std::string out = fmt::format("{}: {} stage{}\n", g.name, g.stages.size(), g.stages.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < g.stages.size(); ++i) {
    const auto& s = g.stages[i];
    const auto& info = s.resolver->info();
    out += fmt::format("{}. {} ({}{})\n", i + 1, s.name, mlsysim::name_of(info.tier),
                       s.name == info.name ? "" : ", " + info.name);
    for (const auto& input : s.inputs) {
      const auto& field = s.resolver->inputs()[input.field];
      out += fmt::format("     {} <- {}\n", field.name, origin(g, input, field));
    }
    std::string made;
    for (const auto& o : s.resolver->outputs()) made += (made.empty() ? "" : ", ") + o.name;
    out += fmt::format("     gives {}\n", made);
  }
  return out;
}

std::string Pipeline::to_dot() const {
  const auto& g = *graph_;
  auto out = fmt::format("digraph \"{}\" {{\n  rankdir=LR;\n", quoted(g.name, "\\\""));
  for (std::size_t i = 0; i < g.givens.size(); ++i)
    out += fmt::format("  g{} [label=\"{}\", shape=ellipse];\n", i, quoted(g.givens[i].key, "\\\""));
  for (std::size_t i = 0; i < g.stages.size(); ++i)
    out += fmt::format("  s{} [label=\"{}\", shape=box];\n", i, quoted(g.stages[i].name, "\\\""));
  for (std::size_t i = 0; i < g.stages.size(); ++i)
    for (const auto& input : g.stages[i].inputs)
      for (const auto& s : input.sources)
        out += fmt::format("  {}{} -> s{} [label=\"{}\"];\n", s.stage == kNone ? "g" : "s",
                           s.stage == kNone ? s.given : s.stage, i, quoted(key_of(g, s), "\\\""));
  return out + "}\n";
}

std::string Pipeline::to_mermaid() const {
  const auto& g = *graph_;
  std::string out = "flowchart LR\n";
  for (std::size_t i = 0; i < g.givens.size(); ++i)
    out += fmt::format("  g{}([\"{}\"])\n", i, quoted(g.givens[i].key, "#quot;"));
  for (std::size_t i = 0; i < g.stages.size(); ++i)
    out += fmt::format("  s{}[\"{}\"]\n", i, quoted(g.stages[i].name, "#quot;"));
  for (std::size_t i = 0; i < g.stages.size(); ++i)
    for (const auto& input : g.stages[i].inputs)
      for (const auto& s : input.sources)
        out += fmt::format("  {}{} -- \"{}\" --> s{}\n", s.stage == kNone ? "g" : "s",
                           s.stage == kNone ? s.given : s.stage, quoted(key_of(g, s), "#quot;"), i);
  return out;
}

std::string Pipeline::to_json() const {
  const auto& g = *graph_;
  Json json{{"schema", "mlsysim.pipeline/1"},
            {"name", g.name},
            {"given", Json::array()},
            {"stages", Json::array()}};
  for (const auto& given : g.givens) json["given"].push_back(given.key);
  const auto field_json = [](const FieldInfo& f) {
    Json j{{"name", f.name}, {"kind", std::string(mlsysim::name_of(f.kind))}};
    if (!f.unit.empty()) j["unit"] = std::string(f.unit);
    if (!f.object_type.empty()) j["object"] = std::string(f.object_type);
    if (!f.meaning.empty()) j["meaning"] = std::string(f.meaning);
    return j;
  };
  for (const auto& s : g.stages) {
    const auto& info = s.resolver->info();
    Json stage{
        {"name", s.name},      {"resolver", info.name},   {"tier", std::string(mlsysim::name_of(info.tier))},
        {"walls", info.walls}, {"inputs", Json::array()}, {"outputs", Json::array()}};
    for (const auto& input : s.inputs) {
      auto j = field_json(s.resolver->inputs()[input.field]);
      j["from"] = Json::array();
      for (const auto& source : input.sources) {
        Json from;
        if (source.stage == kNone)
          from["given"] = g.givens[source.given].key;
        else
          from = {{"stage", g.stages[source.stage].name},
                  {"field", g.stages[source.stage].resolver->outputs()[source.field].name}};
        for (const auto* a : source.chain) from["implies"].push_back(a->to);
        j["from"].push_back(std::move(from));
      }
      stage["inputs"].push_back(std::move(j));
    }
    for (const auto& o : s.resolver->outputs()) stage["outputs"].push_back(field_json(o));
    json["stages"].push_back(std::move(stage));
  }
  // Texts of hosts and plugins may be anything; bad UTF-8 is replaced rather than thrown.
  return detail::json_text(json, 2);
}

}  // namespace mlsysim
