/// The one reader and the one writer of files, for the parts of the package that are written in Python.

#include "bind_files.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/roots.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <memory>
#include <string>
#include <vector>

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

/// Until the process ends, its readers read below these folders and the zoo alone.
void confine(std::vector<std::filesystem::path> folders) {
  static std::unique_ptr<files::Confinement> held;
  folders.push_back(zoo_directory());
  held.reset();
  held = std::make_unique<files::Confinement>(folders);
}

}  // namespace

void bind_files(py::module_& m) {
  m.def("_read_file", &read_file);
  m.def("_write_file", &write_file);
  m.def("_confine", [](const std::vector<std::string>& folders) {
    confine({folders.begin(), folders.end()});
  });
}

}  // namespace mlsysim::python
