#pragma once
/// The table of figures of a device: every number under its path in the zoo's files, and who gives it where
/// the device does not state it.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/provenance.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mlsysim {

/// A number of a device: "memory.bandwidth", "kernels.launch", "compute.dense.fp16".
struct FigureRow {
  std::string path;
  FieldRow row;                         ///< unit, meaning and range; its name is the last part of the path
  const MemberType* type;               ///< of the member, which is optional
  std::size_t offset;                   ///< of the member in HardwareNode [byte]
  std::optional<std::size_t> in_class;  ///< of the member in DeviceClass, where classes have it [byte]

  /// What the device itself states [base unit].
  [[nodiscard]] std::optional<double> stated(const HardwareNode& device) const;
  void state(HardwareNode& device, double base) const;
};

/// All of them, in the order of the device's table.
[[nodiscard]] std::span<const FigureRow> figure_rows();
/// The row of this path, or null.
[[nodiscard]] const FigureRow* find_figure_row(std::string_view path);

/// Who gives a figure.
enum class FigureOrigin : std::uint8_t {
  stated,    ///< the device
  part,      ///< the device of which this one is many
  per_unit,  ///< nobody: it belongs to each unit, and their count is not known
  caller,    ///< Conventions::devices
  value,     ///< a class
  rule       ///< a class, by a rule from another figure
};

/// A figure of a device with its origin.
struct FilledFigure {
  double base = 0;  ///< [base unit]
  FigureOrigin origin = FigureOrigin::stated;
  const HardwareNode* part = nullptr;         ///< the part that gives it
  const DeviceClass* device_class = nullptr;  ///< the class that gives it
  const FigureRule* rule = nullptr;           ///< its rule

  /// Who gives it, in words: "class gpu", "class systolic: 0.12 x memory.bandwidth", "part GB200".
  [[nodiscard]] SharedText source() const;
};

/// The figure of a device: its own; that of its part, times the number of parts where it adds up; 0 or 1
/// where it belongs to units that are not counted; the caller's; that of its class. None where nobody gives
/// it.
/// @throws InputError for rules that run in a circle
[[nodiscard]] std::optional<FilledFigure> filled(const FigureRow& row, const HardwareNode& device,
                                                 const Conventions& conventions);

/// What the device's class gives, whatever the device states.
[[nodiscard]] std::optional<FilledFigure> filled_by_class(const FigureRow& row, const HardwareNode& device,
                                                          const Conventions& conventions);

/// The figure as its class's file has it: what was written, and by what it is multiplied to be this one. Null
/// where no entry of a class gives it.
struct AuthoredFigure {
  const Figure* figure = nullptr;
  const Source* source = nullptr;
  double factor = 1;
};
[[nodiscard]] AuthoredFigure authored(const FilledFigure& filled, const FigureRow& row);

/// The same of one figure that is needed, and noted where the device does not state it [base unit].
/// @throws InputError naming device, path and class where nobody gives it
[[nodiscard]] double needed_figure(std::string_view path, const HardwareNode& device,
                                   const Conventions& conventions, Notes& notes);
template <class Q>
[[nodiscard]] Q needed(std::string_view path, const HardwareNode& device, const Conventions& conventions,
                       Notes& notes) {
  return Q::from_base(needed_figure(path, device, conventions, notes));
}

/// What the conventions' class gives to a device that is not there yet, noted [base unit].
/// @throws InputError where it gives none
[[nodiscard]] double class_figure(std::string_view path, const Conventions& conventions, Notes& notes);

/// The class of a device, or that of devices which state none.
[[nodiscard]] const DeviceClass& class_of(const HardwareNode& device, const Conventions& conventions);

}  // namespace mlsysim
