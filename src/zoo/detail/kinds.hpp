#pragma once
/// The kinds of files and the specs they hold, in one list.

#include <mlsysim/specs/zoo.hpp>

#include <array>
#include <string_view>

namespace mlsysim::detail {

/// One kind of file: `schema: mlsysim/<name>@<version>`.
struct KindInfo {
  std::string_view name;
  int version;
  std::string_view meaning;
};

inline constexpr std::array<KindInfo, 22> kKinds{{
    {"hardware", 1, "accelerators and processors"},
    {"device_class", 1, "what devices of a kind have in common"},
    {"model", 2, "machine-learning models"},
    {"node", 1, "hosts with their accelerators"},
    {"fabric", 1, "networks between nodes"},
    {"cluster", 1, "equal nodes joined by a fabric"},
    {"pod", 1, "accelerators joined without nodes"},
    {"rack", 1, "racks"},
    {"storage", 1, "classes of storage"},
    {"grid", 1, "electricity of a region"},
    {"cooling", 1, "ways of cooling"},
    {"datacenter", 1, "facilities on a grid"},
    {"engine", 1, "software that runs models"},
    {"kernel_family", 1, "kernels of a framework or an engine"},
    {"switch", 1, "figures of switches and optics"},
    {"reliability", 1, "failure and recovery figures"},
    {"price", 1, "prices"},
    {"convention", 1, "planning figures and conventions"},
    {"capacity", 1, "lead times and queues"},
    {"embodied_carbon", 1, "greenhouse gases of manufacture"},
    {"references", 1, "works that are cited"},
    {"figure", 1, "any other named figure"},
}};

[[nodiscard]] constexpr const KindInfo* find_kind(std::string_view name) {
  for (const auto& kind : kKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

/// Calls f<T>() with the spec type of a kind; false for "references" and for an unknown kind.
template <class F> bool with_spec_of(std::string_view kind, F&& f) {
  if (kind == "hardware") return f.template operator()<HardwareNode>(), true;
  if (kind == "device_class") return f.template operator()<DeviceClass>(), true;
  if (kind == "model") return f.template operator()<Workload>(), true;
  if (kind == "node") return f.template operator()<Node>(), true;
  if (kind == "fabric") return f.template operator()<NetworkFabric>(), true;
  if (kind == "cluster") return f.template operator()<Fleet>(), true;
  if (kind == "pod") return f.template operator()<Pod>(), true;
  if (kind == "rack") return f.template operator()<Rack>(), true;
  if (kind == "storage") return f.template operator()<StorageTier>(), true;
  if (kind == "grid") return f.template operator()<GridProfile>(), true;
  if (kind == "cooling") return f.template operator()<CoolingProfile>(), true;
  if (kind == "datacenter") return f.template operator()<Datacenter>(), true;
  if (kind == "kernel_family") return f.template operator()<KernelFamily>(), true;
  if (kind == "engine") return f.template operator()<ServingEngine>(), true;
  if (kind == "references" || find_kind(kind) == nullptr) return false;
  return f.template operator()<ScalarFigure>(), true;
}

}  // namespace mlsysim::detail
