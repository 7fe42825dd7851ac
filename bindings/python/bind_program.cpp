/// The program `mlsysim` inside the package, so that it knows the resolvers that are written in Python.

#include "bindings.hpp"

#ifdef MLSYSIM_WITH_PROGRAM
#include <mlsysim/cli/detail/run_program.hpp>
#endif

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace mlsysim::python {

void bind_program(py::module_& m) {
#ifdef MLSYSIM_WITH_PROGRAM
  m.def("_run_program", [](std::vector<std::string> words) {
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const py::gil_scoped_release free;  // stages that are written in Python take it again
    return cli::run_program(static_cast<int>(words.size()), argv.data());
  });
#else
  (void)m;
#endif
}

}  // namespace mlsysim::python
