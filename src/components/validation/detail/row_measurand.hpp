#pragma once
/// A measurand made of a row, which is a table struct, and a function.

#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/validation/measurand.hpp>

#include <cmath>

namespace mlsysim::detail {

/// The fields of a row: its own, and those of the structs in it, each under its own name. A resolver's inputs
/// lack what the context of a prediction gives, and what the row states itself under the same name.
[[nodiscard]] std::vector<FieldInfo> fields_of_row(std::span<const FieldInfo> described);

/// A row binds to the inputs `in` of the resolver, law or part of a spec that answers it, and has beside them
/// what a source states otherwise.
template <TableStruct Row, Prediction (*predict_row)(const Row&, const PredictionContext&)>
class RowMeasurand final : public Measurand {
 public:
  constexpr RowMeasurand(std::string_view name, MeasuredMetric metric, MeasurandKind kind,
                         std::string_view unit, std::string_view about)
      : name_(name), metric_(metric), kind_(kind), unit_(unit), about_(about) {}
  std::string_view name() const override { return name_; }
  std::string_view about() const override { return about_; }
  std::string_view metric() const override { return metric_.key; }
  MeasurandKind kind() const override { return kind_; }
  std::string_view unit() const override { return unit_; }
  std::span<const FieldInfo> inputs() const override {
    static const auto fields = fields_of_row(describe<Row>());
    return fields;
  }
  std::shared_ptr<void> blank() const override { return std::make_shared<Row>(); }
  Prediction predict(const void* inputs, const PredictionContext& context) const override {
    return predict_row(*static_cast<const Row*>(inputs), context);
  }

 private:
  std::string_view name_;
  MeasuredMetric metric_;
  MeasurandKind kind_;
  std::string_view unit_, about_;
};

/// The nodes that hold the devices of a row, with the constants of the context.
struct RowFleet {
  Node node;
  Fleet fleet;

  /// @param each devices of a node that take part; 0: all
  RowFleet(const Node& named, const NetworkFabric* fabric, double devices, const PredictionContext& context,
           double each = 0)
      : node(named) {
    node.accelerator = &context.constants->device(*named.accelerator);
    if (each > 0) node.accelerators_per_node = each;
    fleet.node = &node;
    fleet.fabric = fabric;
    fleet.count = std::ceil(devices / node.accelerators_per_node);
  }
  RowFleet(const RowFleet&) = delete;
  RowFleet& operator=(const RowFleet&) = delete;
};

/// Targets of each family, for the list of all.
[[nodiscard]] std::vector<const Measurand*> kernel_measurands();
[[nodiscard]] std::vector<const Measurand*> collective_measurands();
[[nodiscard]] std::vector<const Measurand*> training_measurands();
[[nodiscard]] std::vector<const Measurand*> serving_measurands();
[[nodiscard]] std::vector<const Measurand*> steady_measurands();
[[nodiscard]] std::vector<const Measurand*> diffusion_measurands();
[[nodiscard]] std::vector<const Measurand*> other_measurands();

/// The terms of a priced pass, where they are wanted.
inline std::vector<PredictionTerm> terms_of(const PassBreakdown<>& cost, const PredictionContext& context) {
  if (!context.wants_terms) return {};
  return {{"compute", cost.compute_bound.base()},
          {"memory", cost.memory_bound.base()},
          {"network", cost.network.base()},
          {"launch", cost.overhead.base()}};
}

/// The fidelity with which a yardstick estimates time.
[[nodiscard]] inline const FidelityModel& fidelity_model_of(Yardstick y) {
  if (y == Yardstick::roofline) return roofline_model();
  return y == Yardstick::textbook ? textbook_model() : operator_model();
}

/// Roofline of a list of operators: all work over peak, or all traffic over bandwidth, whichever is longer.
template <class Keep> [[nodiscard]] Time<> roofline_of(const OpList<>& ops, const Device<>& d, Keep&& keep) {
  Work<> work;
  Data<> traffic;
  for (const auto& op : ops)
    if (keep(op)) {
      work += op.work * op.count;
      traffic += op.memory_bytes * op.count;
    }
  return max(work / d.compute.dense, traffic / d.memory.bandwidth);
}

}  // namespace mlsysim::detail
