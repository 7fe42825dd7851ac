/// Measured tables, calibration, residuals. Results cross as JSON texts: they are reports, not quantities to
/// compute with.

#include "bindings.hpp"

#include <mlsysim/validation/calibration_report.hpp>
#include <mlsysim/validation/page.hpp>
#include <mlsysim/validation/report.hpp>
#include <mlsysim/validation/residuals.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <pybind11/stl.h>

namespace mlsysim::python {
namespace {

MeasuredTable table_named(const std::string& name, const std::string& folder) {
  return name.size() > 5 && name.substr(name.size() - 5) == ".yaml" ? load_table_file(name)
                                                                    : load_table(name, folder);
}

std::vector<MeasuredTable> tables_named(const std::vector<std::string>& names, const std::string& folder) {
  std::vector<MeasuredTable> out;
  for (const auto& name : names) out.push_back(table_named(name, folder));
  return out;
}

/// A fit that can be asked for intervals.
struct Fit {
  Calibration calibration;

  [[nodiscard]] py::dict interval(const std::string& table_name, std::size_t row,
                                  const std::string& folder) const {
    const auto table = table_named(table_name, folder);
    const auto rows = rows_of(table, standard_zoo());
    if (table.measurand == nullptr || row >= rows.rows.size())
      throw LookupError({.id = "mlsysim.python.030",
                         .message = "the table has no such row",
                         .key = table_name,
                         .found = std::to_string(row),
                         .expected = "less than " + std::to_string(rows.rows.size())});
    const auto i =
        predict_interval(calibration, *table.measurand, rows.rows[row].inputs.get(), standard_zoo());
    py::dict out;
    out["p10"] = i.p10;
    out["p50"] = i.p50;
    out["p90"] = i.p90;
    out["measured"] = rows.rows[row].measured;
    out["extrapolated"] = i.extrapolated;
    return out;
  }
};

}  // namespace

void bind_validation(py::module_& m) {
  m.def(
      "_table_names", [](const std::string& folder) { return table_names(folder); }, py::arg("folder"));
  m.def(
      "_validate",
      [](const std::vector<std::string>& names, const std::string& folder) {
        py::gil_scoped_release free;
        const auto tables = tables_named(names.empty() ? table_names(folder) : names, folder);
        std::vector<TableResult> results;
        for (const auto& t : tables) results.push_back(validate(t, standard_zoo()));
        return render(results, {.format = OutputFormat::json});
      },
      py::arg("tables"), py::arg("folder"));
  m.def(
      "_compare",
      [](const std::string& csv, const std::string& measurand_name) {
        const auto table = table_of_measurements(csv, measurand_name);
        const auto analysis = analyse_residuals(table, standard_zoo());
        py::list out;
        for (const auto& e : analysis.explanations) {
          py::dict d;
          d["term"] = e.term;
          d["factor"] = e.factor;
          d["explained"] = e.explained;
          d["median_before"] = analysis.before.median;
          d["median_after"] = e.after.median;
          d["advice"] = e.advice;
          out.append(d);
        }
        return out;
      },
      py::arg("csv"), py::arg("measurand"));
  py::class_<Fit>(m, "_Fit")
      .def_property_readonly(
          "json", [](const Fit& f) { return render(f.calibration, {.format = OutputFormat::json}); })
      .def_property_readonly("text", [](const Fit& f) { return render(f.calibration, RenderOptions{}); })
      .def(
          "overlay",
          [](const Fit& f, const std::string& date) {
            return overlay_of(f.calibration, standard_zoo(), date);
          },
          py::arg("date"))
      .def("interval", &Fit::interval, py::arg("table"), py::arg("row"), py::arg("folder"));
  m.def(
      "_calibrate",
      [](const std::string& what, const std::string& name, const std::vector<std::string>& names,
         const std::vector<std::string>& constants, const std::string& folder) {
        py::gil_scoped_release free;
        const auto tables = tables_named(names, folder);
        CalibrationOptions options;
        options.fields = constants;
        return Fit{calibrate(what, name, tables, standard_zoo(), options)};
      },
      py::arg("what"), py::arg("name"), py::arg("tables"), py::arg("constants"), py::arg("folder"));
}

}  // namespace mlsysim::python
