#include "detail/json_members.hpp"
#include "detail/readers.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/whole.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mlsysim {
namespace detail {
namespace {

constexpr int kDeepest = 64;  // levels of a document

/// JSON that nests no deeper than it needs to. @throws InputError
Json parsed(std::string_view text, const std::string& file) {
  const char* expected = "a JSON document";
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '{' || c == '[') && ++depth > kDeepest)
      throw InputError("mlsysim.compile.003", "the document cannot be read", file,
                       fmt::format("more than {} levels", kDeepest), expected,
                       "write it with python -m mlsysim.dynamo_export", {file});
    if (!quoted && (c == '}' || c == ']')) --depth;
  }
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw InputError("mlsysim.compile.003", "the document cannot be read", file, "a text that is no JSON",
                     expected, "write it with python -m mlsysim.dynamo_export", {file});
  return json;
}

CompileBreak break_of(const Json& json, const BreakRegistry& registry) {
  const auto type = text_of(member(json, "type"));
  auto reason = text_of(member(json, "reason"));
  CompileBreak out = mlsysim::break_of(reason.empty() ? type : reason, registry);
  const auto given = [&](const char* name, std::string& to) {
    if (auto text = text_of(member(json, name)); !text.empty()) to = std::move(text);
  };
  given("gb_id", out.gb_id);
  given("explanation", out.explanation);
  given("context", out.context);
  given("hint_class", out.hint_class);
  if (const auto& hints = member(json, "hints"); hints.is_array() && !hints.empty()) {
    out.hints.clear();
    for (const auto& hint : hints) out.hints.push_back(text_of(hint));
  }
  out.category = category_of(out.type, out.context);
  out.count = std::max(1.0, count_of(member(json, "count")));
  const auto& broken = member(json, "graph_break");
  out.graph_break = !broken.is_boolean() || broken.get<bool>();
  for (const auto& frame : member(json, "stack"))
    out.stack.push_back({short_path(text_of(member(frame, "file"))),
                         detail::whole<int>(count_of(member(frame, "line"))),
                         text_of(member(frame, "function")), text_of(member(frame, "code"))});
  return out;
}

void read_times(CompileRecord& out, const Json& times, const std::string& file) {
  if (!times.is_object()) return;
  const auto unit_name = text_of(member(times, "unit"));
  const double scale = unit_name == "us" ? 1e-6 : unit_name == "ms" ? 1e-3 : 1;
  if (!unit_name.empty() && unit_name != "s" && scale == 1)
    throw InputError("mlsysim.compile.004", "the unit of compile times is not known", file,
                     fmt::format("'{}'", unit_name.substr(0, 40)), "s, ms or us", "give times in seconds",
                     {file});
  out.compile_time = count_of(member(times, "total")) * scale * unit::s;
  const auto& phases = member(times, "phases");
  if (!phases.is_object()) return;
  for (const auto& [name, values] : phases.items())
    if (values.is_array())
      for (const auto& x : values) add_phase(out, name, 1, count_of(x) * scale);
}

}  // namespace

CompileRecord read_explain_document(std::string_view text, const std::string& file,
                                    const BreakRegistry& registry) {
  const Json json = parsed(text, file);
  const auto schema = text_of(member(json, "schema"));
  if (schema != kExplainSchema)
    throw InputError("mlsysim.compile.005", "the document is of another schema", file,
                     schema.empty() ? "none" : fmt::format("'{}'", schema.substr(0, 60)),
                     fmt::format("'{}'", kExplainSchema), "write it with python -m mlsysim.dynamo_export",
                     {file});
  CompileRecord out;
  const auto& model = member(json, "model");
  out.family = text_of(member(model, "family"));
  out.model = text_of(member(model, "name"));
  out.commit = text_of(member(model, "commit"));
  out.torch = text_of(member(member(json, "producer"), "torch"));
  if (auto status = text_of(member(json, "status")); status == "failed" || status == "skipped")
    out.status = std::move(status);
  out.error = text_of(member(json, "error"));
  out.failures = out.status == "failed" ? 1 : 0;
  out.graph_count = count_of(member(json, "graph_count"));
  out.graph_breaks = count_of(member(json, "graph_break_count"));
  out.op_count = count_of(member(json, "op_count"));
  for (const auto& graph : member(json, "graphs")) {
    auto& to = out.graphs.emplace_back();
    to.op_count = count_of(member(graph, "op_count"));
    for (const auto& op : member(graph, "ops"))
      to.ops[op_name(text_of(member(op, "name")))] += count_of(member(op, "count"));
  }
  for (const auto& row : member(json, "breaks")) out.breaks.push_back(break_of(row, registry));
  const auto& guards = member(json, "guards");
  out.guards = count_of(member(guards, "count"));
  if (const auto& types = member(guards, "by_type"); types.is_object())
    for (const auto& [name, n] : types.items()) out.guard_types[name] = count_of(n);
  read_times(out, member(json, "compile_times"), file);
  std::string reduced;
  if (const auto& keys = member(model, "reduced"); keys.is_object())
    for (const auto& [key, sizes] : keys.items())
      if (sizes.is_array() && sizes.size() == 2)
        reduced +=
            fmt::format("{}{} {} in place of {}", reduced.empty() ? "" : ", ", key,
                        whole<std::int64_t>(count_of(sizes[1])), whole<std::int64_t>(count_of(sizes[0])));
  if (!reduced.empty()) out.notes.push_back(fmt::format("the model was built with {}", reduced));
  skip_if_empty(out);
  return out;
}

}  // namespace detail

