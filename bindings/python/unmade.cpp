#include "unmade.hpp"

#include <pybind11/pybind11.h>

#include <string>

namespace mlsysim::python {
namespace {

namespace py = pybind11;

/// pybind11 asks for memory here when an object without a value is taken as an argument, and nowhere else for classes
/// that have no `operator new` of their own.
void* unmade(std::size_t) {
  throw py::type_error(
      "an object of mlsysim was used that __init__ has not filled; found what __new__ alone made; call the class");
}

}  // namespace

void refuse_unmade() {
  for (const auto& [of, type] : py::detail::get_internals().registered_types_cpp) {
    const py::handle name = py::handle(reinterpret_cast<PyObject*>(type->type));
    const auto module = py::getattr(name, "__module__", py::str("")).cast<std::string>();
    if (module.find("mlsysim") != std::string::npos) type->operator_new = &unmade;
  }
}

}  // namespace mlsysim::python
