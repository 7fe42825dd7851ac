/// The zoo: everything that is known by name.

#include "bindings.hpp"
#include "spec_owner.hpp"
#include "values.hpp"

#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <pybind11/stl.h>

#include <string>

namespace mlsysim::python {
namespace {

template <class T>
void list_specs(const Zoo& zoo, py::list& out) {
  for (const T* spec : zoo.all<T>()) {
    const py::object object = py::cast(std::shared_ptr<T>(owner_of(spec), const_cast<T*>(spec)));
    out.append(py::make_tuple(object, spec->entry->kind, spec->entry->name, spec->entry->aliases));
  }
}

/// Specs with kind, name and aliases, in load order.
py::list specs_of(const Zoo& zoo, const std::string& type) {
  py::list out;
  if (type == "hardware") list_specs<HardwareNode>(zoo, out);
  else if (type == "workload") list_specs<Workload>(zoo, out);
  else if (type == "node") list_specs<Node>(zoo, out);
  else if (type == "fabric") list_specs<NetworkFabric>(zoo, out);
  else if (type == "fleet") list_specs<Fleet>(zoo, out);
  else if (type == "pod") list_specs<Pod>(zoo, out);
  else if (type == "rack") list_specs<Rack>(zoo, out);
  else if (type == "storage") list_specs<StorageTier>(zoo, out);
  else if (type == "grid") list_specs<GridProfile>(zoo, out);
  else if (type == "cooling") list_specs<CoolingProfile>(zoo, out);
  else if (type == "datacenter") list_specs<Datacenter>(zoo, out);
  else if (type == "figure") list_specs<ScalarFigure>(zoo, out);
  else
    throw LookupError({.id = "mlsysim.python.021",
                       .message = "the zoo holds no '" + type + "'",
                       .key = type,
                       .found = "'" + type + "'",
                       .expected = "hardware, workload, node, fabric, fleet, pod, rack, storage, grid, cooling, "
                                   "datacenter or figure"});
  return out;
}

template <class T>
void remember_specs(const std::shared_ptr<const Zoo>& zoo) {
  for (const T* spec : zoo->all<T>()) remember(spec, zoo);
}

/// A file of the user as a zoo of its own; its specs keep it alive.
py::dict load(const std::string& path) {
  const auto zoo = std::make_shared<const Zoo>(load_file(path));
  remember_specs<HardwareNode>(zoo);
  remember_specs<Workload>(zoo);
  remember_specs<Node>(zoo);
  remember_specs<NetworkFabric>(zoo);
  remember_specs<Fleet>(zoo);
  remember_specs<Pod>(zoo);
  remember_specs<Rack>(zoo);
  remember_specs<StorageTier>(zoo);
  remember_specs<GridProfile>(zoo);
  remember_specs<CoolingProfile>(zoo);
  remember_specs<Datacenter>(zoo);
  remember_specs<ScalarFigure>(zoo);
  py::dict out;
  for (const char* type : {"hardware", "workload", "node", "fabric", "fleet", "pod", "rack", "storage", "grid", "cooling",
                           "datacenter", "figure"})
    for (const auto& row : specs_of(*zoo, type)) out[row.cast<py::tuple>()[2]] = row.cast<py::tuple>()[0];
  return out;
}

py::object reference(const std::string& key) {
  const Reference* r = standard_zoo().find_reference(key);
  if (r == nullptr) return py::none();
  return py::make_tuple(r->text, r->url);
}

}  // namespace

void bind_zoo(py::module_& m) {
  m.def("_zoo_specs", [](const std::string& type) { return specs_of(standard_zoo(), type); });
  m.def("_load_zoo_file", &load);
  m.def("_reference", &reference);
  m.def("_zoo_directory", [] { return zoo_directory().string(); });
  m.def("_conventions", [] {
    static auto* kept = new std::shared_ptr<Conventions>(std::make_shared<Conventions>(conventions_of(standard_zoo())));
    return *kept;
  });
}

}  // namespace mlsysim::python
