#pragma once
/// Classes of devices: the values that stand in for parameters that a device does not state.
///
///     value = times * of      or      value = times / of      for a `FigureRule`, in base units
///
/// A class states a value or a rule. A parameter with neither comes from the class `like`.
/// Example: kernels.launch = 5170 / compute.clock is 2.61 us on a device at 1.98 GHz.

#include <mlsysim/specs/hardware.hpp>

namespace mlsysim {

/// A parameter that follows from another parameter of the device.
struct FigureRule {
  std::string figure;  ///< path of the wanted parameter: "device_link.bandwidth"
  std::string of;      ///< path of the known one: "memory.bandwidth", or "1 / compute.clock"
  double times = 1;

  template <class R = FigureRule> static constexpr auto fields() {
    return rows(field(&R::figure, "figure", "", "path of the figure that follows"),
                field(&R::of, "of", "", "path of the figure from which it follows"),
                field(&R::times, "times", "", "factor between them").positive());
  }
};

/// The runtimes of a class of devices where a question names none, by their keys.
struct UsualRuntimes {
  std::string serve, diffuse;

  template <class R = UsualRuntimes> static constexpr auto fields() {
    return rows(
        field(&R::serve, "serve", "", "of language models that serve requests")
            .defaulted("of the class that it is like"),
        field(&R::diffuse, "diffuse", "", "of diffusion models").defaulted("of the class that it is like"));
  }
};

/// Parameters that devices of one kind have in common, under the paths of a device.
struct DeviceClass {
  std::string name;
  const DeviceClass* like = nullptr;
  ComputeCore compute;
  IOInterconnect host_link, device_link;
  std::optional<Time<>> dispatch_overhead;
  SustainedShare<> efficiency;
  PowerDraw<> draw;
  KernelTimes<> kernels;
  Tiles<> tiles;
  CollectiveTimes collectives;
  std::vector<FigureRule> rules;
  UsualRuntimes runtimes;
  const Entry* entry = nullptr;  ///< the zoo's entry, null for a class made by hand

  template <class C = DeviceClass> static constexpr auto fields() {
    return rows(
        field(&C::name, "name", "", "key of the class"),
        field(&C::like, "like", "", "the class that gives what this one does not").defaulted("none"),
        field(&C::compute, "compute", "", "arithmetic units").defaulted("absent"),
        field(&C::host_link, "host_link", "", "link to the host").defaulted("absent"),
        field(&C::device_link, "device_link", "", "link between devices").defaulted("absent"),
        field(&C::dispatch_overhead, "dispatch_overhead", "us", "fixed time of one invocation")
            .non_negative(),
        field(&C::efficiency, "efficiency", "", "sustained shares").defaulted("absent"),
        field(&C::draw, "draw", "", "dynamic power of the full rates").defaulted("absent"),
        field(&C::kernels, "kernels", "", "fixed times of kernels").defaulted("absent"),
        field(&C::tiles, "tiles", "", "how kernels cut their work").defaulted("absent"),
        field(&C::collectives, "collectives", "", "collectives inside a node").defaulted("absent"),
        field(&C::rules, "rules", "", "figures that follow from others of the device").defaulted("none"),
        field(&C::runtimes, "runtimes", "", "runtimes where a question names none").defaulted("absent"));
  }
};

}  // namespace mlsysim
