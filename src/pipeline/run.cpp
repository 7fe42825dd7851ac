#include <mlsysim/pipeline/run.hpp>

#include "detail/run_state.hpp"

#include <mlsysim/resolver_api/record.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <utility>

namespace mlsysim {

using detail::kNone;

Run::Run(const Pipeline& pipeline) : state_(std::make_unique<State>(pipeline)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

std::size_t Run::index_of(std::string_view key) const {
  const auto& graph = state_->graph;
  const auto i = graph.find_given(key);
  if (i != kNone) return i;
  std::vector<std::string> names;
  for (const auto& g : graph.givens) names.push_back(g.key);
  throw LookupError(unknown_name(
      "mlsysim.pipeline.020",
      fmt::format("pipeline '{}' was not told that '{}' would be given", graph.name, key), key, names,
      names.empty() ? "no given values" : fmt::format("one of {}", fmt::join(names, ", "))));
}

Run& Run::set(std::string_view key, const DynamicValue& value) { return set(index_of(key), value); }

Run& Run::set(std::size_t index, const DynamicValue& value) {
  auto& v = state_->values.at(index);
  // The owner may have changed an object in place, so setting an object always counts as a change.
  const bool object =
      std::holds_alternative<ObjectRef>(value.value) || std::holds_alternative<HostRef>(value.value);
  if (v.set && !object && v.value == value) return *this;
  v.value = value;
  v.set = true;
  for (const auto c : state_->graph.givens[index].consumers)
    state_->slots[c].dirty = state_->slots[c].loose = true;
  return *this;
}

Run& Run::set_number(std::size_t index, double base) {
  auto& v = state_->values.at(index);
  if (auto* x = std::get_if<double>(&v.value.value); x != nullptr && v.set) {
    if (*x == base) return *this;
    *x = base;
    for (const auto c : state_->graph.givens[index].consumers)
      state_->slots[c].dirty = state_->slots[c].loose = true;
    return *this;
  }
  // The first time, the dimension is that of whoever reads it.
  const auto& g = state_->graph.givens[index];
  DynamicValue value(base);
  for (const auto c : g.consumers)
    for (const auto& input : state_->graph.stages[c].inputs)
      for (const auto& source : input.sources)
        if (source.given == index) value.exps = state_->graph.stages[c].resolver->inputs()[input.field].exps;
  return set(index, value);
}

Run& Run::execute() {
  static const RunOptions quiet;
  return execute(quiet);
}

Run& Run::execute(const RunOptions& options) {
  state_->self = this;
  state_->execute(options);
  return *this;
}

const Pipeline& Run::pipeline() const { return state_->pipeline; }
const PipelineReport& Run::report() const { return state_->report; }

StageView Run::operator[](std::string_view stage) const {
  const auto i = state_->graph.stage_at(stage);
  const auto& slot = state_->slots[i];
  StageView view;
  view.name_ = state_->graph.stages[i].name;
  view.resolver_ = state_->graph.stages[i].resolver.get();
  view.status_ = slot.status;
  view.reason_ = state_->trouble[i].reason;
  view.why_ = slot.status == StageStatus::infeasible ? &state_->trouble[i].why : nullptr;
  view.in_ = slot.in;
  view.out_ = slot.out;
  return view;
}

std::vector<StageView> Run::stages() const {
  std::vector<StageView> views;
  for (const auto& s : state_->graph.stages) views.push_back((*this)[s.name]);
  return views;
}

namespace {

std::size_t field_at(std::span<const FieldInfo> fields, std::string_view owner, std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
    names.push_back(fields[i].name);
  }
  throw LookupError(unknown_name("mlsysim.pipeline.021",
                                 fmt::format("stage '{}' has no field '{}'", owner, name), name, names));
}

}  // namespace

const void* StageView::result() const {
  if (ok()) return out_;
  throw SolverError(
      {.id = "mlsysim.pipeline.022",
       .message = fmt::format("stage '{}' has no result", name_),
       .key = std::string(name_),
       .found = fmt::format("{}{}{}", mlsysim::name_of(status_), reason_.empty() ? "" : ": ", reason_),
       .expected = "a stage that is ok",
       .hint = "test ok() before reading"});
}

DynamicValue StageView::operator[](std::string_view field) const {
  const auto fields = resolver_->outputs();
  const auto i = field_at(fields, name_, field);
  return read_dynamic(fields[i], result());
}

bool StageView::does_not_fit() const {
  if (!ok() || find_field(resolver_->outputs(), "feasible") == nullptr) return false;
  const auto fits = (*this)["feasible"].value;
  const bool* flag = std::get_if<bool>(&fits);
  return flag != nullptr && !*flag;
}

DynamicValue StageView::input(std::string_view field) const {
  const auto fields = resolver_->inputs();
  return read_dynamic(fields[field_at(fields, name_, field)], in_);
}

const void* Run::typed_result(const void* tag, std::string_view type, std::string_view stage) const {
  const auto& stages = state_->graph.stages;
  std::size_t found = kNone;
  if (!stage.empty()) {
    found = state_->graph.stage_at(stage);
    if (stages[found].resolver->type_tag() != tag)
      throw LookupError({.id = "mlsysim.pipeline.023",
                         .message = fmt::format("stage '{}' is no {}", stage, type),
                         .key = std::string(stage),
                         .found = stages[found].resolver->info().name,
                         .expected = std::string(type)});
    return (*this)[stage].result();
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].resolver->type_tag() != tag) continue;
    found = i;
    names.push_back(stages[i].name);
  }
  if (names.size() != 1)
    throw LookupError(
        {.id = "mlsysim.pipeline.024",
         .message = fmt::format("the result of a {} is not one thing", type),
         .key = std::string(type),
         .found = names.empty() ? "no stage of this type" : fmt::format("stages {}", fmt::join(names, ", ")),
         .expected = "exactly one stage of this type",
         .hint = names.empty() ? "" : "name the stage: get<R>(\"name\")"});
  return (*this)[stages[found].name].result();
}

