#include <mlsysim/plugin/program.hpp>

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>

namespace mlsysim::plugin {

Program program_of(const Workload& workload, const HardwareNode& hardware) {
  Program out;
  out.name = workload.name;
  const auto precision = hardware.compute.default_precision;
  out.precision = name_of(precision);
  SingleNodeModel::Inputs in;
  in.workload = &workload;
  in.hardware = &hardware;
  in.precision = precision;
  in.fidelity = operator_model().fidelity();
  Notes notes;
  const auto problem = settle_inference(in, notes);
  Plan<> plan = problem.plan;
  plan.context = problem.sequences ? problem.seq_len : 1;
  plan.new_tokens = problem.model.structure.phase == Phase::decode ? 1 : plan.context;
  OpList<> ops;
  (void)lower(problem.model.structure, problem.model.shape(), problem.model.layers, plan, ops);
  for (const auto& op : ops) {
    if (!(op.count > 0) || (op.kind == OpKind::collective && op.ranks <= 1)) continue;  // of several devices
    out.ops.push_back({std::string(op.name),
                       std::string(name_of(op.kind)),
                       {},
                       {},
                       op.count,
                       op.work.base(),
                       op.memory_bytes.base()});
  }
  out.memory = (parameter_count(workload) * problem.plan.weight_bytes).base();
  return out;
}

}  // namespace mlsysim::plugin
