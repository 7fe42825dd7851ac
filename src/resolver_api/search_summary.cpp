#include <mlsysim/resolver_api/search_summary.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim {

void detail::too_many_scores(std::size_t most) {
  throw InputError({.id = "mlsysim.resolve.002",
                    .message = "a score has too many objectives or constraints",
                    .found = fmt::format("more than {}", most),
                    .expected = fmt::format("at most {}", most),
                    .hint = "combine those that always bind together"});
}

AnyQuantity SearchSummary::objective() const { return AnyQuantity::from_base(objective_value_, exps_); }

std::string SearchSummary::text() const {
  auto out = fmt::format("{} candidates: {} feasible, {} infeasible, {} skipped", total_, feasible_,
                         infeasible_, skipped_);
  for (std::size_t i = 0; i < reasons_.size(); ++i)
    out += fmt::format("{}{}: {}", i == 0 ? " (" : ", ", reasons_[i].reason, reasons_[i].count);
  if (!reasons_.empty()) out += ")";
  if (!best_.empty()) out += fmt::format("; best '{}' with {}", best_, pretty(objective(), 6));
  if (!binding_.empty()) out += fmt::format("; binding: {} ({})", binding_, relaxation_);
  return out + fmt::format("; {}{}", name_of(exactness_), cancelled_ ? ", cancelled" : "");
}

Infeasible SearchSummary::why_infeasible() const {
  Infeasible why;
  if (total_ == 0)
    why.reason = "there are no candidates to search";
  else if (skipped_ == total_)
    why.reason = fmt::format("none of {} candidates can be judged", total_);
  else
    why.reason = fmt::format("none of {} candidates meets every constraint", total_);
  if (!binding_.empty()) why.reason += fmt::format("; binding: {}", binding_);
  why.smallest_change = relaxation_;
  if (!binding_.empty()) why.facts.push_back({"binding", binding_});
  why.facts.push_back({"total_searched", fmt::format("{}", total_)});
  why.facts.push_back({"infeasible", fmt::format("{}", infeasible_)});
  for (const auto& [reason, count] : reasons_)
    why.facts.push_back({"skipped: " + reason, fmt::format("{}", count)});
  why.facts.push_back({"exactness", std::string(name_of(exactness_))});
  return why;
}

}  // namespace mlsysim
