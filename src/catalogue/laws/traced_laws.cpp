#include "catalogue/laws/traced_laws.hpp"

#include <mlsysim/answer/scenario_law.hpp>
#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace mlsysim::detail {
namespace {

const Workload& model(std::string_view name) { return standard_zoo().at<Workload>(name); }
const HardwareNode& device() { return standard_zoo().at<HardwareNode>("H100"); }
const Fleet& fleet() { return standard_zoo().at<Fleet>("Research_256"); }

/// What of a tape an answer hangs on, where some inputs keep a value: a choice that is made leaves one
/// branch, and a product with nothing is nothing.
std::vector<bool> live_nodes(const Recording& r, std::span<const std::optional<double>> inputs,
                             std::vector<bool> live) {
  std::vector<std::optional<double>> fixed(r.nodes.size());
  for (std::size_t n = 0; n < r.nodes.size(); ++n) {
    const TapeNode& node = r.nodes[n];
    if (node.op == TapeOp::input)
      fixed[n] = inputs[node.a];
    else if (node.op == TapeOp::constant)
      fixed[n] = r.constants[node.a];
    else if (node.op == TapeOp::select && fixed[node.a])
      fixed[n] = fixed[*fixed[node.a] != 0 ? node.b : node.c];
    else if (node.op == TapeOp::multiply && (fixed[node.a] == 0.0 || fixed[node.b] == 0.0))
      fixed[n] = 0.0;
    else if (node.op == TapeOp::divide && fixed[node.a] == 0.0)
      fixed[n] = 0.0;
    else if (node.op != TapeOp::loop) {
      const int operands = operands_of(node.op);
      const std::optional<double> none = 0.0, &a = fixed[node.a], &b = operands > 1 ? fixed[node.b] : none,
                                  &c = operands > 2 ? fixed[node.c] : none;
      if (a && b && c) fixed[n] = compute(node.op, *a, *b, *c);
    }
  }
  for (std::size_t n = r.nodes.size(); n-- > 0;) {
    if (!live[n]) continue;
    const TapeNode& node = r.nodes[n];
    if (fixed[n])
      live[n] = false;
    else if (node.op == TapeOp::select && fixed[node.a])
      live[*fixed[node.a] != 0 ? node.b : node.c] = true;
    else
      for_each_operand(r, node, [&](std::uint32_t o) { live[o] = true; });
  }
  return live;
}

/// The laws with a result on which live nodes hang.
void add_laws(const Recording& r, const std::vector<bool>& live, std::vector<std::string_view>& out) {
  for (const TapeCall& call : r.calls) {
    const std::string_view id = call.law->info->id;
    const auto given = std::span(r.call_values).subspan(call.first + call.inputs, call.results);
    const bool used = std::any_of(given.begin(), given.end(),
                                  [&](std::uint32_t n) { return live[n] && r.nodes[n].op != TapeOp::input; });
    if (used && id != "Scenario" && std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  }
}

/// The laws behind those results of a scenario whose paths begin with `table`. @param alone one device holds
/// the whole model
void add_laws(const Tape& tape, std::string_view table, bool alone, std::vector<std::string_view>& out) {
  static constexpr std::array<std::string_view, 11> degrees{"links.level1.peers",
                                                            "run.tp_size",
                                                            "run.pp_size",
                                                            "run.ep_size",
                                                            "run.expert_tp_size",
                                                            "run.cp_size",
                                                            "plan.tp",
                                                            "plan.pp",
                                                            "plan.ep",
                                                            "plan.expert_tp",
                                                            "plan.cp"};
  const auto inputs = describe<ScenarioFigures<>>(), results = describe<ScenarioResults<>>();
  std::vector<std::optional<double>> fixed(tape.inputs());
  // A node of one device is as good as any for a device that exchanges nothing.
  const std::span<const std::string_view> ones =
      std::span(degrees).subspan(table.starts_with("inference") ? 0 : 1);
  if (alone)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (std::find(ones.begin(), ones.end(), inputs[i].name) != ones.end()) fixed[i] = 1.0;
  std::vector<bool> wanted(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i)
    if (results[i].name.starts_with(table)) wanted[tape.output(i)] = true;
  add_laws(tape.recording(), live_nodes(tape.recording(), fixed, std::move(wanted)), out);
}

/// Cost, energy and carbon, whatever is run.
void add_macro_laws(std::vector<std::string_view>& out) {
  const Tape tape = record_tape(leaf_count<Facility<Recorded>> + 8, [](std::span<const Recorded> in) {
    MacroViews<Recorded> v;
    write_leaves(v.facility, [&](std::size_t i) { return in[i + 8]; });
    v.tdp = Power<Recorded>::from_base(in[0]);
    v.idle_fraction = in[1];
    v.accelerators = in[2];
    v.utilization = in[3];
    v.period = Time<Recorded>::from_base(in[4]);
    v.infrastructure = in[5];
    v.energy_price = MoneyPerEnergy<Recorded>::from_base(in[6]);
    v.unit_cost = Money<Recorded>::from_base(in[7]);
    const auto leaves = recorded_leaves(macro_numbers(v));
    return std::vector<Recorded>(leaves.begin(), leaves.end());
  });
  std::vector<bool> all(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i) all[tape.output(i)] = true;
  add_laws(tape.recording(),
           live_nodes(tape.recording(), std::vector<std::optional<double>>(tape.inputs()), std::move(all)),
           out);
}

const Stack* stated(const ModelView<>& model) { return model.stack ? model.stack->stated : nullptr; }

ScenarioShape shape_of(const ServingViews<>& v) {
  return {.kind = ScenarioKind::serving,
          .pricing = v.pricing,
          .prefill = v.prefill.structure,
          .decode = v.decode.structure,
          .draft = v.draft.structure,
          .layers = v.prefill.layers,
          .stack = stated(v.prefill),
          .draft_stack = stated(v.draft),
          .generates = v.generates,
          .drafts = v.drafts,
          .chunks = v.chunks};
}
ScenarioShape shape_of(const TrainingViews<>& v) {
  return {.kind = ScenarioKind::training,
          .pricing = v.pricing,
          .prefill = v.model.structure,
          .layers = v.model.layers,
          .stack = stated(v.model),
          .division = v.division,
          .sequences = v.sequences};
}
ScenarioShape shape_of(const InferenceViews<>& v) {
  return {.kind = ScenarioKind::inference,
          .pricing = v.pricing,
          .prefill = v.model.structure,
          .layers = v.model.layers,
          .stack = stated(v.model),
          .sequences = v.sequences};
}

/// The shapes of a question. Degrees are numbers of the tape, so one shape stands for every plan.
std::vector<ScenarioShape> shapes_of(Question question, Fidelity fidelity) {
  Notes quiet;
  std::vector<ScenarioShape> out;
  switch (question) {
    case Question::serving:
      out.push_back(shape_of(prepare_serving({.workload = &model("Llama3_70B"),
                                              .hardware = &device(),
                                              .output_tokens = 128,
                                              .draft_model = &model("Llama3_8B"),
                                              .fidelity = fidelity},
                                             quiet)));
      [[fallthrough]];
    case Question::passes:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B"})
        out.push_back(shape_of(prepare_serving(
            {.workload = &model(name), .hardware = &device(), .output_tokens = 128, .fidelity = fidelity},
            quiet)));
      break;
    case Question::training:
    case Question::node_step:
    case Question::training_memory:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B"})
        for (const double zero : {0.0, 3.0})
          out.push_back(shape_of(prepare_training({.workload = &model(name),
                                                   .fleet = &fleet(),
                                                   .batch_size = 256,
                                                   .zero_stage = zero,
                                                   .fidelity = fidelity},
                                                  quiet)));
      break;
    case Question::inference:
    case Question::kernels:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B", "BERT_Base", "ResNet50"})
        out.push_back(shape_of(prepare_inference(
            {.workload = &model(name), .hardware = &device(), .fidelity = fidelity}, quiet)));
      break;
    case Question::macro:
    case Question::none:
      break;
  }
  return out;
}

constexpr std::string_view table_of(Question question) {
  switch (question) {
    case Question::serving:
    case Question::passes:
      return "serving.";
    case Question::training:
    case Question::node_step:
      return "training.";
    case Question::training_memory:
      return "training.memory";
    case Question::inference:
      return "inference.";
    case Question::kernels:
      return "inference.latency";
    case Question::macro:
    case Question::none:
      break;
  }
  return "";
}

}  // namespace

std::vector<std::string_view> traced_laws(Question question) {
  std::vector<std::string_view> out;
  for (const Question one : {Question::serving, Question::passes, Question::training, Question::node_step,
                             Question::training_memory, Question::inference, Question::kernels}) {
    if (!asks(question, one)) continue;
    const bool alone = one == Question::inference || one == Question::kernels || one == Question::node_step;
    for (const Pricing* pricing : {&operator_pricing(), &textbook_pricing()}) {
      if (one == Question::kernels && !pricing->lists_operators()) continue;
      for (const auto& shape : shapes_of(one, pricing->fidelity()))
        add_laws(record_scenario_law(shape)->tape(), table_of(one), alone, out);
    }
  }
  if (asks(question, Question::macro)) add_macro_laws(out);
  return out;
}

}  // namespace mlsysim::detail
