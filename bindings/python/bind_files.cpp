/// The one reader and the one writer of files, for the parts of the package that are written in Python.

#include "bind_files.hpp"

#include <mlsysim/files/detail/files.hpp>

#include <string>

namespace mlsysim::python {
namespace {

py::bytes read_file(const std::string& path, const std::string& expected) {
  std::string bytes;
  {
    const py::gil_scoped_release free;
    bytes = files::read(path, expected);
  }
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  const py::gil_scoped_release free;
  files::write(path, bytes, {.replace = files::Replace::any});
}

}  // namespace

void bind_files(py::module_& m) {
  m.def("_read_file", &read_file);
  m.def("_write_file", &write_file);
}

}  // namespace mlsysim::python
