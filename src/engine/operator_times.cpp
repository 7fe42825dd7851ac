#include <mlsysim/engine/operator_times.hpp>

#include <mlsysim/lowering/lower.hpp>
#include <mlsysim/timing/op_price.hpp>
#include <mlsysim/timing/views.hpp>

#include <algorithm>

namespace mlsysim {

std::vector<OperatorTime> operator_times(const Workload& workload, const HardwareNode& hardware,
                                         std::optional<Precision> asked, double batch,
                                         const Conventions& conventions) {
  Notes notes;
  const auto view = model_view(workload, Phase::inference);
  const Precision precision = precision_or_default(asked, hardware, notes);
  const auto device = device_view(hardware, precision, conventions, notes, Phase::inference);
  Plan<> plan;
  plan.batch = batch;
  set_storage(plan, inference_storage(precision, std::nullopt));
  OpList<> ops;
  (void)lower(view.structure, view.shape(), view.layers, plan, ops);
  std::vector<OperatorTime> out;
  auto record = workload.operators.begin();
  for (const auto& op : ops.span()) {
    while (record != workload.operators.end() && record->joined) ++record;
    if (record == workload.operators.end()) break;
    const auto cost = price(op, device, Links<>{});
    out.push_back({&*record++, op.count, cost.total, cost.compute, cost.memory, cost.overhead,
                   op.work * op.count, op.memory_bytes * op.count});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const OperatorTime& a, const OperatorTime& b) { return a.time > b.time; });
  return out;
}

}  // namespace mlsysim
