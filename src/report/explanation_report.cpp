#include <mlsysim/report/explanation_report.hpp>

#include "detail/json_value.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mlsysim {
namespace {

using detail::Json;

Repeats repeats_of(Verbosity v) { return v == Verbosity::verbose ? Repeats::shown : Repeats::counted; }

std::string shown(const Explanation& e) {
  return detail::shown_value({.name = e.result, .unit = e.unit, .exps = e.exps, .value = e.value});
}

/// Most repeated parts that a derivation writes out, e.g. chunk after chunk of a prompt.
constexpr std::size_t kTerms = 32;       ///< terms of one sum
constexpr std::size_t kCalls = 128;      ///< calls of one law
constexpr std::size_t kEquations = 512;  ///< named operations of one call

/// The terms of a chain of one operation, such as a sum, from the first to the last.
std::vector<std::size_t> terms_of(const Derivation& d, std::size_t at) {
  const std::string_view op = d.nodes[at].op;
  std::vector<std::size_t> out, open{at};
  while (!open.empty()) {
    const std::size_t n = open.back();
    open.pop_back();
    const auto& node = d.nodes[n];
    if (n != at && (node.op != op || !node.name.empty())) {
      out.push_back(n);
      continue;
    }
    open.insert(open.end(), node.operands.rbegin(), node.operands.rend());
  }
  return out;
}

Json operation(const Derivation& d, std::size_t at, bool top) {
  const auto& n = d.nodes[at];
  Json out{{"op", n.op}, {"value_base_units", detail::json_number(n.value)}};
  if (!n.name.empty()) out["name"] = n.name;
  if (n.op == "law_result") out["call"] = n.record + 1;
  if (n.operands.empty()) return out;
  if (!top && !n.name.empty())
    return {{"op", "name"}, {"name", n.name}, {"value_base_units", detail::json_number(n.value)}};
  out["operands"] = Json::array();
  const bool chain = n.op == "add" || n.op == "max" || n.op == "min";
  const auto terms = chain ? terms_of(d, at) : n.operands;
  if (terms.size() <= kTerms) {
    for (const std::size_t o : n.operands) out["operands"].push_back(operation(d, o, false));
    return out;
  }
  // The first terms, one number for those between, the last ones.
  constexpr std::size_t half = kTerms / 2;
  for (std::size_t i = 0; i < half; ++i) out["operands"].push_back(operation(d, terms[i], false));
  double between = d.nodes[terms[half]].value;
  for (std::size_t i = half + 1; i < terms.size() - half; ++i) {
    const double x = d.nodes[terms[i]].value;
    between = n.op == "add" ? between + x : n.op == "max" ? std::max(between, x) : std::min(between, x);
  }
  out["operands"].push_back({{"op", n.op},
                             {"folded", terms.size() - 2 * half},
                             {"value_base_units", detail::json_number(between)}});
  for (std::size_t i = terms.size() - half; i < terms.size(); ++i)
    out["operands"].push_back(operation(d, terms[i], false));
  return out;
}

Json value_json(const Derivation& d, const DerivedValue& v, std::size_t self) {
  const auto unit = detail::display_unit(v.unit, v.exps);
  Json out{{"name", v.name}, {"unit", unit}, {"value", detail::json_value(v.value, v.exps, unit)}};
  if (v.record != kNone && v.record != self) {
    const auto& from = d.records[v.record];
    out["from"] = {
        {"call", v.record + 1},
        {v.from_input ? "input" : "result", (v.from_input ? from.inputs : from.results)[v.field].name}};
  } else if (v.node != kNone) {
    out["from"] = operation(d, v.node, false);
  }
  return out;
}

/// The calls of a derivation, of which further calls of a law are folded into a count.
class CallsJson {
 public:
  explicit CallsJson(const Derivation& d) : d_(d), inside_(d.records.size()), all_(d.records.size()) {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      all_[r] = r;
      if (d.records[r].parent != kNone) inside_[d.records[r].parent].push_back(r);
    }
  }

