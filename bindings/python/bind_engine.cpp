/// Engine and SystemEvaluator.

#include "explanation_forms.hpp"
#include "keywords.hpp"
#include "result_box.hpp"
#include "values.hpp"

#include <mlsysim/engine/engine.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/explore/explanation.hpp>
#include <mlsysim/resolve/field_text.hpp>
#include <mlsysim/resolve/registry.hpp>

#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

/// Engine.sweep: (hardware, batch size, precision, skipped, reason, result or None) for each point.
py::list sweep(const py::dict& base, const py::list& hardware, const std::vector<double>& batch_sizes,
               const std::vector<std::string>& precisions, const py::type& result_type) {
  Engine::Options options;
  FieldMask supplied;
  std::vector<py::object> keeps;
  Keywords(describe<Engine::Options>(), "Engine.sweep").write_all(base, &options, supplied, keeps);
  std::vector<const HardwareNode*> devices;
  for (const auto& h : hardware) devices.push_back(h.cast<const HardwareNode*>());
  std::vector<Precision> formats;
  const auto* field = find_field(describe<Engine::Options>(), "precision");
  for (const auto& name : precisions) {
    Engine::Options one;
    field->write(&one, Value(name));
    formats.push_back(*one.precision);
  }
  std::vector<SweepPoint> points;
  {
    const py::gil_scoped_release free;
    points = Engine::sweep(options, devices, batch_sizes, formats);
  }
  const auto resolver = ResolverRegistry::standard().share(SingleNodeModel::id);
  py::list out;
  for (auto& p : points) {
    py::object result = py::none();
    if (!p.skipped) {
      const auto held = std::make_shared<SingleNodeModel::Result>(std::move(p.profile));
      result = make_result(reinterpret_cast<PyTypeObject*>(result_type.ptr()),
                           std::make_shared<Box>(resolver, held.get(), held));
    }
    out.append(py::make_tuple(p.hardware->name, p.batch_size, name_of(p.precision), p.skipped, p.reason, result));
  }
  return out;
}

struct Asked {
  Scenario scenario;
  FieldMask supplied;
  std::vector<py::object> keeps;

  explicit Asked(const py::dict& values) {
    static const auto* keywords = new Keywords(describe<Scenario>(), "the scenario");
    keywords->write_all(values, &scenario, supplied, keeps);
    keywords->require(supplied);
  }
};

py::object value_of(const Metric& m) {
  FieldInfo row;
  row.kind = m.unit.empty() ? ValueKind::number : ValueKind::quantity;
  row.exps = m.exps;
  row.unit = m.unit;
  return to_python(row, DynamicValue(m.value, m.exps));
}

py::list metrics_of(const std::vector<Metric>& metrics) {
  py::list out;
  for (const auto& m : metrics) out.append(py::make_tuple(m.name.view(), value_of(m), m.unit.view(), m.meaning.view(), m.text()));
  return out;
}

py::dict evaluate_scenario(const py::dict& values) {
  const Asked asked(values);
  SystemEvaluation e;
  {
    const py::gil_scoped_release free;
    e = SystemEvaluator::evaluate(asked.scenario);
  }
  py::dict d;
  d["scenario_name"] = e.scenario_name;
  d["workload"] = e.workload;
  d["hardware"] = e.hardware;
  d["mode"] = e.mode;
  d["fidelity"] = e.fidelity;
  const auto level = [](const EvaluationLevel& l) {
    return py::make_tuple(l.level_name, name_of(l.status), l.summary.str(), metrics_of(l.metrics));
  };
  d["feasibility"] = level(e.feasibility);
  d["performance"] = level(e.performance);
  d["macro"] = level(e.macro);
  py::list further;
  for (const auto& l : e.further) further.append(level(l));
  d["further"] = further;
  d["memory"] = metrics_of(e.memory);
  py::list remedies, assumptions, warnings;
  for (const auto& r : e.remedies) remedies.append(py::make_tuple(r.change, r.effect));
  for (const auto& a : e.assumptions) assumptions.append(py::make_tuple(a.name.view(), a.value.str(), a.source.view()));
  for (const auto& w : e.warnings) warnings.append(w);
  d["remedies"] = remedies;
  d["assumptions"] = assumptions;
  d["warnings"] = warnings;
  d["passed_all"] = e.passed_all();
  return d;
}

}  // namespace

void bind_engine(py::module_& m) {
  m.def("_sweep", &sweep);
  m.def("_evaluate", &evaluate_scenario);
  m.def("_explainable", [](const py::dict& values) { return explainable_numbers(Asked(values).scenario); });
  m.def("_explain", [](const py::dict& values, const std::string& metric, const std::vector<std::string>& open) {
    return explanation_forms(explanation(Asked(values).scenario, metric, open));
  });
  m.def("_operator_table", [](const py::dict& values, const std::string& metric) {
    const Asked asked(values);
    py::list out;
    for (const auto& r : operator_table(asked.scenario, metric))
      out.append(py::make_tuple(r.name, r.group, r.pass, r.limit, r.count,
                                to_python(DynamicValue(Work<>::from_base(r.work))),
                                to_python(DynamicValue(Data<>::from_base(r.traffic))),
                                to_python(DynamicValue(Time<>::from_base(r.time))), r.share));
    return out;
  });
  m.def("_scenario_fields", [] {
    py::list out;
    for (const auto& f : describe<Scenario>())
      out.append(py::make_tuple(f.name, f.unit, f.meaning, f.required, f.default_source));
    return out;
  });
}

}  // namespace mlsysim::python
