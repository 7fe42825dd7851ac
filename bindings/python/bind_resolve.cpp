/// Resolvers: what is registered, and the `solve` of each.

#include "keywords.hpp"
#include "result_box.hpp"
#include "values.hpp"

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/resolver_api/input_guard.hpp>
#include <mlsysim/resolver_api/registry.hpp>
#include <mlsysim/resolver_api/tier_scope.hpp>
#include <mlsysim/resolvers/walls.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <pybind11/stl.h>

#include <optional>
#include <string>

namespace mlsysim::python {
namespace {

/// A scope of the tiers for a `with` of Python: from now on a resolver of this tier runs.
class ScopeOfTier {
 public:
  ScopeOfTier(const std::string& tier, std::string name)
      : tier_(choice_of<Tier>(tier).value_or(Tier::model)), name_(std::move(name)) {}
  void enter() { scope_.emplace(tier_, name_); }
  void leave() { scope_.reset(); }

 private:
  Tier tier_;
  std::string name_;
  std::optional<TierScope> scope_;
};

/// Everything that a call of `solve` needs, made once per resolver.
struct Solve {
  std::shared_ptr<const Resolver> resolver;
  Keywords keywords;
  InputGuard guard;
  PyTypeObject* result_type;
  py::object infeasible;  ///< called with name, reason, smallest change, facts
  bool searches;
  std::string doc;
  PyMethodDef def{};

  Solve(std::shared_ptr<const Resolver> r, const py::type& type, py::object on_infeasible, std::string text)
      : resolver(std::move(r)),
        keywords(resolver->inputs(), resolver->info().name),
        guard(resolver->inputs()),
        result_type(reinterpret_cast<PyTypeObject*>(type.ptr())),
        infeasible(std::move(on_infeasible)),
        searches(resolver->info().tier == Tier::optimizer),
        doc(std::move(text)) {}