  /// A call with the calls inside it.
  Json call(std::size_t r) {
    const auto& record = d_.records[r];
    Json out{{"call", r + 1},
             {"law", record.law->id},
             {"equation", record.law->equation},
             {"source", record.law->source},
             {"where", record.law->where},
             {"assumptions", record.law->assumptions},
             {"inputs", Json::array()},
             {"results", Json::array()}};
    for (const auto& v : record.inputs) out["inputs"].push_back(value_json(d_, v, r));
    for (const auto& v : record.results) out["results"].push_back(value_json(d_, v, r));
    if (!record.roots.empty()) out["operations"] = operations(r);
    out["calls"] = Json::array();
    std::map<std::string_view, std::size_t> folded;
    for (const std::size_t c : inside_[r]) {
      const std::string_view law = d_.records[c].law->id;
      if (written_[law]++ < kCalls)
        out["calls"].push_back(call(c));
      else
        ++folded[law];
    }
    for (const auto& [law, calls] : folded) out["calls"].push_back({{"law", law}, {"folded", calls}});
    return out;
  }

 private:
  /// The named operations, of which the first and the last are written out.
  Json operations(std::size_t r) const {
    Json out = Json::array();
    const auto equations = detail::equations_of(d_, r, all_);
    for (std::size_t i = 0; i < equations.size(); ++i) {
      if (equations.size() > kEquations && i == kEquations / 2) {
        out.push_back({{"folded", equations.size() - kEquations}});
        i = equations.size() - kEquations / 2;
      }
      out.push_back({{"result", equations[i].first}, {"tree", operation(d_, equations[i].second, true)}});
    }
    return out;
  }

  const Derivation& d_;
  std::vector<std::vector<std::size_t>> inside_;
  std::vector<std::size_t> all_;
  std::map<std::string_view, std::size_t> written_;
};

Table operators_table(const Explanation& e) {
  Table t{.schema = "mlsysim/table@1",
          .title = e.result,
          .columns = {{"name"},
                      {"group"},
                      {"pass"},
                      {"count"},
                      {"work", "FLOP"},
                      {"traffic", "B"},
                      {"time", "s"},
                      {"share", "", "of the number"},
                      {"limit"}}};
  for (const auto& row : e.operators)
    t.rows.push_back({row.name, row.group, row.pass, row.count, Work<>::from_base(row.work),
                      Data<>::from_base(row.traffic), Time<>::from_base(row.time), row.share, row.limit});
  return t;
}

std::string json_of(const Explanation& e) {
  const auto& d = e.derivation;
  const std::string unit = e.unit.empty() ? canonical_unit(e.exps) : e.unit;
  Json figures = Json::array(), assumptions = Json::array();
  for (const auto& f : e.figures)
    figures.push_back({{"figure", f.figure}, {"value", f.value}, {"source", f.source}});
  for (const auto& a : e.assumptions)
    assumptions.push_back({{"name", a.name.view()}, {"value", a.value.str()}, {"source", a.source.view()}});
  const auto operators = Json::parse(render(operators_table(e), {.format = OutputFormat::json}));
  return detail::json_document(detail::Json({{"schema", "mlsysim/explanation@1"},
                                             {"subject", e.subject},
                                             {"metric", e.result},
                                             {"meaning", e.meaning},
                                             {"unit", unit},
                                             {"value", detail::json_value(e.value, e.exps, unit)},
                                             {"handed_in", e.handed_in},
                                             {"derivation", CallsJson(d).call(0)},
                                             {"columns", operators["columns"]},
                                             {"operators", operators["rows"]},
                                             {"figures", figures},
                                             {"assumptions", assumptions},
                                             {"warnings", e.warnings}}));
}

