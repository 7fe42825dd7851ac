#include <mlsysim/ops/regression/differences.hpp>

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/detail/yaml_faults.hpp>
#include <mlsysim/zoo/writer.hpp>

#include <fmt/format.h>

#include <array>

namespace mlsysim {
namespace {

/// Where a figure is written once: the cells of one value of a label share it.
constexpr std::array<std::string_view, 4> kShared{"precision", "model", "hardware", "pipeline"};
constexpr int kDigits = 12;  // of predicted numbers: the last bits are those of a compiler

/// A number in its unit, exact.
std::string exact(double base, const Exponents& exps, std::string_view unit) {
  if (exps.dimensionless()) return format_exact(base);
  return format_exact(AnyQuantity::from_base(base, exps),
                      unit.empty() ? canonical_unit(exps) : std::string(unit));
}
std::string rounded(const CellNumber& n) {
  if (n.exps.dimensionless()) return fmt::format("{:.{}g}", n.value, kDigits);
  const auto unit = n.unit.empty() ? canonical_unit(n.exps) : n.unit;
  return fmt::format("{:.{}g} {}", AnyQuantity::from_base(n.value, n.exps).in(unit), kDigits, unit);
}

/// Figures by the place at which they are written, as texts.
struct Placed {
  std::map<std::string, std::string> everywhere;
  std::map<std::string, std::map<std::string, std::map<std::string, std::string>>>
      shared;                                                     // label, value, figure
  std::map<std::string, std::map<std::string, std::string>> own;  // cell, figure
};

/// Whether all cells of one value of the label agree about a figure.
bool agree(const std::vector<std::pair<const MatrixCell*, std::string>>& values, std::string_view label) {
  std::map<std::string, const std::string*> seen;
  for (const auto& [cell, text] : values) {
    const auto [at, fresh] = seen.emplace(cell->label(label).value_or(""), &text);
    if (!fresh && *at->second != text) return false;
  }
  return true;
}

Placed placed_figures(const CiRun& run) {
  std::map<std::string, std::vector<std::pair<const MatrixCell*, std::string>>> all;
  for (const auto& c : run.cells) {
    if (c.subject == nullptr) continue;
    const auto& inputs = c.subject->entry.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      all[inputs[i].name].emplace_back(&c.cell, exact(c.subject->point[i], inputs[i].exps, inputs[i].unit));
  }
  Placed out;
  for (const auto& [figure, values] : all) {
    if (agree(values, "")) {
      out.everywhere[figure] = values.front().second;
      continue;
    }
    std::string_view label;
    for (const auto& candidate : kShared)
      if (label.empty() && agree(values, candidate)) label = candidate;
    for (const auto& [cell, text] : values) {
      if (label.empty())
        out.own[cell->name()][figure] = text;
      else
        out.shared[std::string(label)][*cell->label(label)][figure] = text;
    }
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const YamlDocument& document)
      : faults_(document, "a baseline", {"mlsysim.ci.012", "mlsysim.ci.013", "mlsysim.ci.014"}),
        root_(document.root()) {}

  Accepted read() {
    static const std::vector<std::string> known{"version",  "everywhere", "precision", "model",
                                                "hardware", "pipeline",   "cells"};
    if (!faults_.is_map(root_, "the file", "a map with version and cells")) faults_.raise();
    faults_.only(root_, "", known);
    if (const auto* v = faults_.need(root_, "version", "version: \"1\""); v != nullptr && v->text != "1")
      faults_.wrong(*v, "version", "\"1\"");
    if (const auto* cells = faults_.need(root_, "cells", "cells:");
        cells != nullptr && cells->kind == YamlValue::Kind::map)
      for (const auto& [name, body] : cells->pairs) cell(name.text, body);
    faults_.raise();
    return std::move(out_);
  }

 private:
  double number(const YamlValue& value) {
    double out = 0;
    faults_.collect(value, [&] { out = AnyQuantity::parse(value.text, value.where).base(); });
    return out;
  }
  void take(const YamlValue* map, std::map<std::string, double, std::less<>>& to) {
    if (map == nullptr || map->kind != YamlValue::Kind::map) return;
    for (const auto& [name, value] : map->pairs) to[name.text] = number(value);
  }
  /// Shared figures are read once for each place.
  const std::map<std::string, double, std::less<>>& shared(std::string_view label, const std::string& value) {
    const auto key = fmt::format("{}={}", label, value);
    const auto [at, fresh] = shared_.try_emplace(key);
    if (!fresh) return at->second;
    const auto* section = root_.find(label);
    if (label == "everywhere")
      take(section, at->second);
    else if (section != nullptr && section->kind == YamlValue::Kind::map)
      take(section->find(value), at->second);
    return at->second;
  }

  void cell(const std::string& name, const YamlValue& body) {
    static const std::vector<std::string> known{"status", "numbers", "figures"};
    if (!faults_.is_map(body, name, "a map with status and numbers")) return;
    faults_.only(body, name, known);
    AcceptedCell c;
    if (const auto* s = faults_.need(body, "status", "status: ok")) {
      const auto status = choice_of<CellStatus>(s->text);
      if (!status) faults_.wrong(*s, name + ".status", "ok, infeasible or failed");
      c.status = status.value_or(CellStatus::ok);
    }
    if (const auto* n = body.find("numbers"); n != nullptr && n->kind == YamlValue::Kind::map)
      for (const auto& [metric, value] : n->pairs)
        faults_.collect(value, [&, &metric = metric, &value = value] {
          const auto q = AnyQuantity::parse(value.text, value.where);
          c.numbers.push_back({metric.text, q.base(), q.exponents(), q.dimensionless() ? "" : q.unit()});
        });
    // The parts of a name: model/hardware/precision/pipeline, where a model or a device may be a path.
    c.figures = shared("everywhere", "");
    for (const auto& label : kShared)
      for (const auto& value : parts(name, label)) {
        const auto& from = shared(label, value);
        c.figures.insert(from.begin(), from.end());
      }
    take(body.find("figures"), c.figures);
    out_.emplace(name, std::move(c));
  }

  /// The values of a label in this file that a name of a cell may have at its place.
  std::vector<std::string> parts(const std::string& name, std::string_view label) {
    std::vector<std::string> out;
    const auto* section = root_.find(label);
    if (section == nullptr || section->kind != YamlValue::Kind::map) return out;
    for (const auto& [value, body] : section->pairs) {
      const auto& v = value.text;
      const bool here = label == "model"      ? name.starts_with(v + "/")
                        : label == "pipeline" ? name.ends_with("/" + v)
                        : label == "hardware" ? name.find("/" + v + "/") != std::string::npos
                                              : name.substr(0, name.rfind('/')).ends_with("/" + v);
      if (here) out.push_back(v);
    }
    return out;
  }

  detail::YamlFaults faults_;
  const YamlValue& root_;
  std::map<std::string, std::map<std::string, double, std::less<>>> shared_;
  Accepted out_;
};

void write_figures(std::string& out, const std::map<std::string, std::string>& figures,
                   std::string_view indent) {
  for (const auto& [figure, text] : figures)
    out += fmt::format("{}{}: {}\n", indent, yaml_quoted(figure), text);
}

}  // namespace

std::string baseline_text(const CiRun& run) {
  const auto figures = placed_figures(run);
  std::string out =
      "# Accepted predictions and the figures that they rest on; `mlsysim ci accept` writes this file.\n"
      "version: \"1\"\n";
  if (!figures.everywhere.empty()) {
    out += "everywhere:\n";
    write_figures(out, figures.everywhere, "  ");
  }
  for (const auto& label : kShared) {
    const auto section = figures.shared.find(std::string(label));
    if (section == figures.shared.end()) continue;
    out += fmt::format("{}:\n", label);
    for (const auto& [value, of_it] : section->second) {
      out += fmt::format("  {}:\n", yaml_quoted(value));
      write_figures(out, of_it, "    ");
    }
  }
  out += "cells:\n";
  std::map<std::string, const CellResult*> sorted;
  for (const auto& c : run.cells) sorted.emplace(c.cell.name(), &c);
  for (const auto& [name, cell] : sorted) {
    out += fmt::format("  {}:\n    status: {}\n", yaml_quoted(name), name_of(cell->status));
    std::map<std::string, std::string> numbers;
    for (const auto& n : cell->numbers) numbers[n.name] = rounded(n);
    if (!numbers.empty()) out += "    numbers:\n";
    write_figures(out, numbers, "      ");
    if (const auto own = figures.own.find(name); own != figures.own.end()) {
      out += "    figures:\n";
      write_figures(out, own->second, "      ");
    }
  }
  return out;
}

Accepted parse_baseline(std::string text, std::string name) {
  const auto document = YamlDocument::parse(std::move(text), std::move(name));
  return Reader(document).read();
}
Accepted read_baseline(const std::filesystem::path& file) {
  const auto document = YamlDocument::read(file);
  return Reader(document).read();
}

}  // namespace mlsysim
