#pragma once
// A scenario from the keywords of a call.

#include "keywords.hpp"

#include <mlsysim/engine/scenario.hpp>

#include <vector>

namespace mlsysim::python {

struct AskedScenario {
  Scenario scenario;
  FieldMask supplied;
  std::vector<py::object> keeps;

  explicit AskedScenario(const py::dict& values) {
    static const auto* keywords = new Keywords(describe<Scenario>(), "the scenario");
    keywords->write_all(values, &scenario, supplied, keeps);
    keywords->require(supplied);
  }
};

}  // namespace mlsysim::python
