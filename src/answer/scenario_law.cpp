#include <mlsysim/answer/scenario_law.hpp>

#include "scenario_numbers.hpp"

#include <mlsysim/spec/leaves.hpp>
#include <mlsysim/tape/record.hpp>

namespace mlsysim {
namespace {

constexpr LawInfo kScenario{
    .id = "Scenario", .equation = "scorecard = f(scenario, device, network, facility, model)", .source = ""};
/// A law that holds its own tape and the names of its inputs.
struct RecordedScenario : ScenarioLaw {
  struct Shape : LawShape {
    const RecordedScenario* law;
  };
  std::vector<ListedOperator> operators_;  ///< the tape names them, and may outlive the workload
  Tape tape_;
  Shape shape_{{&kScenario,
                [](const LawShape& shape) -> std::span<const FieldInfo> {
                  return static_cast<const Shape&>(shape).law->inputs;
                },
                &describe<ScenarioResults<>>},
               this};
};

Tape record_scenario(const LawShape& shape, const ScenarioLeaves& leaves, const ScenarioShape& s) {
  return record_tape(leaves.size(), [&](std::span<const Recorded> in) {
    // One call encloses all others; its inputs are the leaves, in their order.
    detail::CallScope call(*Recorder::current(), &shape, in, leaf_count<ScenarioResults<Recorded>>);
    const auto out = detail::recorded_leaves(scenario_numbers(s, leaves.write<Recorded>(in)));
    call.end(out);
    return std::vector<Recorded>(out.begin(), out.end());
  });
}

/// What a stack fixes of its tape: its flags, its choices, what is stated at all, and which layers are alike.
template <class Put> void put_stack(const Stack* stack, std::size_t place, const Put& put) {
  put(stack != nullptr);
  if (stack == nullptr) return;
  put(place);
  for_each_member(field_table<Stack>(), const_cast<Stack*>(stack), [&](const MemberPlace& at) {
    for (const char c : at.path) put(c);
    const bool there = at.type.form != MemberForm::maybe || at.type.count(at.member) > 0;
    put(there);
    const auto form = at.type.inner().form;
    const void* member = at.type.form == MemberForm::maybe && there ? at.type.at(at.member, 0) : at.member;
    if (form == MemberForm::flag) put(*static_cast<const bool*>(member));
    if (form == MemberForm::choice && there) put(at.type.inner().index(member));
  });
  for (const std::size_t kind : kinds_of_places(*stack)) put(kind);
}

}  // namespace

std::string scenario_key(const ScenarioShape& s) {
  std::string key;
  const auto put = [&](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  const auto put_structure = [&](const Structure& p) {
    for (const int x :
         {static_cast<int>(p.architecture), static_cast<int>(p.kernel), static_cast<int>(p.phase),
          static_cast<int>(p.recomputed.bits), static_cast<int>(p.schedule), p.zero_stage,
          static_cast<int>(p.adapted), static_cast<int>(p.expert_overlap)})
      put(x);
    for (const bool x : {p.causal,       p.moe,           p.sequence_parallel,
                         p.offloads,     p.narrow,        p.dropout,
                         p.biased,       p.fused,         p.per_operator,
                         p.known,        p.attends,       p.drafting,
                         p.per_token,    p.prefetch,      p.capped,
                         p.adapts,       p.widens,        p.orthogonalizes,
                         p.chunked_loss, p.mixed_storage, p.widened,
                         p.one_copy})
      put(x);
  };
  put(s.kind);
  put(s.pricing);
  put_structure(s.prefill);
  put_structure(s.decode);
  put_structure(s.draft);
  for (const bool x :
       {s.generates, s.drafts, s.sequences, s.has_power, s.has_price, s.fails, s.has_tokens, s.has_layers,
        s.has_heads, s.part_of_node, s.folded, s.sharded, s.apart, s.spills, s.budgeted, s.divided, s.issues})
    put(x);
  put(s.prompts);
  put(s.kept);
  put(s.chunks);
  put(s.links.levels);
  put(s.links.axes);
  put(s.links.reduces);
  put(s.links.algorithm);
  put(s.division);
  const auto put_records = [&]<class R>(std::span<const R> records) {
    put(records.size());
    for (const R& record : records)
      for_each_field<R>([&](const auto& row) {
        using M = std::remove_cvref_t<decltype(record.*(row.member))>;
        if constexpr (std::is_same_v<M, std::optional<double>>)
          put((record.*(row.member)).value_or(-1.0));
        else if constexpr (std::is_same_v<M, std::string>)
          for (const char c : record.*(row.member)) put(c);  // the tape names them
        else
          put(record.*(row.member));
      });
  };
  put_records(s.layers.convolution);
  put_records(s.layers.operators);
  put_stack(s.stack, s.place, put);
  put_stack(s.draft_stack, s.draft_place, put);
  return key;
}

std::shared_ptr<const ScenarioLaw> record_scenario_law(const ScenarioShape& shape) {
  auto law = std::make_shared<RecordedScenario>();
  law->operators_.assign(shape.layers.operators.begin(), shape.layers.operators.end());
  ScenarioShape s = shape;
  s.layers.operators = law->operators_;
  const ScenarioLeaves leaves(s);
  law->info = kScenario;
  law->inputs = leaves.fields();
  const auto results = describe<ScenarioResults<>>();
  law->tape_ = record_scenario(law->shape_, leaves, s);
  law->results.assign(results.begin(), results.end());
  law->recorded = [](const void* self) -> const Tape& {
    return static_cast<const RecordedScenario*>(self)->tape_;
  };
  // The law is its own state and must not keep itself alive.
  law->self = std::shared_ptr<const void>(law.get(), [](const void*) {});
  const Tape& tape = law->tape_;
  const Recording& r = tape.recording();
  std::vector<bool> live(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i) {
    if (tape.fixed(tape.output(i))) continue;
    law->reported.push_back(static_cast<std::uint16_t>(i));
    live[tape.output(i)] = true;
  }
  for (std::size_t n = tape.size(); n-- > 0;)
    if (live[n]) for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { live[o] = true; });
  law->matters.resize(tape.inputs());
  for (std::size_t n = 0; n < tape.size(); ++n)
    if (live[n] && r.nodes[n].op == TapeOp::input) law->matters[r.nodes[n].a] = true;
  return law;
}

std::string_view reported_name(std::string_view path) {
  for (const std::string_view table :
       {"feasibility.", "serving.", "training.", "inference.", "macro.", "reliability."})
    if (path.starts_with(table)) return path.substr(table.size());
  return path;
}

std::size_t ScenarioLaw::result(std::string_view name) const {
  for (const auto i : reported)
    if (reported_name(results[i].name) == name) return i;
  return LawEntry::result(name);
}

ScenarioLeaves::ScenarioLeaves(const ScenarioShape& s) {
  if (s.stack != nullptr) model_ = {s.stack, s.place, StatedNumbers(*s.stack)};
  if (s.draft_stack != nullptr) draft_ = {s.draft_stack, s.draft_place, StatedNumbers(*s.draft_stack)};
}

std::size_t ScenarioLeaves::size() const {
  const auto of = [](const auto& sizes) { return sizes ? sizes->numbers.size() : 0; };
  return leaf_count<ScenarioFigures<>> + of(model_) + of(draft_);
}

std::vector<FieldInfo> ScenarioLeaves::fields() const {
  const auto figures = describe<ScenarioFigures<>>();
  std::vector<FieldInfo> out(figures.begin(), figures.end());
  const auto add = [&](const auto& sizes, std::string_view owner) {
    if (!sizes) return;
    for (auto& f :
         sizes->numbers.fields(std::string(owner) + ".stacks[" + std::to_string(sizes->place) + "]."))
      out.push_back(std::move(f));
  };
  add(model_, "workload");
  add(draft_, "draft_model");
  return out;
}

std::vector<double> ScenarioLeaves::read(const ScenarioInputs<>& in) const {
  std::vector<double> out;
  out.reserve(size());
  read_leaves(static_cast<const ScenarioFigures<>&>(in), [&](std::size_t, double x) { out.push_back(x); });
  for (const auto* sizes : {&model_, &draft_})
    if (*sizes)
      for (const double x : (*sizes)->numbers.values()) out.push_back(x);
  return out;
}

template <class T> ScenarioInputs<T> ScenarioLeaves::write(std::span<const T> leaves) const {
  ScenarioInputs<T> out;
  write_leaves(static_cast<ScenarioFigures<T>&>(out), [&](std::size_t i) { return leaves[i]; });
  std::size_t at = leaf_count<ScenarioFigures<>>;
  const auto view = [&](const std::optional<Sizes>& sizes, std::shared_ptr<const StackView<T>>& to) {
    if (!sizes) return;
    to =
        stack_view<T>(*sizes->stack, sizes->place, sizes->numbers, leaves.subspan(at, sizes->numbers.size()));
    at += sizes->numbers.size();
  };
  view(model_, out.stack);
  view(draft_, out.draft_stack);
  return out;
}
template ScenarioInputs<double> ScenarioLeaves::write(std::span<const double>) const;

std::vector<double> scenario_leaves(const ScenarioShape& shape, const ScenarioInputs<>& in) {
  return ScenarioLeaves(shape).read(in);
}

}  // namespace mlsysim
