#pragma once
// A scenario from the keywords of a call.

#include "keywords.hpp"

#include <mlsysim/engine/scenario_builder.hpp>

#include <vector>

namespace mlsysim::python {

/// The texts among the keywords that name a model or a machine are read as the command line reads them; what
/// was taken for what is said.
struct AskedScenario {
  Scenario scenario;
  FieldMask supplied;
  std::vector<py::object> keeps;        ///< objects that the scenario points to
  std::vector<Assumption> assumptions;  ///< made while names were read
  std::vector<std::string> warnings;

  explicit AskedScenario(const py::dict& values);
};

}  // namespace mlsysim::python
