#include "bind_files.hpp"
#include "bind_picture.hpp"
#include "bindings.hpp"
#include "unmade.hpp"

#include <mlsysim/version.hpp>

// pybind11 waits for ever where it is initialized in a second interpreter of a process, so the function that
// Python calls is ours, and that of the macro gets another name.
#define PyInit__mlsysim mlsysim_init_module
PYBIND11_MODULE(_mlsysim, m) {
  using namespace mlsysim::python;
  m.doc() = "Compiled part of mlsysim; use the package mlsysim.";
  m.attr("__version__") = MLSYSIM_VERSION_TEXT;
  bind_errors(m);
  bind_files(m);
  bind_units(m);
  bind_spec(m);
  bind_system(m);
  bind_workload(m);
  bind_zoo(m);
  bind_resolve(m);
  bind_tools(m);
  bind_recording(m);
  bind_pipeline(m);
  bind_engine(m);
  bind_validation(m);
  bind_explore(m);
  bind_size(m);
  bind_launch(m);
  bind_traffic(m);
  bind_plugin(m);
  bind_picture(m);
  bind_program(m);
  refuse_unmade();
}
#undef PyInit__mlsysim

extern "C" PYBIND11_EXPORT PyObject* PyInit__mlsysim();
extern "C" PYBIND11_EXPORT PyObject* PyInit__mlsysim() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return mlsysim_init_module();
  PyErr_SetString(PyExc_ImportError,
                  "mlsysim runs in the main interpreter of a process alone; found a sub-interpreter; use a "
                  "process of its own");
  return nullptr;
}
