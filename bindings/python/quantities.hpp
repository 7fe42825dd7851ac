#pragma once
/// Python objects as quantities and back.

#include <mlsysim/units/any_quantity.hpp>

#include <pybind11/pybind11.h>

#include <optional>
#include <string_view>

namespace mlsysim::python {

namespace py = pybind11;

/// A Python int, float or numpy scalar as a number; empty for everything else, bool included.
[[nodiscard]] std::optional<double> number_of(py::handle value);
/// The AnyQuantity inside of a Quantity; null for everything else.
[[nodiscard]] const AnyQuantity* quantity_in(py::handle value);
/// The quantity as a Python object, shown in `unit`.
[[nodiscard]] py::object to_python(const AnyQuantity& q, std::string_view unit = {});

}  // namespace mlsysim::python
