#include "unmade.hpp"

#include <pybind11/pybind11.h>

#include <string>

namespace mlsysim::python {
namespace {

namespace py = pybind11;

/// pybind11 asks for memory here when an object without a value is taken as an argument, and nowhere else for
/// classes that have no `operator new` of their own.
void* unmade(std::size_t) {
  throw py::type_error(
      "an object of mlsysim was used that __init__ has not filled; found what __new__ alone made; call the "
      "class");
}

/// The base of all classes of pybind11 has no values of its own; pickles of protocols 0 and 1 make one of it,
/// which would end the process. What inherits from it is made as before.
newfunc made_before = nullptr;
PyObject* made_of_classes(PyTypeObject* type, PyObject* words, PyObject* names) {
  if (reinterpret_cast<PyObject*>(type) != py::detail::get_internals().instance_base)
    return made_before(type, words, names);
  PyErr_SetString(
      PyExc_TypeError,
      "the base of compiled classes cannot be made; pickle objects of mlsysim with protocol 2 or above");
  return nullptr;
}

/// A class and what was derived from it so far: Python asks that they are made by one function.
void make_otherwise(const py::handle& type) {
  auto* of = reinterpret_cast<PyTypeObject*>(type.ptr());
  if (of->tp_new == made_before) of->tp_new = &made_of_classes;
  for (const auto& derived : type.attr("__subclasses__")()) make_otherwise(derived);
}

}  // namespace

void refuse_unmade() {
  auto* base = reinterpret_cast<PyTypeObject*>(py::detail::get_internals().instance_base);
  if (base->tp_new != &made_of_classes) {
    made_before = base->tp_new;
    make_otherwise(reinterpret_cast<PyObject*>(base));
  }
  for (const auto& [of, type] : py::detail::get_internals().registered_types_cpp) {
    const py::handle name = py::handle(reinterpret_cast<PyObject*>(type->type));
    const auto module = py::getattr(name, "__module__", py::str("")).cast<std::string>();
    if (module.find("mlsysim") != std::string::npos) type->operator_new = &unmade;
  }
}

}  // namespace mlsysim::python
