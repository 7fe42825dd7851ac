#include "detail/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace mlsysim {

using detail::kNone;

namespace {

std::size_t aligned(std::size_t at, std::size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

}  // namespace

Run::State::State(const Pipeline& p) : pipeline(p), graph(pipeline.graph()) {
  slots.resize(graph.stages.size());
  trouble.resize(graph.stages.size());
  values.resize(graph.givens.size());
  for (std::size_t g = 0; g < values.size(); ++g) {
    if (!graph.givens[g].value) continue;
    values[g] = {*graph.givens[g].value, true};
  }
  std::size_t size = 0;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& s : graph.stages) {
    const auto alignment = s.resolver->alignment();
    memory_alignment = std::max(memory_alignment, alignment);
    const auto in = aligned(size, alignment);
    const auto out = aligned(in + s.resolver->input_size(), alignment);
    size = out + s.resolver->output_size();
    places.emplace_back(in, out);
  }
  memory = static_cast<std::byte*>(
      ::operator new (std::max<std::size_t>(size, 1), std::align_val_t{memory_alignment}));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].in = memory + places[i].first;
    slots[i].out = memory + places[i].second;
    graph.stages[i].resolver->construct_inputs(slots[i].in);
    graph.stages[i].resolver->construct_outputs(slots[i].out);
    ++constructed;
  }
  heat();
}

void Run::State::heat() {
  const auto place = [&](std::size_t size) { return static_cast<std::uint32_t>(size); };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& s = graph.stages[i];
    Hot h{};
    h.resolver = s.resolver.get();
    h.plain = s.loose_consumers.empty();
    h.copies = place(copies.size());
    for (const auto& e : s.edges) {
      if (e.kind != detail::PipelineEdge::Kind::number) {
        h.plain = false;
        continue;
      }
      const double low = e.range.open_low ? std::nextafter(e.range.low, kUnbounded) : e.range.low;
      copies.push_back({reinterpret_cast<const double*>(slots[e.stage].out + e.from),
                        reinterpret_cast<double*>(slots[i].in + e.to), low, e.range.high, e.target});
    }
    h.copies_end = place(copies.size());
    h.consumers = place(indices.size());
    for (const auto c : s.consumers) indices.push_back(place(c));
    h.consumers_end = h.numbers = place(indices.size());
    for (const auto n : s.result_numbers) indices.push_back(place(n));
    h.numbers_end = place(indices.size());
    hot.push_back(h);
  }
}

void Run::State::set_status(Slot& slot, StageStatus status) {
  const auto bad = [](StageStatus s) { return s != StageStatus::ok && s != StageStatus::waiting; };
  not_ok = not_ok + (bad(status) ? 1 : 0) - (bad(slot.status) ? 1 : 0);
  slot.status = status;
}

Run::State::~State() {
  while (constructed-- > 0) {
    graph.stages[constructed].resolver->destroy_outputs(slots[constructed].out);
    graph.stages[constructed].resolver->destroy_inputs(slots[constructed].in);
  }
  ::operator delete (memory, std::align_val_t{memory_alignment});
}

std::size_t Run::State::blocker(std::size_t i) const {
  for (const auto u : graph.stages[i].upstream)
    if (slots[u].status != StageStatus::ok) return u;
  return kNone;
}

void Run::State::copy_edges(const detail::PipelineStage& stage, Slot& slot) {
  using Kind = detail::PipelineEdge::Kind;
  for (const auto& e : stage.edges) {
    const std::byte* from = slots[e.stage].out + e.from;
    std::byte* to = slot.in + e.to;
    switch (e.kind) {
      case Kind::number:
        break;  // in `copies`
      case Kind::bytes:
        std::memcpy(to, from, e.size);
        break;
      case Kind::text:
        *reinterpret_cast<std::string*>(to) = *reinterpret_cast<const std::string*>(from);
        break;
      case Kind::general:
        write_checked(*e.target, slot.in, read_dynamic(*e.source, slots[e.stage].out));
        break;
    }
  }
}

DynamicValue Run::State::fetch(const detail::PipelineSource& source) const {
  DynamicValue value = source.stage == kNone
                           ? values[source.given].value
                           : read_dynamic(graph.stages[source.stage].resolver->outputs()[source.field],
                                          slots[source.stage].out);
  for (const auto* adapter : source.chain) {
    const auto* object = std::get_if<ObjectRef>(&value.value);
    if (object == nullptr || object->object == nullptr) return {};
    if (object->type != adapter->from)
      throw InputError({.id = "mlsysim.pipeline.016",
                        .message = fmt::format("'{}' cannot imply '{}'", adapter->from, adapter->to),
                        .key = adapter->from,
                        .found = fmt::format("a {}", object->type),
                        .expected = fmt::format("a {}", adapter->from)});
    const void* next = adapter->get(object->object);
    if (next == nullptr) return {};
    value = DynamicValue(mlsysim::Value(ObjectRef{next, adapter->object_type}));
  }
  return value;
}

void Run::State::write_one(const detail::PipelineStage& stage, Slot& slot,
                           const detail::PipelineInput& input) {
  const auto& field = stage.resolver->inputs()[input.field];
  // The common case: a given number, without a copy of the value.
  if (input.sources.size() == 1 && input.sources[0].stage == kNone && input.sources[0].chain.empty()) {
    const auto& given = values[input.sources[0].given].value;
    if (const auto* x = std::get_if<double>(&given.value);
        x != nullptr && is_bare_number(field) && given.exps == field.exps && input.range.holds(*x)) {
      std::memcpy(slot.in + field.offset, x, sizeof *x);
      return;
    }
  }
  for (const auto& source : input.sources) {
    const auto value = fetch(source);
    if (std::holds_alternative<std::monostate>(value.value)) continue;
    write_checked(field, slot.in, value);
    return;
  }
  if (field.required) {
    std::string tried;
    for (const auto& source : input.sources)
      tried += (tried.empty() ? "" : ", ") + detail::describe_source(graph, source);
    throw InputError({.id = "mlsysim.pipeline.017",
                      .message = fmt::format("input '{}' is absent", field.name),
                      .key = field.name,
                      .found = fmt::format("nothing behind {}", tried),
                      .expected = field.object_type.empty() ? std::string(field.meaning)
                                                            : fmt::format("a {}", field.object_type),
                      .hint = fmt::format("supply '{}', or an object that has one", field.name)});
  }
  const bool pointer = field.kind == ValueKind::object && field.size == sizeof(void*);
  if (pointer)
    std::memset(slot.in + field.offset, 0, sizeof(void*));
  else
    field.write(slot.in, field.default_value);
}

void Run::State::write_loose(const detail::PipelineStage& stage, Slot& slot) {
  for (const auto f : stage.loose) write_one(stage, slot, stage.inputs[f]);
}

void Run::State::require_values() const {
  std::string missing;
  for (std::size_t g = 0; g < values.size(); ++g)
    if (!values[g].set) missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", graph.givens[g].key);
  if (missing.empty()) return;
  throw InputError({.id = "mlsysim.pipeline.018",
                    .message = fmt::format("pipeline '{}' was not given all its values", graph.name),
                    .key = missing,
                    .found = "no value for " + missing,
                    .expected = "a value for every given key",
                    .hint = "call set(key, value) for each before execute()",
                    .reason = BreakReason::missing_stage_input});
}

}  // namespace mlsysim
