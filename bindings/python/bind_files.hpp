#pragma once

#include "bindings.hpp"

namespace mlsysim::python {

void bind_files(py::module_& m);

}  // namespace mlsysim::python
