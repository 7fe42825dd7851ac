/// SystemEvaluator.

#include "asked_scenario.hpp"
#include "values.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/explain.hpp>
#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/explore/subject/explanation.hpp>
#include <mlsysim/report/scorecard_report.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>
#include <mlsysim/zoo/schema.hpp>

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::python {
namespace {

py::object value_of(const Metric& m) {
  FieldInfo row;
  row.kind = m.unit.empty() ? ValueKind::number : ValueKind::quantity;
  row.exps = m.exps;
  row.unit = m.unit;
  return to_python(row, DynamicValue(m.value, m.exps));
}

/// The value of one number or text, as `rows_of` lists it. @throws KeyError
py::object value_named(const EvaluationLevel& level, const py::object& name) {
  if (PyUnicode_Check(name.ptr())) {
    const auto text = name.cast<std::string_view>();
    for (auto m = level.metrics.rbegin(); m != level.metrics.rend(); ++m) {
      if (m->name.view() != text) continue;
      const auto* words = std::get_if<std::string>(&m->value);
      return words != nullptr ? choice_object(*words) : value_of(*m);
    }
  }
  PyErr_SetObject(PyExc_KeyError, name.ptr());
  throw py::error_already_set();
}

/// (name, value, unit, meaning) of each.
py::list rows_of(const std::vector<Metric>& metrics) {
  py::list out;
  for (const auto& m : metrics)
    out.append(py::make_tuple(m.name.view(), value_of(m), m.unit.view(), m.meaning.view()));
  return out;
}

/// A scorecard and what its scenario points to. Numbers become Python objects and text when they are read.
struct Card {
  SystemEvaluation answer;
  std::vector<py::object> keeps;
};

std::shared_ptr<Card> evaluate_scenario(const py::dict& values) {
  AskedScenario asked(values);
  auto card = std::make_shared<Card>();
  {
    const py::gil_scoped_release free;
    card->answer = SystemEvaluator::evaluate(asked.scenario);
  }
  auto& answer = card->answer;
  answer.assumptions.insert(answer.assumptions.end(), asked.assumptions.begin(), asked.assumptions.end());
  answer.warnings.insert(answer.warnings.begin(), asked.warnings.begin(), asked.warnings.end());
  card->keeps = std::move(asked.keeps);
  return card;
}

/// A level that keeps its card.
std::shared_ptr<EvaluationLevel> level_of(const std::shared_ptr<Card>& card, EvaluationLevel& level) {
  return {card, &level};
}

void bind_card(py::module_& m) {
  py::class_<EvaluationLevel, std::shared_ptr<EvaluationLevel>>(m, "_Level")
      .def_property_readonly("level_name", [](const EvaluationLevel& l) { return l.level_name; })
      .def_property_readonly("status", [](const EvaluationLevel& l) { return name_of(l.status); })
      .def_property_readonly("summary", [](const EvaluationLevel& l) { return l.summary.str(); })
      .def("value", &value_named)
      .def("rows", [](const EvaluationLevel& l) { return rows_of(l.metrics); })
      .def("texts", [](const EvaluationLevel& l) {
        py::list out;
        for (const auto& metric : l.metrics) out.append(metric.text());
        return out;
      });
  py::class_<Card, std::shared_ptr<Card>> card(m, "_Card");
  const auto text = [&](const char* name, std::string SystemEvaluation::*member) {
    card.def_property_readonly(name, [member](const Card& c) { return c.answer.*member; });
  };
  text("scenario_name", &SystemEvaluation::scenario_name);
  text("workload", &SystemEvaluation::workload);
  text("hardware", &SystemEvaluation::hardware);
  text("mode", &SystemEvaluation::mode);
  text("fidelity", &SystemEvaluation::fidelity);
  text("load", &SystemEvaluation::load);
  text("lengths", &SystemEvaluation::lengths);
  text("runtime", &SystemEvaluation::runtime);
  text("guess", &SystemEvaluation::guess);
  const auto level = [&](const char* name, EvaluationLevel SystemEvaluation::*member) {
    card.def_property_readonly(
        name, [member](const std::shared_ptr<Card>& c) { return level_of(c, c->answer.*member); });
  };
  level("feasibility", &SystemEvaluation::feasibility);
  level("performance", &SystemEvaluation::performance);
  level("macro", &SystemEvaluation::macro);
  card.def_property_readonly("further",
                             [](const std::shared_ptr<Card>& c) {
                               py::list out;
                               for (auto& l : c->answer.further) out.append(level_of(c, l));
                               return out;
                             })
      .def_property_readonly("memory", [](const Card& c) { return rows_of(c.answer.memory); })
      .def_property_readonly("remedies",
                             [](const Card& c) {
                               py::list out;
                               for (const auto& r : c.answer.remedies)
                                 out.append(py::make_tuple(r.change, r.effect));
                               return out;
                             })
      .def_property_readonly("assumptions",
                             [](const Card& c) {
                               py::list out;
                               for (const auto& a : c.answer.assumptions)
                                 out.append(py::make_tuple(a.name.view(), a.value.str(), a.source.view()));
                               return out;
                             })
      .def_property_readonly("warnings", [](const Card& c) { return c.answer.warnings; })
      .def_property_readonly("passed_all", [](const Card& c) { return c.answer.passed_all(); });
}

/// The scorecard of a plan, which is given as text, in the JSON of `mlsysim eval plan.yaml -o json`.
std::string plan_scorecard(const std::string& text, const std::string& name) {
  const py::gil_scoped_release free;
  const PlanFile plan = parse_plan(text, name, standard_zoo());
  const BuiltScenario built = plan.build();
  auto evaluation = SystemEvaluator::evaluate(built.scenario);
  evaluation.assumptions.insert(evaluation.assumptions.end(), built.assumptions.begin(),
                                built.assumptions.end());
  evaluation.warnings.insert(evaluation.warnings.begin(), built.warnings.begin(), built.warnings.end());
  return render(evaluation, {.format = OutputFormat::json}, plan.check(evaluation));
}

}  // namespace

void bind_engine(py::module_& m) {
  bind_card(m);
  m.def("_plan_scorecard", &plan_scorecard);
  m.def("_schema",
        [](const std::string& kind) { return kind == "plan" ? plan_schema() : json_schema(kind); });
  m.def("_evaluate", &evaluate_scenario);
  m.def("_explainable",
        [](const py::dict& values) { return explainable_numbers(AskedScenario(values).scenario); });
  m.def("_explain",
        [](const py::dict& values, const std::string& metric, const std::vector<std::string>& open) {
          const AskedScenario asked(values);
          const py::gil_scoped_release free;
          return std::make_shared<Explanation>(explanation(asked.scenario, metric, open));
        });
  m.def("_operator_table", [](const py::dict& values, const std::string& metric) {
    const AskedScenario asked(values);
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
