#pragma once
/// The commands that draw.

#include "cli/commands.hpp"

#include <string>
#include <vector>

namespace mlsysim::cli {

struct PlotRequest {
  std::string kind;
  std::string output = "text";      ///< a form, "trace", or a file that ends like one
  std::string title;                ///< in place of the picture's own; empty: that
  std::string size;                 ///< "600x400" pixels; empty: as the picture needs
  double font_size = 0;             ///< of ticks and labels, pixels; 0: the picture's own
  std::vector<std::string> labels;  ///< "WORDS=OTHER WORDS"
  SearchRequest space;              ///< axes and objectives
  std::vector<std::string> with, against;
  double step = 0.1;      ///< of a tornado
  double context = 8192;  ///< of the layers of a model
  int interval = 0;       ///< of the points of a front, percent; 0: none
  bool measured = false;  ///< measured points beside a front
  bool force = false;     ///< replace a file that others wrote
};
/// Kinds of plot, in the order of the help text.
[[nodiscard]] const std::vector<std::string>& plot_kinds();
/// The words are those of the command that answers the same in words.
[[nodiscard]] Answer plot(ScenarioRequest request, PlotRequest asked, const RenderOptions& options);

struct ReportRequest {
  std::string output = "html";    ///< html, md, or a file that ends in .html, .md or .pdf
  std::vector<std::string> with;  ///< changes of the configuration to compare with
  std::string other;              ///< a plan to compare with
  bool force = false;
  bool text = false;                                 ///< for a terminal
  std::vector<std::string> records, records_before;  ///< of compilers: their breaks, and what changed
  std::vector<std::string> pipeline;                 ///< stages, or a file: how they are linked
};
[[nodiscard]] Answer report(const ScenarioRequest& request, const ReportRequest& asked,
                            const RenderOptions& options);

}  // namespace mlsysim::cli
