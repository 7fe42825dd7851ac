#include <mlsysim/plot/explanation_forms.hpp>

#include <mlsysim/plot/latex.hpp>
#include <mlsysim/plot/mathml.hpp>
#include <mlsysim/report/explanation_report.hpp>
#include <mlsysim/units/detail/markup.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

Repeats repeats_of(Verbosity v) { return v == Verbosity::verbose ? Repeats::shown : Repeats::counted; }

}  // namespace

std::string to_html(const Explanation& e, Verbosity verbosity) {
  return fmt::format("<pre>{}</pre>\n<h4>Law by law</h4>\n{}", detail::markup_escaped(head_of(e)),
                     to_mathml(e.derivation, repeats_of(verbosity)));
}

std::string to_latex(const Explanation& e, Verbosity verbosity) {
  std::string out =
      fmt::format("% {}: {} = {}\n", e.subject, e.result,
                  detail::shown_value({.name = e.result, .unit = e.unit, .exps = e.exps, .value = e.value}));
  for (const auto& words : e.handed_in) out += fmt::format("% handed in: {}\n", words);
  return out + to_latex(e.derivation, repeats_of(verbosity));
}

}  // namespace mlsysim
