#pragma once
// A replica that batches in flight whose passes take times that are known without the library.

#include "worked.hpp"

#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/views.hpp>

namespace worked {

/// A replica of which everything is known: 40 us a prompt token, 5 ms and 20 us a request for a step.
struct PlainPasses {
  static double prompt(double tokens) { return 40e-6 * tokens; }
  static double step(double requests) { return 5e-3 + 20e-6 * requests; }
};

/// Prices its passes; a request takes one of 400 places, whatever its length.
class PlainEstimator final : public PassEstimator<double> {
 public:
  static constexpr double places = 400;
  PassEstimate<> prefill(const PassRequest<>& ask, const Device<>&, const Links<>&,
                         const double&) const override {
    return taking(PlainPasses::prompt(ask.plan.batch * ask.plan.new_tokens));
  }
  PassEstimate<> decode(const PassRequest<>& ask, const Device<>&, const Links<>&) const override {
    return taking(PlainPasses::step(ask.plan.batch));
  }
  PassEstimate<> inference(const PassRequest<>& ask, const Device<>& d, const Links<>& l) const override {
    return decode(ask, d, l);
  }
  StepEstimate<> step(const PassRequest<>&, const Device<>&, const Links<>&, const double&, const double&,
                      const double&) const override {
    return {};
  }
  StageDemands<> pass_demands(const ModelView<>&, const Plan<>&) const override {
    StageDemands<> d;
    d.first.kv_cache = d.last.kv_cache = 1.0 * unit::kB;
    return d;
  }
  StageDemands<> step_demands(const ModelView<>&, const Plan<>&, const Device<>&) const override {
    return {};
  }
  Data<> cache(const ModelView<>&, const Plan<>& plan) const override {
    return plan.context * 100 * unit::kB;
  }
  double default_microbatches(const ModelView<>&, const Plan<>&, const Device<>&, const double&,
                              const double&) const override {
    return 1;
  }
  SpillTime<> spill_time(const MemoryBreakdown<>&, const PassEstimate<>&, const Device<>&) const override {
    return {};
  }

 private:
  static PassEstimate<> taking(double seconds) {
    PassEstimate<> p;
    p.total = p.slot = p.busy = seconds * unit::s;
    return p;
  }
};

/// The operators' fidelity_model but for the passes.
class PlainModel final : public FidelityModel {
 public:
  Fidelity fidelity() const override { return operators_.fidelity(); }
  ModelView<> model(const Workload& w, Phase phase, Notes& notes) const override {
    return operators_.model(w, phase, notes);
  }
  Device<> device(const HardwareNode& h, const DeviceUse& use, const Conventions& c,
                  Notes& notes) const override {
    return operators_.device(h, use, c, notes);
  }
  Links<> links(const Fleet& f, const Conventions& c, Notes& notes, Phase phase) const override {
    return operators_.links(f, c, notes, phase);
  }
  Storage training_storage(Precision p, OptimizerKind o) const override {
    return operators_.training_storage(p, o);
  }
  void set_overlap(Plan<>& plan, const std::optional<double>& overlap, const std::optional<double>& slowdown,
                   const Conventions& c, Notes& notes) const override {
    operators_.set_overlap(plan, overlap, slowdown, c, notes);
  }
  std::optional<double> answer(double tokens) const override { return operators_.answer(tokens); }

 private:
  const PassEstimator<double>& numbers() const override { return estimator_; }
  const PassEstimator<Recorded>& recorder() const override { return operators_.estimator<Recorded>(); }

  const FidelityModel& operators_ = operator_model();
  PlainEstimator estimator_;
};

inline ReplicaPasses<> plain_passes() {
  static const PlainModel fidelity_model;
  ReplicaPasses<> v;
  v.fidelity_model = &fidelity_model;
  v.step_device.memory.capacity = (PlainEstimator::places + 0.5) * unit::kB;
  v.step_device.draw.resident = 0.5;
  return v;
}

inline InFlightBatchingModel::Inputs request(double prompt, double answer) {
  return {.workload = &model("Llama3_8B"),
          .hardware = &device("H100"),
          .seq_len = prompt,
          .output_tokens = answer};
}

inline InFlightBatchingModel::Result steady(InFlightBatchingModel::Inputs in, ServingEngine engine = {}) {
  Notes quiet;
  if (!in.kv_share) in.kv_share = 1;
  return in_flight(in, engine, plain_passes(), quiet);
}

}  // namespace worked
