#pragma once
/// A measurand made of a table struct of inputs and a function.

#include <mlsysim/price/pricing.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/validation/measurand.hpp>

#include <optional>

namespace mlsysim::detail {

template <TableStruct Case, Prediction (*predict_case)(const Case&, const PredictionContext&)>
class CaseMeasurand final : public Measurand {
 public:
  constexpr CaseMeasurand(std::string_view name, MeasurandKind kind, std::string_view unit,
                          std::string_view about)
      : name_(name), kind_(kind), unit_(unit), about_(about) {}
  std::string_view name() const override { return name_; }
  std::string_view about() const override { return about_; }
  MeasurandKind kind() const override { return kind_; }
  std::string_view unit() const override { return unit_; }
  std::span<const FieldInfo> inputs() const override { return describe<Case>(); }
  std::shared_ptr<void> blank() const override { return std::make_shared<Case>(); }
  Prediction predict(const void* inputs, const PredictionContext& context) const override {
    return predict_case(*static_cast<const Case*>(inputs), context);
  }

 private:
  std::string_view name_;
  MeasurandKind kind_;
  std::string_view unit_, about_;
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

/// What a yardstick reads the views with.
[[nodiscard]] inline const Pricing& pricing_of(Yardstick y) {
  if (y == Yardstick::roofline) return roofline_pricing();
  return y == Yardstick::textbook ? textbook_pricing() : operator_pricing();
}

/// Roofline of a list of operators: all work over peak, or all traffic over bandwidth, whichever is longer.
template <class Keep> [[nodiscard]] Time<> roofline_of(const OpList<>& ops, const Device<>& d, Keep&& keep) {
  Work<> work;
  Data<> traffic;
  for (const auto& op : ops)
    if (keep(op)) {
      work += op.work * op.count;
      traffic += op.traffic * op.count;
    }
  return max(work / d.compute.dense, traffic / d.memory.bandwidth);
}

}  // namespace mlsysim::detail
