#pragma once
/// A level of detail (textbook, operator or roofline): it makes numeric views and names their pass estimator.
///
/// A request may name the level. Otherwise it is the operator level where the shape of the workload is known.
/// Workloads without a shape get the textbook. No request names the roofline, which is a yardstick.
///
/// Example: without a named level, Llama3_8B gets `operator_model()` and ACT_ALOHA gets `textbook_model()`.
/// The zoo states the shape of the first, and only totals of the second.

#include <mlsysim/scalars/recorded.hpp>
#include <mlsysim/timing/pass_estimator.hpp>
#include <mlsysim/timing/views.hpp>

#include <optional>

namespace mlsysim {

/// Formats, phase and options that decide the rates of a device.
struct DeviceUse {
  Precision precision = Precision::fp16;
  Phase phase = Phase::decode;
  Params<> params{};                     ///< of the model: small ones may work from memory on the chip
  std::optional<double> efficiency{};    ///< of the caller, over the peak rate
  std::optional<Execution> execution{};  ///< how kernels are launched
  AttentionKernel kernel = AttentionKernel::fused;  ///< generation of the attention kernel
  std::optional<Precision> kv_precision{};          ///< of the cache, where it is stated
};

class FidelityModel {
 public:
  FidelityModel() = default;
  FidelityModel(const FidelityModel&) = delete;
  FidelityModel& operator=(const FidelityModel&) = delete;
  virtual ~FidelityModel() = default;

  [[nodiscard]] virtual Fidelity fidelity() const = 0;
  /// The estimator over double or over the recording scalar.
  template <class T> [[nodiscard]] const PassEstimator<T>& estimator() const {
    if constexpr (std::is_same_v<T, double>)
      return numbers();
    else
      return recorder();
  }

  /// Structure, sizes and totals of a workload for one phase. @throws InputError naming what is missing
  [[nodiscard]] virtual ModelView<> model(const Workload& workload, Phase phase, Notes& notes) const = 0;
  /// The numbers of a device; every convention that fills a gap is noted.
  [[nodiscard]] virtual Device<> device(const HardwareNode& hardware, const DeviceUse& use,
                                        const Conventions& conventions, Notes& notes) const = 0;
  /// The two levels of a fleet.
  [[nodiscard]] virtual Links<> links(const Fleet& fleet, const Conventions& conventions, Notes& notes,
                                      Phase phase) const = 0;
  /// Storage of weights, gradients and optimizer states in training.
  [[nodiscard]] virtual Storage training_storage(Precision precision, OptimizerKind optimizer) const = 0;
  /// Share of a pass under which gradient traffic hides, and what that costs the kernels.
  virtual void set_overlap(Plan<>& plan, const std::optional<double>& overlap,
                           const std::optional<double>& slowdown, const Conventions& conventions,
                           Notes& notes) const = 0;
  /// Whether the host time and the scheduling of an engine are part of the price.
  [[nodiscard]] virtual bool prices_engines() const { return true; }
  /// Whether a time is a sum over operators.
  [[nodiscard]] virtual bool lists_operators() const { return true; }
  /// Warns of what the structure of a training step asks for and is not priced.
  virtual void warn_of(const Structure& /*training*/, Notes& /*notes*/) const {}
  /// Tokens of an answer that a pass sees; absent where every token is priced at the length of the prompt.
  [[nodiscard]] virtual std::optional<double> answer(double tokens) const = 0;

 private:
  [[nodiscard]] virtual const PassEstimator<double>& numbers() const = 0;
  [[nodiscard]] virtual const PassEstimator<Recorded>& recorder() const = 0;
};

/// Chooses the model of a request, and notes the choice where none is named.
/// @throws InputError when operators are asked for and the shape is not known
[[nodiscard]] const FidelityModel& fidelity_model_for(std::optional<Fidelity> fidelity,
                                                      const Workload& workload, Notes& notes);
[[nodiscard]] const FidelityModel& fidelity_model_of(Fidelity fidelity);
[[nodiscard]] const FidelityModel& operator_model();
[[nodiscard]] const FidelityModel& textbook_model();
/// The roofline of whole passes.
[[nodiscard]] const FidelityModel& roofline_model();

/// Published totals; work defaults to 2 FLOP per active weight and unit (noted).
/// @throws InputError when neither parameters nor a size are known
[[nodiscard]] Totals<> totals_of(const Workload& workload, Notes& notes);

}  // namespace mlsysim
