// Recorded traffic. It crosses as JSON, which the package turns into objects.

#include "bindings.hpp"

#include <mlsysim/request_trace/traffic.hpp>

#include <string>

namespace mlsysim::python {

void bind_traffic(py::module_& m) {
  m.def("_read_traffic", [](const std::string& path, double block_tokens, double characters_per_token) {
    const py::gil_scoped_release unlocked;
    return traffic_json(
        read_traffic(path, {.block_tokens = block_tokens, .characters_per_token = characters_per_token}));
  });
}

}  // namespace mlsysim::python
