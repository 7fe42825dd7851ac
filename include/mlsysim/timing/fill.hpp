#pragma once
/// Resolves each parameter of a device, such as `memory.bandwidth`, to a value and the entry that gives it.
///
/// The first entry that gives the value wins, in this order:
///     the device
///     a kernel family that was measured on the device
///     the part of which the device has several, times their number where the parameter adds up
///     0 or 1, where the parameter belongs to each unit and the units are not counted
///     the caller's conventions
///     the class of the device, or a kernel family on that class
/// A class may state a rule, factor times another parameter, in place of a value.
///
/// Example: `kernels.launch` of a V100 follows a rule of class gpu: 5170 cycles / 1.53 GHz = 3.38 us.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/provenance.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mlsysim {

/// A number of a device: "memory.bandwidth", "kernels.launch", "compute.dense.fp16".
struct FigureRow {
  std::string path;
  FieldRow row;                          ///< unit, meaning and range; its name is the last part of the path
  const MemberType* type;                ///< of the member, which is optional
  std::size_t offset;                    ///< of the member in HardwareNode [byte]
  std::optional<std::size_t> in_class;   ///< of the member in DeviceClass, where classes have it [byte]
  std::optional<std::size_t> in_family;  ///< of the member in GenerationConstants, likewise [byte]

  /// The value that the device itself states [base unit].
  [[nodiscard]] std::optional<double> stated(const HardwareNode& device) const;
  void state(HardwareNode& device, double base) const;
};

/// All of them, in the order of the device's table.
[[nodiscard]] std::span<const FigureRow> figure_rows();
/// The row of this path, or null.
[[nodiscard]] const FigureRow* find_figure_row(std::string_view path);

/// The origin of a device parameter.
enum class FigureOrigin : std::uint8_t {
  stated,    ///< the device
  measured,  ///< a family of kernels, measured on the device
  part,      ///< the device of which this one is many
  per_unit,  ///< no entry: it belongs to each unit, and their count is not known
  caller,    ///< Conventions::devices
  value,     ///< a class, or a family of kernels on it
  rule       ///< a class or a family of kernels, by a rule from another parameter
};

/// A parameter of a device with its origin.
struct FilledFigure {
  double base = 0;  ///< [base unit]
  FigureOrigin origin = FigureOrigin::stated;
  const HardwareNode* part = nullptr;         ///< the part that gives it
  const DeviceClass* device_class = nullptr;  ///< the class that gives it
  const FigureRule* rule = nullptr;           ///< its rule
  const KernelFamily* family = nullptr;       ///< the family that gives it, by these constants
  const GenerationConstants* constants = nullptr;

  /// Whether it is the device's own: stated, or measured on it.
  [[nodiscard]] bool own() const {
    return origin == FigureOrigin::stated || origin == FigureOrigin::measured;
  }
  /// The name of the entry that gives it: of a family, else of a class.
  [[nodiscard]] const std::string& giver() const {
    return family != nullptr ? family->name : device_class->name;
  }
  /// The source in words: "class gpu", "class systolic: 0.12 x memory.bandwidth", "part GB200",
  /// "class hopper (usual_attention)".
  [[nodiscard]] SharedText source() const;
};

/// The parameter of a device, in the order above. None where no entry gives it.
/// @throws InputError for rules that run in a circle
[[nodiscard]] std::optional<FilledFigure> filled(const FigureRow& row, const HardwareNode& device,
                                                 const Conventions& conventions);

/// The value of the device's class, or of a kernel family on it, whatever the device states.
[[nodiscard]] std::optional<FilledFigure> filled_by_class(const FigureRow& row, const HardwareNode& device,
                                                          const Conventions& conventions);

/// The figure as the file of a class or family has it: what was written, and by what it is multiplied to be
/// this one. Null where no such entry gives it.
struct AuthoredFigure {
  const Figure* figure = nullptr;
  const Source* source = nullptr;
  double factor = 1;
  std::optional<std::pair<double, double>> range{};  ///< of this one; wider where it is carried [base unit]
};
/// The range that a figure states, or that the spread of its estimate makes [base unit].
[[nodiscard]] std::optional<std::pair<double, double>> range_of(const Figure& figure, const Source& source);
[[nodiscard]] AuthoredFigure authored(const FilledFigure& filled, const FigureRow& row);

/// The value of one parameter [base unit]. A note names its source where the device does not state it.
/// @throws InputError naming device, path and class where no source states it
[[nodiscard]] double needed_figure(std::string_view path, const HardwareNode& device,
                                   const Conventions& conventions, Notes& notes);
template <class Q>
[[nodiscard]] Q needed(std::string_view path, const HardwareNode& device, const Conventions& conventions,
                       Notes& notes) {
  return Q::from_base(needed_figure(path, device, conventions, notes));
}

/// The value of the conventions' class for a device that does not exist yet, noted [base unit].
/// @throws InputError where the class has none
[[nodiscard]] double class_figure(std::string_view path, const Conventions& conventions, Notes& notes);

/// The class of a device, or that of devices which state none.
[[nodiscard]] const DeviceClass& class_of(const HardwareNode& device, const Conventions& conventions);

}  // namespace mlsysim
