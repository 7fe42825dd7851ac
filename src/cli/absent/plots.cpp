// The component 'plots' is not built.

#include "absent.hpp"

#include "../output.hpp"

namespace mlsysim::cli {
void Program::picture_commands() {
  absent_command("plot", "plots");
  absent_command("report", "plots");
}

std::string latex_of(const Explanation&, Verbosity) { refuse_absent("a derivation as LaTeX", "plots"); }
Answer resolver_docs(const std::string&, const std::string&, const std::string&) {
  refuse_absent("resolver docs", "plots");
}
void print_html(const std::string&, const std::string&, const std::string&) {
  refuse_absent("a page as PDF", "plots");
}

}  // namespace mlsysim::cli
