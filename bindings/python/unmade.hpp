#pragma once
/// Objects that `cls.__new__(cls)` makes and `__init__` never filled.

namespace mlsysim::python {

/// Makes the classes of this module refuse such an object wherever it is used, with a TypeError: pybind11
/// would take memory that nobody wrote to for its value. Called once all classes are there.
void refuse_unmade();

}  // namespace mlsysim::python
