/// The zoo: everything that is known by name.

#include "bindings.hpp"
#include "spec_owner.hpp"
#include "values.hpp"

#include <mlsysim/compile/ingest.hpp>
#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/table/old_names.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

/// Specs with kind, name and aliases, in load order.
py::list specs_of(const Zoo& zoo, const std::string& type) {
  py::list out;
  const auto add = [&]<class T>() {
    for (const T* spec : zoo.all<T>())
      out.append(py::make_tuple(to_python(DynamicValue(spec)), spec->entry->kind, spec->entry->name,
                                spec->entry->aliases));
  };
  if (with_spec_type(type, add)) return out;
  std::string all;
  ZooSpecs::for_each([&]<class T>() { all += (all.empty() ? "" : ", ") + std::string(ObjectType<T>::name); });
  throw LookupError({.id = "mlsysim.python.021",
                     .message = "the zoo holds no '" + type + "'",
                     .key = type,
                     .found = "'" + type + "'",
                     .expected = "one of " + all});
}

/// A file of the user as a zoo of its own; its specs keep it alive.
py::dict load(const std::string& path) {
  const auto zoo =
      std::make_shared<const Zoo>(is_model_file(path) ? model_zoo(read_model(path)) : load_file(path));
  py::dict out;
  ZooSpecs::for_each([&]<class T>() {
    for (const T* spec : zoo->all<T>()) remember(spec, zoo);
    for (const auto& row : specs_of(*zoo, std::string(ObjectType<T>::name)))
      out[row.cast<py::tuple>()[2]] = row.cast<py::tuple>()[0];
  });
  return out;
}

py::object reference(const std::string& key) {
  const Reference* r = standard_zoo().find_reference(key);
  if (r == nullptr) return py::none();
  return py::make_tuple(r->text, r->url);
}

/// What compilers of models left behind, as JSON.
std::string compile_report(const std::vector<std::string>& paths, const py::dict& words, bool strict,
                           bool keep_duplicates) {
  const auto word = [&](const char* name) { return words[name].cast<std::string>(); };
  const IngestHow how{.family = word("family"),
                      .model = word("model"),
                      .commit = word("commit"),
                      .registry = word("registry"),
                      .damage = strict ? Damage::refused : Damage::counted,
                      .duplicates = keep_duplicates ? Duplicates::kept : Duplicates::once};
  const py::gil_scoped_release free;
  return report_json(ingest({paths.begin(), paths.end()}, how));
}

}  // namespace

void bind_zoo(py::module_& m) {
  m.def("_zoo_specs", [](const std::string& type) { return specs_of(standard_zoo(), type); });
  m.def("_load_zoo_file", &load);
  m.def("_model_notes", [](const std::string& path) { return read_model(path).notes; });
  m.def("_compile_report", &compile_report);
  m.def("_reference", &reference);
  m.def("_zoo_directory", [] { return zoo_directory().string(); });
  m.def("_figure_of_convention", [](const std::string& name) {
    const auto path = other_names("conventions." + name);
    constexpr std::string_view device = "hardware.";
    return path.empty() || !path.front().starts_with(device) ? std::string()
                                                             : path.front().substr(device.size());
  });
  m.def("_conventions", [] {
    static auto* kept =
        new std::shared_ptr<Conventions>(std::make_shared<Conventions>(conventions_of(standard_zoo())));
    return *kept;
  });
}

}  // namespace mlsysim::python