BreakRegistry BreakRegistry::read(const std::string& file) {
  const auto json = detail::parsed(files::read(file, "a registry of graph breaks", 64ULL << 20), file);
  BreakRegistry out;
  if (json.is_object())
    for (const auto& [id, wordings] : json.items())
      if (wordings.is_array())
        for (const auto& w : wordings)
          if (auto type = detail::text_of(detail::member(w, "Gb_type")); !type.empty())
            out.ids_.emplace(std::move(type), id);
  if (out.ids_.empty())
    throw InputError("mlsysim.compile.006", "the file is no registry of graph breaks", file,
                     "no type of a break", "graph_break_registry.json of PyTorch",
                     "take it from torch/_dynamo of your PyTorch", {file});
  return out;
}

std::string explain_document(const CompileRecord& r) {
  using detail::Json;
  const auto text = [](const std::string& t) { return t.empty() ? Json(nullptr) : Json(t); };
  Json out{{"schema", kExplainSchema},
           {"producer", {{"tool", "mlsysim"}, {"torch", text(r.torch)}}},
           {"model", {{"family", text(r.family)}, {"name", text(r.model)}, {"commit", text(r.commit)}}},
           {"status", r.status},
           {"error", text(r.error)},
           {"graph_count", detail::whole<std::int64_t>(r.graph_count)},
           {"graph_break_count", detail::whole<std::int64_t>(r.graph_breaks)},
           {"op_count", detail::whole<std::int64_t>(r.op_count)}};
  auto& graphs = out["graphs"] = Json::array();
  for (std::size_t i = 0; i < r.graphs.size(); ++i) {
    Json ops = Json::array();
    for (const auto& [name, n] : r.graphs[i].ops)
      ops.push_back({{"name", name}, {"count", detail::whole<std::int64_t>(n)}});
    graphs.push_back({{"index", i},
                      {"ops", std::move(ops)},
                      {"op_count", detail::whole<std::int64_t>(r.graphs[i].op_count)}});
  }
  auto& breaks = out["breaks"] = Json::array();
  for (std::size_t i = 0; i < r.breaks.size(); ++i) {
    const auto& b = r.breaks[i];
    Json stack = Json::array();
    for (const auto& f : b.stack)
      stack.push_back({{"file", f.file}, {"line", f.line}, {"function", f.function}, {"code", text(f.code)}});
    breaks.push_back({{"index", i},
                      {"gb_id", text(b.gb_id)},
                      {"type", b.type},
                      {"category", name_of(b.category)},
                      {"reason", b.reason},
                      {"explanation", b.explanation},
                      {"hints", b.hints},
                      {"hint_class", text(b.hint_class)},
                      {"context", b.context},
                      {"graph_break", b.graph_break},
                      {"stack", std::move(stack)}});
    if (b.count != 1) breaks.back()["count"] = detail::whole<std::int64_t>(b.count);
  }
  out["unlisted_breaks"] = detail::whole<std::int64_t>(r.unlisted());
  out["guards"] = {{"count", detail::whole<std::int64_t>(r.guards)}, {"by_type", Json::object()}};
  for (const auto& [type, n] : r.guard_types) out["guards"]["by_type"][type] = detail::whole<std::int64_t>(n);
  Json phases = Json::object();
  for (const auto& p : r.phases) phases[p.name] = {p.time / unit::s};
  out["compile_times"] = {{"unit", "s"}, {"total", r.compile_time / unit::s}, {"phases", std::move(phases)}};
  return detail::json_document(out);
}

}  // namespace mlsysim
