/// Devices: HardwareNode and its parts.

#include "spec_table.hpp"

#include <mlsysim/specs/detail/default_precision.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/zoo/loader.hpp>

namespace mlsysim::python {
namespace {

ComputeRate<> rate_of(const HardwareNode& hw, const py::object& precision) {
  return precision.is_none() ? hw.compute.peak_flops() : rate_at(hw, read_precision(precision, "a device"));
}

/// `peak_flops` is the dense rate at the default precision.
void assign_core(const SpecType& type, void* spec, const py::dict& values, Building& building) {
  py::dict rest;
  py::object peak = py::none();
  for (const auto& [key, value] : values) {
    const auto name = key.cast<std::string>();
    if (name == "peak_flops") {
      peak = py::reinterpret_borrow<py::object>(value);
      continue;
    }
    if (type.alias(name) == nullptr && type.member(name) == nullptr && name.find('.') == std::string::npos) {
      SpecType named = type;
      named.aliases.push_back({"peak_flops", "peak_flops"});
      refuse_keyword(named, name, building);
    }
    rest[key] = value;
  }
  assign_keywords(type, spec, rest, building);
  if (peak.is_none()) {
    if (!rest.contains("default_precision"))
      detail::settle_default_precision(*static_cast<ComputeCore*>(spec));
    return;
  }
  Member row;
  row.range.name = "peak_flops";
  row.range.unit = "TFLOP/s";
  row.range.meaning = "dense rate at the default precision";
  row.range.exps = dim::compute_rate::exps;
  row.range.low = 0;
  row.range.open_low = true;
  auto& core = *static_cast<ComputeCore*>(spec);
  core.dense[core.default_precision] = ComputeRate<>::from_base(read_number(peak, row, building));
}

}  // namespace

void bind_spec(py::module_& m) {
  SpecClass<ComputeCore>(
      m, "ComputeCore",
      "Arithmetic units: rates per precision. `peak_flops` is the dense rate at `default_precision`.",
      {{"precision_flops", "dense"}, {"sm_count", "units"}})
      .assigned_by(&assign_core)
      .property("peak_flops",
                "dense rate at the default precision [TFLOP/s]; None where the core has no rate",
                [](const ComputeCore& c) -> py::object {
                  if (c.dense.empty() && c.vector.empty()) return py::none();
                  return to_python(AnyQuantity(c.peak_flops()), "TFLOP/s");
                });
  SpecClass<SecondMemoryTier>(m, "SecondMemoryTier",
                              "Slower memory that the device addresses beside its main memory.");
  SpecClass<MemoryHierarchy>(m, "MemoryHierarchy", "Memories of a device, nearest last.",
                             {{"shared_memory_per_sm", "shared_memory_per_unit"},
                              {"register_file_per_sm", "register_file_per_unit"}});
  SpecClass<StorageHierarchy>(m, "StorageHierarchy", "Local storage.");
  SpecClass<IOInterconnect>(m, "IOInterconnect", "A link of a device; the bandwidth is one way.",
                            {{"bandwidth_per_direction", "bandwidth"}});
  SpecClass<PowerEnvelope>(m, "PowerEnvelope", "Power limits.");
  SpecClass<SustainedShare<>>(m, "SustainedShare",
                              "Shares of the data-sheet peak that well-tuned kernels sustain.");
  SpecClass<PowerDraw<>>(m, "PowerDraw", "What a device draws beyond idle at full rates.");
  SpecClass<KernelTimes<>>(m, "KernelTimes", "Fixed times of kernels.");
  SpecClass<Tiles<>>(m, "Tiles", "How kernels cut their work for the units of a device.");
  SpecClass<CollectiveTimes>(m, "CollectiveTimes", "What collectives of the library take inside a node.");
  SpecClass<PartitionProfile>(m, "PartitionProfile", "A slice into which a device can be divided.");
  SpecClass<FigureRule>(m, "FigureRule", "A figure that follows from another one of the same device.");
  SpecClass<UsualRuntimes>(m, "UsualRuntimes",
                           "The runtimes of a class of devices where a question names none.");
  SpecClass<DeviceClass>(m, "DeviceClass", "Figures that devices of one kind have in common.");
  SpecClass<HardwareNode>(m, "HardwareNode", "One accelerator or processor.",
                          {{"tdp", "power.tdp"},
                           {"tdp_min", "power.tdp_min"},
                           {"tdp_max", "power.tdp_max"},
                           {"battery_capacity", "power.battery_capacity"},
                           {"interconnect", "host_link"},
                           {"nvlink", "device_link"},
                           {"dispatch_tax", "dispatch_overhead"}})
      .def(
          "figures",
          [](const HardwareNode& hw) {
            static const Conventions conventions = conventions_of(standard_zoo());
            py::dict out;
            for (const auto& row : figure_rows())
              if (const auto f = filled(row, hw, conventions))
                out[py::str(row.path)] =
                    py::make_tuple(to_python(AnyQuantity::from_base(f->base, row.type->inner().exps),
                                             std::string(row.row.unit)),
                                   f->origin == FigureOrigin::stated ? "stated" : f->source().str());
            return out;
          },
          "Every figure of the device by its path, as (value, who gives it): the device itself (\"stated\"), "
          "the "
          "device of which it is a part, the rule of figures of single units, or its class.")
      .def(
          "rate_at",
          [](const HardwareNode& hw, const py::object& precision) {
            return to_python(AnyQuantity(rate_of(hw, precision)), "TFLOP/s");
          },
          py::arg("precision") = py::none(),
          "Dense rate at a precision [TFLOP/s]; LookupError where there is none.")
      .def(
          "ridge_point",
          [](const HardwareNode& hw, const py::object& precision) {
            if (!hw.memory.bandwidth)
              throw InputError({.id = "mlsysim.python.012",
                                .message = "'" + hw.name + "' has no memory bandwidth",
                                .key = "memory.bandwidth",
                                .found = "nothing",
                                .expected = "the bandwidth of the main memory"});
            return to_python(AnyQuantity(rate_of(hw, precision) / *hw.memory.bandwidth), "FLOP/B");
          },
          py::arg("precision") = py::none(), "Intensity above which arithmetic limits the time [FLOP/B].");
}

}  // namespace mlsysim::python
