/// C++ errors as Python exceptions of the same names; the classes are written in mlsysim/errors.py.

#include "bindings.hpp"

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/plugin/fault.hpp>
#include <mlsysim/plugin/host.hpp>
#include <mlsysim/units/error.hpp>

#include <exception>
#include <new>
#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

py::dict facts_of(const ErrorFacts& facts) {
  py::dict d;
  d["id"] = facts.id;
  d["message"] = facts.message;
  d["key"] = facts.key;
  d["found"] = facts.found;
  d["expected"] = facts.expected;
  d["hint"] = facts.hint;
  d["file"] = facts.where.file;
  d["line"] = facts.where.line;
  d["column"] = facts.where.column;
  d["excerpt"] = facts.excerpt;
  return d;
}

/// Raises `mlsysim.errors.<name>` with the parts of the error.
void raise(const char* name, const Error& error, const std::vector<ErrorFacts>* problems = nullptr) {
  try {
    const py::module_ errors = py::module_::import("mlsysim.errors");
    py::list context, listed;
    for (const auto& frame : error.context()) context.append(frame);
    if (problems != nullptr)
      for (const auto& p : *problems) listed.append(facts_of(p));
    const py::object type = errors.attr(name);
    const py::object raised =
        errors.attr("_from_cpp")(type, error.what(), facts_of(error.facts()), context, listed);
    if (const auto* fault = dynamic_cast<const plugin::PluginFault*>(&error); fault != nullptr) {
      raised.attr("code") = std::string(plugin::status_name(fault->code()));
      raised.attr("plugin") = fault->plugin();
      raised.attr("stage") = fault->call();
      py::dict payload;
      for (const auto& [key, value] : fault->payload()) payload[py::str(key)] = value;
      raised.attr("payload") = payload;
    }
    PyErr_SetObject(type.ptr(), raised.ptr());
  } catch (py::error_already_set& inner) {
    inner.restore();
  }
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 calls it so
void translate(std::exception_ptr thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const PipelineBuildError& e) {
    raise("PipelineBuildError", e, &e.problems());
  } catch (const ErrorList& e) {
    raise("ErrorList", e, &e.problems());
  } catch (const UnitError& e) {
    raise("UnitError", e);
  } catch (const DimensionError& e) {
    raise("DimensionError", e);
  } catch (const InputError& e) {
    raise("InputError", e);
  } catch (const LookupError& e) {
    raise("LookupError", e);
  } catch (const DomainError& e) {
    raise("DomainError", e);
  } catch (const PipelineError& e) {
    raise("PipelineError", e);
  } catch (const SolverError& e) {
    raise("SolverError", e);
  } catch (const PluginError& e) {
    raise("PluginError", e);
  } catch (const Error& e) {
    raise("Error", e);
  } catch (const py::cast_error&) {
    // Kinds of values are checked by name; what is left is text that has no UTF-8.
    raise("InputError",
          InputError({.id = "mlsysim.python.233",
                      .message = "a value cannot be passed on",
                      .found = "text with a lone surrogate, or an object of another kind",
                      .expected = "text of whole characters, or the kind of value that is documented"}));
  }
}

}  // namespace

void set_python_error() noexcept {
  try {
    try {
      throw;
    } catch (py::error_already_set& error) {
      error.restore();
    } catch (const py::cast_error&) {
      translate(std::current_exception());
    } catch (const py::builtin_exception& error) {
      error.set_error();
    } catch (const Error&) {
      translate(std::current_exception());
    }
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception that is no std::exception");
  }
}

void bind_errors(py::module_&) { py::register_exception_translator(&translate); }

}  // namespace mlsysim::python
