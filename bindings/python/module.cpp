#include "bindings.hpp"

#include <mlsysim/version.hpp>

PYBIND11_MODULE(_mlsysim, m) {
  using namespace mlsysim::python;
  m.doc() = "Compiled part of mlsysim; use the package mlsysim.";
  m.attr("__version__") = MLSYSIM_VERSION_TEXT;
  bind_errors(m);
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
  bind_plugin(m);
  bind_program(m);
}