NoteBook Run::State::defaults_of(std::size_t i) const {
  const auto& s = graph.stages[i];
  FieldMask supplied;
  for (const auto& input : s.inputs)
    if (!input.sources.empty() && input.field < supplied.size()) supplied.set(input.field);
  NoteBook book;
  book.assumptions = defaults_used(s.resolver->inputs(), supplied);
  return book;
}

NoteBook Run::notes(std::string_view stage) const {
  const auto i = state_->graph.stage_at(stage);
  const auto& s = state_->graph.stages[i];
  const auto& slot = state_->slots[i];
  auto book = state_->defaults_of(i);
  if (slot.status != StageStatus::ok) return book;
  if (i < state_->kept.size() && state_->kept[i]) return *state_->kept[i];
  // Stages are deterministic: running once more with an open ear gives the notes that nobody wanted before.
  SolveContext context;
  context.notes = Notes(book);
  Record scratch(*s.resolver, Side::outputs);
  (void)s.resolver->solve(slot.in, scratch.data(), context);
  return book;
}

std::vector<StageBreak> Run::breaks() const {
  std::vector<StageBreak> out;
  for (const auto& s : state_->graph.stages)
    for (auto& b : breaks_of(s.name, notes(s.name))) out.push_back(std::move(b));
  return out;
}

std::vector<StageBreak> Run::breaks_of(std::string_view stage, const NoteBook& book) const {
  std::vector<StageBreak> out;
  const auto i = state_->graph.stage_at(stage);
  const std::string name(stage);
  const auto& trouble = state_->trouble[i];
  switch (state_->slots[i].status) {
    case StageStatus::ok:
      for (std::size_t w = 0; w < book.warnings.size(); ++w)
        if (const auto why = book.reason_of(w)) out.push_back({name, *why, book.warnings[w]});
      break;
    case StageStatus::infeasible:
      out.push_back({name, break_reason(trouble.why), trouble.reason});
      break;
    case StageStatus::failed:
      out.push_back({name, break_reason(trouble.error), trouble.reason});
      break;
    case StageStatus::skipped:
    case StageStatus::waiting:
      break;
  }
  return out;
}

Verification Run::verify(std::string_view stage) const {
  const auto view = (*this)[stage];
  return view.resolver().verify(view.in_, view.result());
}

}  // namespace mlsysim
