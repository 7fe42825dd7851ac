#pragma once
/// Cost of differentially private training, the noise it needs, and data for rare groups (wall 20).
///
///   effective_training_time = base_training_time x clipping cost
///   delta = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2)
///   mu = sampling_rate sqrt(steps (exp(1 / noise^2) - 1))      additional_data = 1 / prevalence
///
/// Phi: normal distribution. Clipping cost: 5/3 for ghost norms, measured times for micro-batches (operator).
/// Textbook: slow-down 1 + 2 / epsilon, a teaching constant of the Python package without a basis.
/// Limits: noise in [0.2, 1000]. A step costs the same at every epsilon.
/// Example: 10 h with ghost norms take 16.7 h. Rate 256 / 60,000, 3516 steps, noise 1.3: mu 0.227. A gap of
/// 0.01 at error rate 0.1 needs 14,112 samples per group.
/// @cite abadi2016dpsgd; li2022ghostclipping; bu2020gdp, section 3.2; dong2022gdp, corollary 2.13

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// How the gradient of each example is clipped.
enum class ClippingMethod : std::uint8_t { ghost, microbatch };
template <> inline constexpr auto names_of<ClippingMethod> = ChoiceNames{"clipping method"};

/// Private training at a privacy budget, and samples for the rarest group.
struct ResponsibleEngineeringModel : Model<ResponsibleEngineeringModel> {
  static constexpr std::string_view id = "ResponsibleEngineeringModel";
  static constexpr std::string_view about = "cost of private training and of rare groups";
  static constexpr std::string_view law =
      "effective_training_time = base_training_time clipping cost; delta = Phi(-e/mu + mu/2) - exp(e) "
      "Phi(-e/mu - mu/2)";
  static constexpr std::string_view source = "abadi2016dpsgd";
  static constexpr std::array walls{20};
  static constexpr std::array fallacies{
      Fallacy{"Stronger privacy makes training slower.",
              "A step costs the same at every epsilon; stronger privacy needs more noise, and noise costs "
              "accuracy or larger batches."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    Time<> base_training_time;
    double epsilon = 1, delta = 1e-5, min_subgroup_prevalence = 0.01;
    ClippingMethod method = ClippingMethod::ghost;
    double microbatch = 1, device_batch = 32, seq_len = 512;
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<Precision> precision{};
    double sampling_rate = 0.01, steps = 10000;
    double error_rate = 0.1, detectable_gap = 0.01;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::base_training_time, "base_training_time", "h", "training without privacy").positive(),
          field(&I::epsilon, "epsilon", "", "privacy budget")
              .within(0.01, 100)
              .defaulted("1, convention of MLSys-im"),
          field(&I::delta, "delta", "", "probability that the budget is broken")
              .within(1e-12, 0.5)
              .defaulted("1e-5, convention of MLSys-im"),
          field(&I::min_subgroup_prevalence, "min_subgroup_prevalence", "", "share of the rarest group")
              .within(1e-6, 1)
              .defaulted("0.01, convention of MLSys-im"),
          field(&I::method, "method", "", "how examples are clipped (operator)").defaulted("ghost norms"),
          field(&I::microbatch, "microbatch", "", "examples that are clipped together")
              .at_least(1)
              .counted()
              .defaulted("one"),
          field(&I::device_batch, "device_batch", "", "samples of a step without clipping")
              .at_least(1)
              .counted()
              .defaulted("32"),
          field(&I::seq_len, key::seq_len).defaulted("512 tokens"),
          field(&I::workload, key::workload).defaulted("ghost norms need none"),
          field(&I::hardware, key::hardware).defaulted("ghost norms need none"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::sampling_rate, "sampling_rate", "", "share of the data in one batch")
              .within(1e-9, 1)
              .defaulted("0.01"),
          field(&I::steps, "steps", "", "optimizer steps").at_least(1).counted().defaulted("10000"),
          field(&I::error_rate, "error_rate", "", "error rate whose difference between groups is tested")
              .within(1e-6, 0.999999)
              .defaulted("0.1"),
          field(&I::detectable_gap, "detectable_gap", "", "difference of error rates that must be seen")
              .within(1e-6, 1)
              .defaulted("0.01"),
          field(&I::fidelity, key::fidelity).defaulted("operator: the cost of clipping"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    double dp_slowdown_factor = 1;
    Time<> effective_training_time;
    std::optional<double> noise_multiplier;
    double additional_data_requirement = 1, samples_per_group = 0, audit_samples = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::dp_slowdown_factor, "dp_slowdown_factor", "", "private over plain training time"),
                  field(&R::effective_training_time, "effective_training_time", "h", "training with privacy"),
                  field(&R::noise_multiplier, "noise_multiplier", "",
                        "noise over clipping norm that the budget needs (operator)"),
                  field(&R::additional_data_requirement, "additional_data_requirement", "",
                        "data for one example of the rarest group"),
                  field(&R::samples_per_group, "samples_per_group", "",
                        "samples of a group that show the gap (5 % level, 80 % power)"),
                  field(&R::audit_samples, "audit_samples", "",
                        "samples of everybody that contain as many of the rarest group"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim
