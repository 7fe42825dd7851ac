#pragma once
// Finds the source of each parameter of one device, with one look-up of its kernel families for all.

#include <mlsysim/timing/fill.hpp>

#include <memory>
#include <vector>

namespace mlsysim {

class DeviceFigures {
 public:
  DeviceFigures(const HardwareNode& device, const Conventions& conventions);

  [[nodiscard]] std::optional<FilledFigure> operator()(const FigureRow& row, int depth = 0) const;
  /// From the device's class, or from those that it is like: what each states, else the families of kernels.
  [[nodiscard]] std::optional<FilledFigure> of_class(const FigureRow& row, int depth = 0) const;
  /// From the conventions of the caller.
  [[nodiscard]] std::optional<FilledFigure> of_caller(const FigureRow& row) const;

 private:
  /// Constants of a family that hold on one of the device's classes.
  struct Giver {
    const KernelFamily* family;
    const GenerationConstants* constants;
    std::size_t level;  ///< of the class
  };

  [[nodiscard]] std::optional<FilledFigure> measured(const FigureRow& row, int depth) const;
  [[nodiscard]] std::optional<FilledFigure> of_families(const FigureRow& row, std::span<const Giver> givers,
                                                        int depth) const;
  template <class S>
  [[nodiscard]] std::optional<FilledFigure> given_by(const S& giver, std::optional<std::size_t> offset,
                                                     const FigureRow& row, int depth) const;
  [[nodiscard]] std::optional<double> named_by(std::string_view of, int depth) const;
  [[nodiscard]] int below(int depth) const;

  const HardwareNode& device_;
  const Conventions& conventions_;
  std::vector<const DeviceClass*> classes_;  ///< its own, and those that they are like
  std::vector<Giver> givers_, measured_;     ///< by level; those that were measured on the device itself
  mutable std::unique_ptr<const DeviceFigures>
      part_;  // made when it is asked: a part may lead back to itself
};

}  // namespace mlsysim
