#include <mlsysim/estimate/problem_law.hpp>

#include "evaluate_any.hpp"

#include <mlsysim/specs/leaves.hpp>
#include <mlsysim/tape/record.hpp>

#include <algorithm>
#include <cstdint>

namespace mlsysim {

/// A list of records is part of the tape, with their names.
template <class R> void append_records(std::string& key, std::span<const R> records) {
  append_key(key, records.size());
  for (const R& record : records)
    for_each_field<R>([&](const auto& row) {
      using M = std::remove_cvref_t<decltype(record.*(row.member))>;
      if constexpr (std::is_same_v<M, std::optional<double>>)
        append_key(key, (record.*(row.member)).value_or(-1.0));
      else if constexpr (std::is_same_v<M, std::string>)
        key += record.*(row.member);
      else
        append_key(key, record.*(row.member));
    });
}
void append_key(std::string& key, const Listed& records) {
  append_records(key, records.convolution);
  append_records(key, records.operators);
}

/// Adds a stack's choices to the key: flags, choices, stated members, and which layers are alike.
void append_key(std::string& key, const std::shared_ptr<const StackView<>>& stack) {
  append_key(key, stack != nullptr);
  if (stack == nullptr) return;
  append_key(key, stack->place);
  const auto visit = [&](const MemberPlace& at) {
    key += at.path;
    const bool there = at.type.form != MemberForm::maybe || at.type.count(at.member) > 0;
    append_key(key, there);
    const auto form = at.type.inner().form;
    const void* member = at.type.form == MemberForm::maybe && there ? at.type.at(at.member, 0) : at.member;
    if (form == MemberForm::flag) append_key(key, *static_cast<const bool*>(member));
    if (form == MemberForm::choice && there) append_key(key, at.type.inner().index(member));
  };
  for_each_member(field_table<Stack>(), const_cast<Stack*>(stack->stated), visit);
  for (const std::size_t kind : kinds_of_places(*stack->stated)) append_key(key, kind);
}

/// Software is a runtime of the zoo on a device, for a model whose kinds are part of the key already.
void append_key(std::string& key, const std::shared_ptr<const Software>& software) {
  append_key(key, software != nullptr);
  if (software == nullptr) return;
  append_key(key, software->runtime);
  append_key(key, software->clock.base());
  append_key(key, software->l2_cache.base());
  for (const auto& kernel : software->kernels) append_key(key, kernel.share);
  append_key(key, software->autocast);
  append_key(key, software->full_precision);
}

/// Shapes with tuned tiles are those of a list in the zoo.
void append_key(std::string& key, const std::shared_ptr<const std::vector<ExpertShape>>& shapes) {
  append_key(key, shapes != nullptr);
  if (shapes == nullptr) return;
  for (const auto& shape : *shapes) {
    append_key(key, shape.experts);
    append_key(key, shape.width);
  }
}

/// Kernels of linear attention are numbers of a family on a device, which are no inputs of the tape.
void append_key(std::string& key, const std::shared_ptr<const SettledRecurrences>& recurrences) {
  append_key(key, recurrences != nullptr);
  if (recurrences == nullptr) return;
  for (const auto& of_rule : recurrences->of)
    for (const auto& k : of_rule) {
      append_key(key, k.known);
      if (!k.known) continue;
      append_key(key, k.family.data());
      append_key(key, k.generation.data());
      append_key(key, k.launch.base());
      append_key(key, k.row.base());
      append_key(key, k.step.base());
    }
}

namespace {

constexpr LawInfo kScenario{
    .id = "Scenario", .equation = "scorecard = f(scenario, device, network, facility, model)", .source = ""};

template <class P> struct EstimateOf;
template <template <class> class P, class T> struct EstimateOf<P<T>> {
  using type = decltype(evaluate(std::declval<const P<T>&>()));
};
template <class P> using estimate_of_t = typename EstimateOf<P>::type;

template <class P, class T> struct OverScalar;
template <template <class> class P, class T> struct OverScalar<P<double>, T> { using type = P<T>; };

/// Stated numbers of the layers of a problem's models, with the model that states them.
struct LayerNumbers {
  std::string_view owner;
  const Stack *stack, *encoder;
  std::size_t place;
  StatedNumbers numbers;
};

template <class P> std::vector<LayerNumbers> layer_numbers(const P& problem) {
  std::vector<LayerNumbers> out;
  for_each_model(const_cast<P&>(problem), [&](std::string_view owner, const ModelView<>& m) {
    if (m.stack && m.stack->stated != nullptr)
      out.push_back({owner, m.stack->stated, m.stack->stated_encoder(), m.stack->place,
                     StatedNumbers(*m.stack->stated)});
  });
  return out;
}

/// The problem over another scalar: categories as in `base`, numbers from `leaves`.
template <class T, class P>
typename OverScalar<P, T>::type over(const P& base, std::span<const LayerNumbers> layers,
                                     std::span<const T> leaves) {
  typename OverScalar<P, T>::type out;
  copy_categories(base, out);
  write_leaves(out, [&](std::size_t i) { return leaves[i]; });
  std::size_t at = leaf_count<P>;
  for (const auto& l : layers) {
    const std::size_t size = l.numbers.size();
    for_each_model(out, [&](std::string_view owner, auto& model) {
      if (owner == l.owner)
        model.stack = stack_view<T>(*l.stack, l.place, l.numbers, leaves.subspan(at, size), l.encoder);
    });
    at += size;
  }
  return out;
}

/// A law that holds its own tape and the names of its inputs.
struct RecordedProblem : ProblemLaw {
  struct Shape : LawShape {
    const RecordedProblem* law;
  };
  std::vector<ListedOperator> operators_;  ///< the tape names them, and may outlive the workload
  Tape tape_;
  Shape shape_{};