  PyObject* call(PyObject* const* args, Py_ssize_t count, PyObject* names) const {
    auto box = std::make_shared<Box>(resolver);
    if (static_cast<std::size_t>(count) > keywords.fields().size())
      throw InputError({.id = "mlsysim.python.017",
                        .message = resolver->info().name + " got too many values",
                        .found = std::to_string(count),
                        .expected = "at most " + std::to_string(keywords.fields().size())});
    for (Py_ssize_t i = 0; i < count; ++i)
      keywords.write(static_cast<std::size_t>(i), box->inputs(), args[i], box->supplied, box->keeps);
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) {
      const std::size_t at = keywords.index_of(PyTuple_GET_ITEM(names, i));
      if (box->supplied[at])
        throw InputError({.id = "mlsysim.python.018",
                          .message = "'" + keywords.fields()[at].name + "' of " + resolver->info().name +
                                     " is given twice",
                          .key = keywords.fields()[at].name,
                          .found = "two values",
                          .expected = "one"});
      keywords.write(at, box->inputs(), args[count + i], box->supplied, box->keeps);
    }
    keywords.require(box->supplied);
    guard.check(box->inputs(), resolver->info().name);
    SolveContext context;
    NoteBook notes;
    if (searches) context.notes = Notes(notes);  // a search is not repeated to hear its notes
    Status status{};
    {
      const py::gil_scoped_release free;
      status = resolver->solve(box->inputs(), box->own_result(), context);
    }
    if (status == Status::infeasible) {
      py::dict facts;
      for (const auto& f : context.why.facts) facts[py::str(f.name)] = f.value;
      return infeasible(resolver->info().name, context.why.reason, context.why.smallest_change, facts)
          .release()
          .ptr();
    }
    check_result(resolver->outputs(), box->result(), resolver->info().name,
                 {resolver->inputs(), box->inputs()});
    if (searches) box->set_notes(std::move(notes));
    return make_result(result_type, std::move(box)).release().ptr();
  }
};

/// Repeats a failed call with the names and forms of inputs that mlsysim.compat knows; empty where it knows
/// none.
py::object with_old_names(const Resolver& resolver, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) {
  py::tuple given(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    given[static_cast<std::size_t>(i)] = py::reinterpret_borrow<py::object>(args[i]);
  py::dict named;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    named[py::handle(PyTuple_GET_ITEM(names, i))] = py::reinterpret_borrow<py::object>(args[count + i]);
  const auto again = py::module_::import("mlsysim.compat").attr("solve_again");
  return again(resolver.info().name, given, named);
}

PyObject* call_solve(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const auto* solve = static_cast<const Solve*>(PyCapsule_GetPointer(self, "mlsysim.solve"));
  try {
    return solve->call(args, count, names);
  } catch (...) {
    set_python_error();
  }
  try {
    py::error_already_set error;  // what stays, unless the inputs can be read in another way
    const py::object result = with_old_names(*solve->resolver, args, count, names);
    if (!result.is_none()) return py::object(result).release().ptr();
    error.restore();
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

/// A builtin function: Python calls it without argument tuples in between.
py::object solve_function(const std::shared_ptr<Resolver>& resolver, const py::type& result,
                          const py::object& infeasible, const std::string& doc) {
  auto solve = std::make_unique<Solve>(resolver, result, infeasible, doc);
  // Classes of resolvers live as long as the process, and so do their functions.
  Solve* kept = solve.release();
  kept->def.ml_name = "solve";
  kept->def.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_solve));
  kept->def.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  kept->def.ml_doc = kept->doc.c_str();
  const py::capsule self(kept, "mlsysim.solve");
  const auto module = py::str("mlsysim.resolvers");
  return py::reinterpret_steal<py::object>(PyCFunction_NewEx(&kept->def, self.ptr(), module.ptr()));
}

py::dict field_dict(const FieldInfo& f) {
  py::dict d;
  d["name"] = f.name;
  d["unit"] = f.unit;
  d["meaning"] = f.meaning;
  d["kind"] = name_of(f.kind);
  d["required"] = f.required;
  d["default"] = f.required ? py::object(py::none()) : py::object(py::str(field_text(f, f.default_value)));
  d["default_source"] = f.default_source;
  d["low"] = f.low > -kUnbounded ? py::object(py::float_(f.low)) : py::object(py::none());
  d["high"] = f.high < kUnbounded ? py::object(py::float_(f.high)) : py::object(py::none());
  d["open_low"] = f.open_low;
  d["whole"] = f.integral;
  d["object_type"] = f.object_type;
  py::list choices;
  for (const auto c : f.choices) choices.append(py::str(c.data(), c.size()));
  d["choices"] = py::tuple(choices);
  return d;
}

py::list fields_of(std::span<const FieldInfo> fields) {
  py::list out;
  for (const auto& f : fields) out.append(field_dict(f));
  return out;
}

}  // namespace

void bind_resolve(py::module_& m) {
  bind_result_type(m);
  py::class_<Resolver, std::shared_ptr<Resolver>>(m, "_Resolver")
      .def_property_readonly("name", [](const Resolver& r) { return r.info().name; })
      .def_property_readonly("tier", [](const Resolver& r) { return name_of(r.info().tier); })
      .def_property_readonly("about", [](const Resolver& r) { return r.info().about; })
      .def_property_readonly("law", [](const Resolver& r) { return r.info().law; })
      .def_property_readonly("source", [](const Resolver& r) { return r.info().source; })
      .def_property_readonly("origin", [](const Resolver& r) { return r.info().origin; })
      .def_property_readonly("walls", [](const Resolver& r) { return r.info().walls; })
      .def_property_readonly("thread_safe", [](const Resolver& r) { return r.info().thread_safe; })
      .def_property_readonly("is_law",
                             [](const Resolver& r) { return r.law() != nullptr && r.law()->is_law(); })
      .def_property_readonly("fallacies",
                             [](const Resolver& r) {
                               py::dict d;
                               for (const auto& f : r.info().fallacies)
                                 d[py::str(f.misconception)] = f.correction;
                               return d;
                             })
      .def_property_readonly("inputs", [](const Resolver& r) { return fields_of(r.inputs()); })
      .def_property_readonly("outputs", [](const Resolver& r) { return fields_of(r.outputs()); });

  // Without the classes of Python, which Python knows itself.
  m.def("_resolver_names", [] {
    std::vector<std::string> names;
    for (const auto& r : ResolverRegistry::standard().all())
      if (!r->info().origin.starts_with("Python")) names.push_back(r->info().name);
    return names;
  });
  py::class_<ScopeOfTier>(m, "_TierScope")
      .def(py::init<const std::string&, std::string>())
      .def("__enter__", &ScopeOfTier::enter)
      .def("__exit__", [](ScopeOfTier& s, const py::args&) { s.leave(); });
  m.def("_resolver", [](const std::string& name) {
    return std::const_pointer_cast<Resolver>(ResolverRegistry::standard().share(name));
  });
  m.def("_solve_function", &solve_function);
  m.def("_scenario_rows", [] { return fields_of(mlsysim::describe<Scenario>()); });
  m.def("_walls", [] {
    py::list out;
    for (const auto& w : walls())
      out.append(
          py::make_tuple(w.number, w.name, w.domain, w.constraint, w.equation, resolvers_of_wall(w.number)));
    return out;
  });
}

}  // namespace mlsysim::python
