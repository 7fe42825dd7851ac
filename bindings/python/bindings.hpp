#pragma once
/// Shared declarations of the Python module: one binding function per component, called in this order.

#include <pybind11/pybind11.h>

namespace mlsysim::python {

namespace py = pybind11;

/// The exception at work, as a Python error; for functions that Python calls without pybind11 between.
void set_python_error() noexcept;

void bind_errors(py::module_& m);
void bind_units(py::module_& m);
void bind_spec(py::module_& m);
void bind_system(py::module_& m);
void bind_workload(py::module_& m);
void bind_zoo(py::module_& m);
void bind_resolve(py::module_& m);
void bind_tools(py::module_& m);
void bind_recording(py::module_& m);
void bind_pipeline(py::module_& m);
void bind_engine(py::module_& m);
void bind_validation(py::module_& m);
void bind_explore(py::module_& m);
void bind_size(py::module_& m);
void bind_launch(py::module_& m);
void bind_traffic(py::module_& m);
void bind_plugin(py::module_& m);
void bind_program(py::module_& m);

}  // namespace mlsysim::python
