/// How many devices, which, and whether a number can be. Answers come as the JSON of the command line.

#include "asked_scenario.hpp"
#include "bindings.hpp"

#include <mlsysim/intervals/model_error.hpp>
#include <mlsysim/report/explore_report.hpp>
#include <mlsysim/sizing/claim.hpp>
#include <mlsysim/sizing/decide.hpp>
#include <mlsysim/sizing/report.hpp>
#include <mlsysim/validation/residual_rows.hpp>
#include <mlsysim/validation/residuals.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <pybind11/stl.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace mlsysim::python {
namespace {

constexpr RenderOptions kJson{.format = OutputFormat::json};
constexpr RenderOptions kText{};

SizeTexts texts_of(const py::dict& asked) {
  SizeTexts out;
  const auto text = [&](const char* name, std::string& to) {
    if (asked.contains(name)) to = py::str(asked[name]);
  };
  text("ttft", out.ttft);
  text("itl", out.itl);
  text("e2e", out.e2e);
  text("within", out.within);
  if (asked.contains("most_devices")) out.most_devices = asked["most_devices"].cast<double>();
  if (asked.contains("most_replica_devices"))
    out.most_replica_devices = asked["most_replica_devices"].cast<double>();
  if (asked.contains("disaggregated")) out.disaggregated = asked["disaggregated"].cast<bool>();
  if (asked.contains("precisions")) out.precisions = asked["precisions"].cast<std::vector<std::string>>();
  if (asked.contains("interval")) out.level = asked["interval"].cast<int>();
  return out;
}

/// Fields whose value is stated, though it may be their default.
std::set<std::string, std::less<>> stated_in(const py::dict& asked) {
  std::set<std::string, std::less<>> out;
  for (const auto name : asked["stated"]) out.insert(name.cast<std::string>());
  return out;
}

/// The measurements of the zoo with those of a file, where there is one.
std::optional<ErrorBook> book_of(const py::dict& asked) {
  if (!asked.contains("measured")) return std::nullopt;
  const auto measurand = asked.contains("measurand") ? std::string(py::str(asked["measurand"])) : "";
  const MeasuredTable tables[] = {table_of_file(py::str(asked["measured"]), measurand)};
  auto groups = ErrorBook::standard().groups();
  std::ranges::move(residual_groups(tables, standard_zoo()), std::back_inserter(groups));
  return ErrorBook(std::move(groups));
}

using Forms = std::tuple<std::string, std::string, std::string>;  ///< JSON, text, page

Forms size_forms(const py::dict& values, const py::dict& asked) {
  const AskedScenario one(values);
  SizeQuestion q = size_question(one.scenario, texts_of(asked));
  q.stated = stated_in(asked);
  const auto book = book_of(asked);
  if (book) q.book = &*book;
  const auto found = size(q);
  if (!found) return {render(*found.why(), kJson), render(*found.why(), kText), ""};
  return {render(q, found.value(), kJson), render(q, found.value(), kText), ""};
}

Forms decide_forms(const std::vector<py::dict>& machines, const py::dict& asked) {
  std::vector<AskedScenario> scenarios;
  scenarios.reserve(machines.size());
  for (const auto& values : machines) scenarios.emplace_back(values);
  DecideQuestion q;
  if (!scenarios.empty()) q.ask = size_question(scenarios.front().scenario, texts_of(asked));
  q.ask.stated = stated_in(asked);
  for (auto& s : scenarios) {
    s.scenario.arrival_rate.reset();
    q.machines.push_back(s.scenario);
  }
  const auto book = book_of(asked);
  if (book) q.ask.book = &*book;
  const auto found = decide(q);
  if (!found) return {render(*found.why(), kJson), render(*found.why(), kText), ""};
  return {render(q, found.value(), kJson), render(q, found.value(), kText), decision_page(q, found.value())};
}

}  // namespace

void bind_size(py::module_& m) {
  m.def("_size", &size_forms);
  m.def("_decide", &decide_forms);
  m.def("_machine_name", [](const py::dict& values) { return machine_name(AskedScenario(values).scenario); });
  m.def("_claim_words", [](const std::string& text) {
    const Claim c = Claim::parse(text);
    return std::tuple(c.model, c.machine);
  });
  m.def("_claim", [](const std::string& text, const py::dict& values) {
    const Claim c = Claim::parse(text);
    const auto verdict = judge(c, AskedScenario(values).scenario);
    return Forms{render(c, verdict, kJson), render(c, verdict, kText), ""};
  });
}

}  // namespace mlsysim::python
