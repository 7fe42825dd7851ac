#pragma once
/// Constants of devices, engines and conventions as a vector of numbers: what ablations neutralise and
/// calibration fits.

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

/// A value for one figure. `owner` is the key of a device, "*" for every device that has the figure, whoever
/// gives it, "engine:" and the key of a serving engine, or "default" for a convention and for devices that
/// are silent; `field` is its path ("efficiency.memory", "host_step", "overlap").
struct ConstantValue {
  std::string owner;
  std::string field;
  double base = 0;  ///< canonical base unit
};

/// The owner of the figures of a device or engine.
[[nodiscard]] std::string owner_of(const HardwareNode& device);
[[nodiscard]] std::string owner_of(const ServingEngine& engine);

/// The figures of the zoo with some of them replaced. Reading is not thread-safe: specs are copied on first
/// use.
class Constants {
 public:
  /// @throws LookupError for a field that its owner does not have
  explicit Constants(const Conventions& conventions, std::vector<ConstantValue> changes = {});

  [[nodiscard]] const Conventions& conventions() const { return conventions_; }
  /// The device with its changes; the device itself where nothing changes. Lives as long as this object.
  [[nodiscard]] const HardwareNode& device(const HardwareNode& named) const;
  /// Its figures as kernels take them, found once: with another family of attention where one is named.
  [[nodiscard]] const Device<>& kernel_device(const HardwareNode& named, Precision precision,
                                              const KernelFamily* attention = nullptr,
                                              Phase phase = Phase::decode) const;
  /// The same for an engine.
  [[nodiscard]] const ServingEngine& engine(const ServingEngine& named) const;

  /// Another entry is predicted wherever this one is asked for, alone or in a node.
  void stand_in(const HardwareNode& named, const HardwareNode& instead) {
    devices_.instead[&named] = &instead;
  }
  void stand_in(const ServingEngine& named, const ServingEngine& instead) {
    engines_.instead[&named] = &instead;
  }
  /// Names of entries that have a replacement which was not used yet.
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
  std::shared_ptr<const DeviceClass> silent_;  ///< figures of devices that do not state them
  Changed<HardwareNode> devices_;
  Changed<ServingEngine> engines_;
  mutable std::map<std::tuple<const HardwareNode*, Precision, const KernelFamily*, Phase>, Device<>>
      kernel_devices_;
};

}  // namespace mlsysim