  template <class P> void record(P problem) {
    operators_.assign(problem.model.layers.operators.begin(), problem.model.layers.operators.end());
    problem.model.layers.operators = operators_;
    const auto layers = layer_numbers(problem);
    const auto own = describe<P>();
    inputs.assign(own.begin(), own.end());
    for (const auto& l : layers)
      for (auto& f : l.numbers.fields(std::string(l.owner) + ".stacks[" + std::to_string(l.place) + "]."))
        inputs.push_back(std::move(f));
    using E = estimate_of_t<P>;
    const auto numbers = describe<E>();
    results.assign(numbers.begin(), numbers.end());
    shape_ = {{&kScenario,
               [](const LawShape& shape) -> std::span<const FieldInfo> {
                 return static_cast<const Shape&>(shape).law->inputs;
               },
               &describe<E>},
              this};
    tape_ = record_tape(inputs.size(), [&](std::span<const Recorded> in) {
      // One call encloses all others; its inputs are the leaves, in their order.
      mlsysim::detail::CallScope call(*Recorder::current(), &shape_, in, leaf_count<E>);
      const auto out =
          mlsysim::detail::recorded_leaves(mlsysim::evaluate(over<Recorded>(problem, layers, in)));
      call.end(out);
      return std::vector<Recorded>(out.begin(), out.end());
    });
  }
};

/// Per input, whether one of these nodes depends on it.
std::vector<bool> live_inputs(const Tape& tape, std::vector<std::uint8_t> live) {
  const Recording& r = tape.recording();
  std::vector<bool> out(tape.inputs());
  for (std::size_t n = tape.size(); n-- > 0;) {
    if (live[n] == 0) continue;
    if (r.nodes[n].op == TapeOp::input) out[r.nodes[n].a] = true;
    for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { live[o] = 1; });
  }
  return out;
}

}  // namespace

std::string problem_key(const AnyProblem& problem) {
  std::string key;
  append_key(key, problem.index());
  std::visit([&](const auto& p) { append_key(key, p); }, problem);
  return key;
}

std::shared_ptr<const ProblemLaw> record_problem_law(const AnyProblem& problem) {
  auto law = std::make_shared<RecordedProblem>();
  law->info = kScenario;
  std::visit([&](const auto& p) { law->record(p); }, problem);
  law->ProblemLaw::recorded = [](const void* self) -> const Tape& {
    return static_cast<const RecordedProblem*>(self)->tape_;
  };
  // The law is its own state and must not keep itself alive.
  law->self = std::shared_ptr<const void>(law.get(), [](const void*) {});
  const Tape& tape = law->tape_;
  std::vector<std::uint8_t> live(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i) {
    if (tape.fixed(tape.output(i))) continue;
    law->reported.push_back(static_cast<std::uint16_t>(i));
    live[tape.output(i)] = 1;
  }
  law->matters = live_inputs(tape, std::move(live));
  return law;
}

std::vector<bool> ProblemLaw::inputs_of(std::size_t result) const {
  std::vector<std::uint8_t> wanted(tape().size());
  wanted[tape().output(result)] = 1;
  return live_inputs(tape(), std::move(wanted));
}

std::vector<double> problem_leaves(const AnyProblem& problem) {
  std::vector<double> out;
  std::visit(
      [&](const auto& p) {
        read_leaves(p, [&](std::size_t, double x) { out.push_back(x); });
        for (const auto& l : layer_numbers(p))
          for (const double x : l.numbers.values()) out.push_back(x);
      },
      problem);
  return out;
}

MovingProblem::MovingProblem(AnyProblem problem) : base_(std::move(problem)) {
  const auto leaves = problem_leaves(base_);
  const auto own = std::visit([]<class P>(const P&) { return leaf_count<P>; }, base_);
  layers_.assign(leaves.begin() + static_cast<std::ptrdiff_t>(own), leaves.end());
}

std::vector<double> MovingProblem::evaluate(std::span<const double> leaves) const {
  std::vector<double> out;
  std::visit(
      [&]<class P>(const P& base) {
        P moved = base;
        constexpr std::size_t own = leaf_count<P>;
        if (std::equal(layers_.begin(), layers_.end(), leaves.begin() + own))
          write_leaves(moved, [&](std::size_t i) { return leaves[i]; });
        else
          moved = over<double>(base, layer_numbers(base), leaves);
        out.resize(leaf_count<estimate_of_t<P>>);
        read_leaves(mlsysim::evaluate(moved), [&](std::size_t i, double x) { out[i] = x; });
      },
      base_);
  return out;
}

}  // namespace mlsysim
