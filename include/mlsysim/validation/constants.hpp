#pragma once
/// Zoo parameters of devices, engines and conventions with some values replaced, for ablations and
/// calibration.
///
/// An owner is a device key, "*" for every device that has the parameter, "engine:KEY", or "default" for
/// conventions. Replacing copies a spec on first use. The zoo itself does not change, and reading is not
/// thread-safe.
/// Example: {"A100", "memory.bandwidth", half of its value} slows memory streams on the A100 only. The owner
/// of the engine sglang is "engine:sglang".

#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/views.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace mlsysim {

/// A value for one parameter. "*" means every device that has the parameter, from any source. "default" is a
/// convention, and also replaces the parameter of devices that do not state it. `field` is a path:
/// "efficiency.memory", "host_step", "overlap".
struct ConstantValue {
  std::string owner;
  std::string field;
  double base = 0;  ///< canonical base unit
};

/// The owner text of a device or engine.
[[nodiscard]] std::string owner_of(const HardwareNode& device);
[[nodiscard]] std::string owner_of(const ServingEngine& engine);

/// The parameters of the zoo with some of them replaced.
class Constants {
 public:
  /// @throws LookupError for a field that its owner does not have
  explicit Constants(const Conventions& conventions, std::vector<ConstantValue> changes = {});

  [[nodiscard]] const Conventions& conventions() const { return conventions_; }
  /// The device with its changes; the device itself where nothing changes. Lives as long as this object.
  [[nodiscard]] const HardwareNode& device(const HardwareNode& named) const;
  /// The device as kernels take it, computed once, with another attention family where one is named.
  [[nodiscard]] const Device<>& kernel_device(const HardwareNode& named, Precision precision,
                                              const KernelFamily* attention = nullptr,
                                              Phase phase = Phase::decode) const;
  /// The engine with its changes; the engine itself where nothing changes.
  [[nodiscard]] const ServingEngine& engine(const ServingEngine& named) const;

  /// Uses another entry wherever this one is named, alone or in a node.
  void stand_in(const HardwareNode& named, const HardwareNode& instead) {
    devices_.instead[&named] = &instead;
  }
  void stand_in(const ServingEngine& named, const ServingEngine& instead) {
    engines_.instead[&named] = &instead;
  }
  /// Names of entries whose replacement was not used yet.
  [[nodiscard]] std::vector<std::string> never_asked_for() const;

  /// A copy with further values, which override its own.
  [[nodiscard]] Constants with(std::vector<ConstantValue> changes) const;

 private:
  void change(std::vector<ConstantValue> changes);
  template <class S> struct Changed {
    std::vector<ConstantValue> values;
    std::map<const S*, const S*> instead;
    mutable std::set<const S*> asked;  // of those
    mutable std::map<const S*, std::unique_ptr<S>> copies;
  };
  Conventions conventions_;
  std::shared_ptr<const DeviceClass> silent_;  ///< parameters of devices that do not state them
  Changed<HardwareNode> devices_;
  Changed<ServingEngine> engines_;
  mutable std::map<std::tuple<const HardwareNode*, Precision, const KernelFamily*, Phase>, Device<>>
      kernel_devices_;
};

}  // namespace mlsysim
