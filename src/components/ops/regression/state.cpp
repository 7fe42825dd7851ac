#include <mlsysim/ops/regression/state.hpp>

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/files/detail/seal.hpp>
#include <mlsysim/specs/content.hpp>
#include <mlsysim/units/detail/fnv.hpp>
#include <mlsysim/units/detail/json_fault.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kSchema = "mlsysim/ci_state@1";

/// Names of all numbers of a cell, also of those that it does not have at its point.
Json results_of(const CellResult& cell) {
  Json out = Json::array();
  if (cell.subject != nullptr)
    for (const auto& f : cell.subject->entry.results) out.push_back(f.name);
  else
    for (const auto& name : cell.results) out.push_back(name);
  return out;
}

CellResult cell_of(const Json& j) {
  CellResult out;
  out.status = choice_of<CellStatus>(j.at("status").get<std::string>()).value();
  out.reason = j.at("reason").get<std::string>();
  out.why = choice_of<BreakReason>(j.at("why").get<std::string>()).value();
  out.results = j.at("results").get<std::vector<std::string>>();
  for (const auto& n : j.at("numbers")) {
    const auto base = n.at("base").get<std::string>();
    out.numbers.push_back({n.at("name").get<std::string>(), n.at("value").get<double>(),
                           base.empty() ? Exponents{} : AnyQuantity::parse("1 " + base).exponents(),
                           n.at("unit").get<std::string>()});
  }
  return out;
}

}  // namespace

std::string state_key(const CiMatrix& matrix, const Zoo& zoo, const std::string& commit) {
  const auto text = files::read(matrix.file, "a matrix");
  return fmt::format("{} {:016x} {:016x} {}", version_text, detail::fnv1a(text), content_digest(zoo), commit);
}

std::string state_text(const CiRun& run, const std::string& key) {
  Json cells = Json::object();
  for (const auto& c : run.cells) {
    Json numbers = Json::array();
    for (const auto& n : c.numbers)
      numbers.push_back(
          {{"name", n.name}, {"value", n.value}, {"base", canonical_unit(n.exps)}, {"unit", n.unit}});
    cells[c.cell.name()] = {{"status", name_of(c.status)},
                            {"reason", c.reason},
                            {"why", name_of(c.why)},
                            {"results", results_of(c)},
                            {"numbers", std::move(numbers)}};
  }
  const Json state{{"schema", kSchema}, {"key", key}, {"cells", std::move(cells)}};
  return files::sealed(detail::json_text(state)) + "\n";
}

KnownCells read_state(const std::string& text, const std::string& file, const std::string& key) {
  KnownCells out;
  std::string found;
  try {
    const auto j = Json::parse(text);
    if (j.at("schema") != kSchema) found = "another schema";
    if (found.empty()) found = files::damage_of(text).value_or("");
    if (found.empty() && j.at("key") != key) found = "the state of another matrix, zoo, commit or version";
    if (found.empty())
      for (const auto& [name, cell] : j.at("cells").items()) out[name] = cell_of(cell);
  } catch (const Json::exception& error) {
    found = detail::json_fault(error);
  } catch (const UnitError& error) {
    found = error.what();
  } catch (const std::bad_optional_access&) {
    found = "a status that is not known";
  }
  if (!found.empty())
    throw InputError({.id = "mlsysim.ci.023",
                      .message = "a run cannot go on with this state",
                      .key = file,
                      .found = fmt::format("'{}': {}", file, found),
                      .expected = "what ci run --state wrote for this matrix and this commit",
                      .hint = "leave out --resume to begin again"});
  return out;
}

}  // namespace mlsysim