/// One line for each number of each call.
std::string csv_of(const Explanation& e) {
  if (!e.operators.empty()) return render(operators_table(e), {.format = OutputFormat::csv});
  Table t{.schema = "mlsysim/table@1",
          .title = e.result,
          .columns = {{"call"}, {"inside"}, {"law"}, {"side"}, {"name"}, {"unit"}, {"value"}, {"source"}}};
  for (std::size_t r = 0; r < e.derivation.records.size(); ++r) {
    const auto& record = e.derivation.records[r];
    const auto add = [&](const char* side, const DerivedValue& v) {
      const auto unit = detail::display_unit(v.unit, v.exps);
      const double x = unit.empty() ? v.value : AnyQuantity::from_base(v.value, v.exps).in(unit);
      t.rows.push_back(
          {static_cast<double>(r + 1),
           record.parent == kNone ? Table::Cell() : Table::Cell(static_cast<double>(record.parent + 1)),
           record.law->id, side, v.name, unit, x, record.law->source});
    };
    for (const auto& v : record.inputs) add("input", v);
    for (const auto& v : record.results) add("result", v);
  }
  return render(t, {.format = OutputFormat::csv});
}

std::string derivation_title(const Explanation& e) {
  return fmt::format("{} = {}{}", e.result, shown(e), e.meaning.empty() ? "" : "   (" + e.meaning + ")");
}

}  // namespace

std::string head_of(const Explanation& e) {
  std::string out = e.terms ? e.terms() : std::string();
  const bool scenario = !e.figures.empty();
  if (out.empty()) {
    out = fmt::format("{}\n  {}\n", derivation_title(e), e.subject);
    if (scenario) {
      out += "\nfigures of the device\n";
      for (const auto& f : e.figures) out += fmt::format("  {:<28} {:<16} {}\n", f.figure, f.value, f.source);
    }
    if (!e.assumptions.empty()) out += "\nassumptions\n";
    for (const auto& a : e.assumptions)
      out += fmt::format("  {:<28} {:<16} {}\n", a.name.view(), a.value.str(), a.source.view());
  }
  if (!out.ends_with('\n')) out += "\n";
  if (!e.handed_in.empty()) out += "\nhanded in\n";
  for (const auto& words : e.handed_in) out += fmt::format("  {}\n", words);
  return out;
}

namespace {

std::string text_of(const Explanation& e, Verbosity verbosity) {
  return head_of(e) + "\nlaw by law\n" + to_text(e.derivation, repeats_of(verbosity));
}

std::string markdown_of(const Explanation& e, const RenderOptions& options) {
  std::string out = fmt::format("## {} = {}\n\n{}{}\n\n", e.result, shown(e), e.subject,
                                e.meaning.empty() ? "" : ": " + e.meaning);
  if (!e.operators.empty()) {
    auto t = operators_table(e);
    t.title.clear();
    out += render(t, options) + "\n";
  }
  if (!e.handed_in.empty()) {
    out += "Handed in:\n\n";
    for (const auto& words : e.handed_in) out += fmt::format("- {}\n", words);
    out += "\n";
  }
  out += to_markdown(e.derivation, repeats_of(options.verbosity));
  const auto table = [&](std::string title, std::string first, const auto& rows) {
    Table t{.schema = "mlsysim/table@1", .title = "", .columns = {{std::move(first)}, {"value"}, {"source"}}};
    for (const auto& [name, value, source] : rows)
      t.rows.push_back({std::string(name), std::string(value), std::string(source)});
    out += fmt::format("\n### {}\n\n{}", title, render(t, options));
  };
  if (!e.figures.empty()) table("Figures of the device", "figure", e.figures);
  if (!e.assumptions.empty()) table("Assumptions", "name", e.assumptions);
  return out;
}

}  // namespace

std::string render(const Explanation& e, const RenderOptions& options) {
  switch (options.format) {
    case OutputFormat::text:
      break;
    case OutputFormat::json:
      return json_of(e);
    case OutputFormat::markdown:
      return markdown_of(e, options);
    case OutputFormat::csv:
      return csv_of(e);
  }
  return text_of(e, options.verbosity);
}

}  // namespace mlsysim
