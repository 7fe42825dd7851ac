// The roofline of a whole pass: all work over the peak rate, or all traffic over the peak bandwidth. The
// yardstick beside which measurements and the other pricers are read.

#include "timing/operators/operator_estimator.hpp"

#include <mlsysim/tape/record.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim {
namespace {

template <class T> class RooflineEstimator final : public detail::OperatorEstimator<T> {
 public:
  PassEstimate<T> prefill(const PassRequest<T>& request, const Device<T>& device, const Links<T>& /*links*/,
                          const T& /*prompt*/) const override {
    return roof(request, device);
  }
  PassEstimate<T> decode(const PassRequest<T>& request, const Device<T>& device,
                         const Links<T>& /*links*/) const override {
    return roof(request, device);
  }
  PassEstimate<T> inference(const PassRequest<T>& request, const Device<T>& device,
                            const Links<T>& /*links*/) const override {
    return roof(request, device);
  }

 private:
  /// Every layer once over all stages; a stage has an equal part.
  [[nodiscard]] PassEstimate<T> roof(const PassRequest<T>& request, const Device<T>& device) const {
    OpList<T> ops;
    const auto& m = request.model;
    const T layers = layers_of(m.structure, m.shape(), m.layers);
    const auto sum = forward_totals(m.structure, m.shape(), m.layers, request.plan, ops)
                         .stage(T{1.0}, T{1.0}, layers / m.blocks(request.plan));
    PassEstimate<T> out;
    auto& cost = out.cost;
    cost.work = sum.work;
    cost.traffic = sum.memory_bytes;
    const Time<T> arithmetic = sum.work / device.compute.dense,
                  memory = sum.memory_bytes / device.memory.bandwidth;
    out.total = out.busy = cost.total = max(arithmetic, memory);
    const auto by_compute = arithmetic > memory;
    cost.compute_bound = select(by_compute, arithmetic, Time<T>());
    cost.memory_bound = select(by_compute, Time<T>(), memory);
    out.slot = out.total / request.plan.pp;
    out.demands = this->pass_demands(m, request.plan);
    return out;
  }
};

}  // namespace

template <> const PassEstimator<double>& roofline_estimator<double>() {
  static const RooflineEstimator<double> estimator;
  return estimator;
}
template <> const PassEstimator<Recorded>& roofline_estimator<Recorded>() {
  static const RooflineEstimator<Recorded> estimator;
  return estimator;
}

}  // namespace mlsysim
