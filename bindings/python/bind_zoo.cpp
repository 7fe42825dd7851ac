/// The zoo: everything that is known by name.

#include "bindings.hpp"
#include "spec_owner.hpp"
#include "values.hpp"

#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/specs/conventions.hpp>
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

/// The specs of a zoo, which they keep alive, by their names.
py::dict specs_of_zoo(const std::shared_ptr<const Zoo>& zoo) {
  py::dict out;
  ZooSpecs::for_each([&]<class T>() {
    for (const T* spec : zoo->all<T>()) remember(spec, zoo);
    for (const auto& row : specs_of(*zoo, std::string(ObjectType<T>::name)))
      out[row.cast<py::tuple>()[2]] = row.cast<py::tuple>()[0];
  });
  return out;
}

/// A file of the user as a zoo of its own.
py::dict load(const std::string& path) {
  return specs_of_zoo(
      std::make_shared<const Zoo>(names_model(path) ? model_zoo(model_of_path(path)) : load_file(path)));
}

/// @param text empty for the file of this name
Program program_of(const std::string& name, const py::object& text, const std::map<std::string, double>& dims,
                   const std::map<std::string, double>& trips, const std::vector<std::string>& weights,
                   bool force) {
  ProgramOptions options{.dims = {dims.begin(), dims.end()},
                         .trips = {trips.begin(), trips.end()},
                         .weights = weights,
                         .force = force};
  return text.is_none() ? read_program(name, options)
                        : read_program_text(text.cast<std::string>(), name, options);
}

py::list operators_of(const Program& p) {
  py::list out;
  for (const auto& op : p.ops) {
    if (op.touch == Touch::none) continue;
    const auto shapes = [&](const std::vector<std::uint32_t>& values) {
      py::list list;
      for (const auto v : values)
        list.append(py::make_tuple(p.values[v].type.element->name, p.values[v].type.dims));
      return list;
    };
    out.append(py::make_tuple(op.name, op.path, name_of(op.kind), op.times, op.rows, op.columns, op.depth,
                              op.copies, op.flops, op.transcendentals, op.line, op.kernel,
                              shapes(op.operands), shapes(op.results)));
  }
  return out;
}

py::dict sums_of(const Program& p) {
  const auto t = totals_of(p);
  py::dict d;
  d["operators"] = t.operators;
  d["kernels"] = t.kernels;
  d["convolutions"] = t.convolutions;
  d["products"] = t.products;
  d["macs"] = t.macs;
  d["flops"] = t.flops;
  d["transcendentals"] = t.transcendentals;
  d["weights"] = t.weights;
  d["weight_bytes"] = t.weight_bytes;
  d["traffic"] = t.traffic;
  d["fused_traffic"] = t.fused_traffic;
  d["peak_activations"] = t.peak_activations;
  return d;
}

void bind_programs(py::module_& m) {
  py::class_<Program>(m, "_Program")
      .def_readonly("name", &Program::name)
      .def_readonly("format", &Program::format)
      .def_readonly("version", &Program::version)
      .def_readonly("symbols", &Program::symbols)
      .def_readonly("open", &Program::open)
      .def_readonly("notes", &Program::notes)
      .def_property_readonly(
          "unknown",
          [](const Program& p) { return std::map<std::string, double>(p.unknown.begin(), p.unknown.end()); })
      .def_property_readonly("branches",
                             [](const Program& p) {
                               py::list out;
                               for (const auto& b : p.branches)
                                 out.append(py::make_tuple(b.name, b.least, b.most));
                               return out;
                             })
      .def_property_readonly("main_format", [](const Program& p) { return std::string(main_format(p).name); })
      .def_property_readonly("operators", &operators_of)
      .def_property_readonly("totals", &sums_of)
      .def("workload",
           [](const Program& p) {
             return specs_of_zoo(std::make_shared<const Zoo>(model_zoo(program_model(p))));
           })
      .def("graph", [](const Program& p, const std::string& language, int depth) {
        return program_graph(p, language == "dot" ? GraphLanguage::dot : GraphLanguage::mermaid, depth);
      });
  m.def("_read_program", &program_of);
}

py::object reference(const std::string& key) {
  const Reference* r = standard_zoo().find_reference(key);
  if (r == nullptr) return py::none();
  return py::make_tuple(r->text, r->url);
}

/// Report on the files that compilers of models wrote, as JSON.
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
  m.def("_model_notes", [](const std::string& path) { return model_of_path(path).notes; });
  bind_programs(m);
  m.def("_compile_report", &compile_report);
  m.def("_reference", &reference);
  m.def("_zoo_directory", [] { return zoo_directory().string(); });
  m.def("_conventions", [] {
    static auto* kept =
        new std::shared_ptr<Conventions>(std::make_shared<Conventions>(conventions_of(standard_zoo())));
    return *kept;
  });
}

}  // namespace mlsysim::python
