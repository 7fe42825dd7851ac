#pragma once
/// Commands about measurements: tables, fits and measuring.

#include "cli/commands.hpp"

namespace mlsysim {
struct Calibration;
}
namespace mlsysim::cli {

struct ValidateRequest {
  std::vector<std::string> tables;  ///< names or topics; all where empty
  std::string folder;               ///< of the tables; the shipped ones where empty
  std::string html;                 ///< file for a page with plots
  std::string page, tables_page;    ///< files for the summary and for the page of every table
  std::string record;               ///< committed record; beside the tables where empty
  std::vector<std::string> with;    ///< NAME=OTHER: an entry of the zoo that stands in for a device or engine
  std::string residuals;            ///< file for what predictions missed, by groups
  std::string league, rows;         ///< files for the league of tools, and for the rows that tools predict
  std::vector<std::string> predictions;  ///< NAME=FILE: what another tool predicts for those rows
  bool list = false, check = false, write_record = false;
  bool force = false;     ///< replace files that others wrote
  std::size_t worst = 5;  ///< rows shown with their terms

  [[nodiscard]] bool pages() const { return !page.empty() || !tables_page.empty(); }
};
[[nodiscard]] Answer validate_tables(const ValidateRequest& request, const RenderOptions& options);
struct CalibrateRequest {
  std::string device, engine;          ///< one of them
  std::vector<std::string> tables;     ///< names, or files of definitions
  std::vector<std::string> constants;  ///< fields; all that matter where empty
  std::string write, date;             ///< file for the overlay, and the date that it states
  bool force = false;  ///< replace a file that others wrote, fit rows that disagree, keep a fit that harms
};
/// Request to measure kernels on this machine with PyTorch, and to write them as tables.
struct MeasureRequest {
  std::string out = "measured";  ///< folder of the tables
  std::string python;            ///< interpreter; the first with PyTorch where empty
  std::string on;                ///< "cpu", "cuda" or "rocm"; the accelerator, else the CPU where empty
  std::string hardware;          ///< name of the device in the zoo; recognized where empty
  std::string points;            ///< file of points instead of the plan; empty: the plan
  std::vector<std::string> zoo;  ///< of the user
  double deadline = 120;         ///< [s]
  bool plan = false;             ///< print the points and measure nothing
  bool force = false;            ///< replace tables, and keep a fit that makes other tables worse
  bool measured = false;         ///< the tables are there already: of this call
};
[[nodiscard]] Answer measure_machine(MeasureRequest& request, const RenderOptions& options);
/// Lines that refuse a fit which makes tables of whole systems worse; empty where it makes none.
[[nodiscard]] std::string refusal_of(const Calibration& fit);
[[nodiscard]] Answer calibrate_constants(const CalibrateRequest& request, const RenderOptions& options);

}  // namespace mlsysim::cli
