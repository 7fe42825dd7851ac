#include "resolvers/laws/traced_laws.hpp"

#include <mlsysim/estimate/problem_law.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/tape/record.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace mlsysim::detail {
namespace {

const Workload& model(std::string_view name) { return standard_zoo().at<Workload>(name); }
const HardwareNode& device() { return standard_zoo().at<HardwareNode>("H100"); }
const Fleet& fleet() { return standard_zoo().at<Fleet>("Research_256"); }

/// Nodes of a tape that the results depend on, with some inputs fixed: a decided choice keeps one branch, and
/// a product with zero keeps none of its factors.
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

/// The laws behind those results of a problem whose names begin with `prefix`. @param alone one device holds
/// the whole model
void add_laws(const ProblemLaw& law, std::string_view prefix, bool alone, bool exchanges,
              std::vector<std::string_view>& out) {
  static constexpr std::array<std::string_view, 6> degrees{
      "links.level1.peers", "tp_size", "pp_size", "ep_size", "expert_tp_size", "cp_size"};
  const Tape& tape = law.tape();
  std::vector<std::optional<double>> fixed(tape.inputs());
  // A node of one device is as good as any for a device that exchanges nothing.
  const auto ones = std::span(degrees).subspan(exchanges ? 1 : 0);
  if (alone)
    for (std::size_t i = 0; i < law.inputs.size(); ++i)
      if (std::find(ones.begin(), ones.end(), law.inputs[i].name) != ones.end()) fixed[i] = 1.0;
  std::vector<bool> wanted(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i)
    if (law.results[i].name.starts_with(prefix)) wanted[tape.output(i)] = true;
  add_laws(tape.recording(), live_nodes(tape.recording(), fixed, std::move(wanted)), out);
}

/// Cost, energy and carbon, whatever is run.
void add_macro_laws(std::vector<std::string_view>& out) {
  constexpr std::size_t own = leaf_count<MacroProblem<Recorded>>;
  const Tape tape = record_tape(own + 4, [](std::span<const Recorded> in) {
    MacroProblem<Recorded> p;
    write_leaves(p, [&](std::size_t i) { return in[i]; });
    const auto leaves =
        recorded_leaves(macro_estimate<Recorded>(p, {.tdp = Power<Recorded>::from_base(in[own]),
                                                     .idle_fraction = in[own + 1],
                                                     .accelerators = in[own + 2],
                                                     .utilization = in[own + 3]}));
    return std::vector<Recorded>(leaves.begin(), leaves.end());
  });
  std::vector<bool> all(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i) all[tape.output(i)] = true;
  add_laws(tape.recording(),
           live_nodes(tape.recording(), std::vector<std::optional<double>>(tape.inputs()), std::move(all)),
           out);
}

/// Problems of a question. Degrees are numbers of the tape, so one problem stands for every plan.
std::vector<AnyProblem> problems_of(Question question, Fidelity fidelity) {
  Notes quiet;
  std::vector<AnyProblem> out;
  switch (question) {
    case Question::serving:
      out.push_back(settle(ServingModel::Inputs{.workload = &model("Llama3_70B"),
                                                .hardware = &device(),
                                                .output_tokens = 128,
                                                .draft_model = &model("Llama3_8B"),
                                                .fidelity = fidelity},
                           quiet));
      [[fallthrough]];
    case Question::passes:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B"})
        out.push_back(settle(
            ServingModel::Inputs{
                .workload = &model(name), .hardware = &device(), .output_tokens = 128, .fidelity = fidelity},
            quiet));
      break;
    case Question::training:
    case Question::node_step:
    case Question::training_memory:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B"})
        for (const double zero : {0.0, 3.0})
          out.push_back(settle(DistributedModel::Inputs{.workload = &model(name),
                                                        .fleet = &fleet(),
                                                        .batch_size = 256,
                                                        .zero_stage = zero,
                                                        .fidelity = fidelity},
                               quiet));
      break;
    case Question::inference:
    case Question::kernels:
      for (const auto name : {"Llama3_8B", "Mixtral_8x7B", "BERT_Base", "ResNet50"})
        out.push_back(
            settle_inference({.workload = &model(name), .hardware = &device(), .fidelity = fidelity}, quiet));
      break;
    case Question::macro:
    case Question::none:
      break;
  }
  return out;
}

/// Results of the question begin with this.
constexpr std::string_view results_of(Question question) {
  switch (question) {
    case Question::training_memory:
      return "memory";
    case Question::kernels:
      return "latency";
    default:
      return "";
  }
}

}  // namespace

std::vector<std::string_view> traced_laws(Question question) {
  std::vector<std::string_view> out;
  for (const Question one : {Question::serving, Question::passes, Question::training, Question::node_step,
                             Question::training_memory, Question::inference, Question::kernels}) {
    if (!asks(question, one)) continue;
    const bool alone = one == Question::inference || one == Question::kernels || one == Question::node_step;
    for (const FidelityModel* fidelity_model : {&operator_model(), &textbook_model()}) {
      if (one == Question::kernels && !fidelity_model->lists_operators()) continue;
      for (const auto& problem : problems_of(one, fidelity_model->fidelity()))
        add_laws(*record_problem_law(problem), results_of(one), alone, one == Question::node_step, out);
    }
  }
  if (asks(question, Question::macro)) add_macro_laws(out);
  return out;
}

}  // namespace mlsysim::detail
