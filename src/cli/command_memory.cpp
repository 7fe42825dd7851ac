#include "commands.hpp"
#include "output.hpp"
#include "reading_notes.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/engine/scenario_builder.hpp>
#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::cli {
namespace {

/// An entry of the zoo by its name, or what a file holds.
template <class T> const T* spec_of(FieldReader& reader, const std::string& text) {
  FieldInfo field;
  field.name = std::string(ObjectType<T>::name);
  field.kind = ValueKind::object;
  field.object_type = ObjectType<T>::name;
  const auto value = reader.read(field, text);
  return static_cast<const T*>(std::get<ObjectRef>(value.value).object);
}

template <class E> E choice(const std::string& text) {
  if (const auto chosen = choice_of<E>(text)) return *chosen;
  throw LookupError({.id = "mlsysim.cli.110",
                     .message = fmt::format("there is no {} '{}'", Choices<E>::what, text),
                     .key = text,
                     .found = fmt::format("'{}'", text),
                     .expected = fmt::format("one of {}", fmt::join(Choices<E>::names, ", ")),
                     .hint = "choose one of them"});
}

/// The question of a command about a scenario, whose names are read as `eval` reads them.
MemoryQuestion question_of(const MemoryRequest& request, const Scenario& s) {
  MemoryQuestion q;
  q.model = s.workload;
  q.device = s.fleet != nullptr ? s.fleet->node->accelerator : s.hardware;
  q.weight_format = s.weight_format;
  q.kv_precision = s.kv_precision;
  q.context = request.context;
  if (const auto most = s.workload->max_positions; most && q.context == UsualRequest::tokens)
    q.context = std::min(q.context, *most);  // the usual request of `eval` is no longer, either
  q.expert_parallel = request.expert_parallel;
  q.requests =
      std::max(request.requests / std::max(1.0, request.expert_parallel), std::min(1.0, request.requests));
  // "8xH100", a node and a rack divide the model over their devices as `eval` does.
  q.tensor_parallel = request.tensor_parallel;
  if (request.tensor_parallel <= 1 && request.expert_parallel <= 1 &&
      (s.accelerators || s.fleet != nullptr)) {
    Notes quiet;
    q.tensor_parallel = ResolvedScenario(s, quiet).tp_size();
  }
  q.shares = {.fraction = s.memory_fraction, .cache = s.kv_cache_memory};
  if (!request.precision.empty()) {
    q.precision = choice<Precision>(request.precision);
    q.weight_format.reset();
  }
  if (!request.kv_precision.empty()) q.kv_precision = choice<Precision>(request.kv_precision);
  return q;
}

}  // namespace

Answer memory(const MemoryRequest& request, const RenderOptions& options) {
  FieldReader reader(zoo());
  ScenarioBuilder builder(zoo());
  builder.set("workload", request.model);
  if (!request.device.empty()) builder.hardware(request.device);
  for (const auto& [field, text] : {std::pair("accelerators", request.accelerators),
                                    {"memory_fraction", request.memory_fraction},
                                    {"kv_cache_memory", request.kv_cache_memory}})
    if (!text.empty()) builder.set(field, text);
  const auto built = builder.build();
  const Scenario& s = built.scenario;
  auto q = question_of(request, s);
  if (request.engine != "none") q.engine = spec_of<ServingEngine>(reader, request.engine);
  const auto account = memory_account(q, conventions_of(zoo()));

  Table table{.schema = "mlsysim/memory@1",
              .title = q.model->name,
              .columns = {{"part"},
                          {"what"},
                          {"layers"},
                          {"weights"},
                          {"bytes_per_token"},
                          {"cap"},
                          {"bytes"},
                          {"size", "MiB"}}};
  const auto number = [](double x) { return x > 0 ? Table::Cell(x) : Table::Cell(); };
  const auto add = [&](const MemoryItem& i) {
    table.rows.push_back({name_of(i.part), i.what, number(i.layers), number(i.weights / unit::param),
                          number(i.per_token / unit::B), number(i.cap), i.bytes / unit::B, i.bytes});
  };
  for (const auto& i : account.items) add(i);
  const auto line = [&](const char* part, std::string what, Data<> bytes) {
    table.rows.push_back({part, std::move(what), {}, {}, {}, {}, bytes / unit::B, bytes});
  };
  line("total", "of the memory model", account.memory.total);
  if (q.device != nullptr) line("capacity", q.device->name, account.memory.capacity);
  Answer out;
  if (q.engine == nullptr && (q.shares.fraction || q.shares.cache))
    out.diagnostics += "mlsysim: note: no effect without --engine: --memory-fraction, --kv-cache-memory\n";
  if (const auto most = q.model->max_positions; most && request.context > *most)
    out.diagnostics += fmt::format(
        "mlsysim: note: '{}' takes at most {:g} tokens (max_positions): {}\n", q.model->name, *most,
        q.context > *most ? fmt::format("{:g} are counted as if it took them", q.context)
                          : "the account is of so many");
  for (const auto& note : built.warnings) out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  if (account.engine) {
    for (const auto& i : account.engine->held) add(i);
    line("pool",
         fmt::format("cache of {} {}: {:.0f} tokens at this context", q.engine->name,
                     q.engine->memory->version, account.engine->tokens),
         account.engine->pool);
    for (const auto& note : account.engine->notes)
      out.diagnostics += fmt::format("mlsysim: note: {}\n", note);
  }
  if (options.format != OutputFormat::text)
    for (const auto& notes : {reading_notes(), built.warnings})
      for (const auto& note : notes) table.rows.push_back({"note", note, {}, {}, {}, {}, {}, {}});
  if (options.format != OutputFormat::text || options.verbosity == Verbosity::verbose)
    for (const auto& part : account.not_modelled)
      table.rows.push_back({"not modelled", part, {}, {}, {}, {}, {}, {}});
  else if (!account.not_modelled.empty())
    table.footer = fmt::format("{} things are not modelled: --verbose", account.not_modelled.size());
  const bool fits = q.device == nullptr ||
                    (account.engine ? account.engine->fits : account.memory.total <= account.memory.capacity);
  const bool one = request.requests == 1;
  auto summary = fmt::format("{:g} request{} of {:g} tokens {}", request.requests, one ? "" : "s", q.context,
                             fits  ? one ? "fits" : "fit"
                             : one ? "does not fit"
                                   : "do not fit");
  if (account.engine && fits)
    summary += fmt::format("; the cache of {} holds {:.0f} of them", q.engine->name,
                           std::floor(account.engine->tokens / q.context));
  if (q.device != nullptr && options.format != OutputFormat::text) table.footer = summary;
  out.payload = q.device == nullptr ? render(table, options) : verdict_first(fits, summary, table, options);
  if (!fits) {
    out.exit = Exit::infeasible;
    out.diagnostics += fmt::format("mlsysim: infeasible: {}\n", summary);
  }
  return out;
}

}  // namespace mlsysim::cli
