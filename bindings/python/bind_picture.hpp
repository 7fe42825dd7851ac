#pragma once
/// Pictures and reports of answers.

#include "bindings.hpp"

namespace mlsysim::python {

void bind_picture(py::module_& m);

}  // namespace mlsysim::python
