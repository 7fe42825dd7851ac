#pragma once
/// A derivation for Python.

#include <mlsysim/explore/explanation.hpp>

#include <pybind11/pybind11.h>

namespace mlsysim::python {

/// (JSON, text, Markdown, LaTeX); mlsysim/explore.py makes an Explanation of them.
[[nodiscard]] pybind11::tuple explanation_forms(const Explanation& explanation);

}  // namespace mlsysim::python
