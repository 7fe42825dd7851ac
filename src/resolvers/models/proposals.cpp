#include "resolvers/models/proposals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

Workload own_draft(const Workload& w) {
  const auto found = std::find_if(w.stacks.begin(), w.stacks.end(),
                                  [](const Stack& s) { return s.role == StackRole::draft; });
  if (found == w.stacks.end())
    throw InputError({.id = "mlsysim.catalogue.146",
                      .message = fmt::format("'{}' has no draft layers of its own", w.name),
                      .key = "draft_model",
                      .found = "the model itself",
                      .expected = "a smaller model, or a model with a stack of the role draft",
                      .hint = "name a draft model, or give the measured acceptance_length alone"});
  Workload out = w;
  Stack draft = *found;
  if (!draft.own_embedding) draft.input = w.main()->input;
  out.stacks = {draft};
  out.parameters.reset();
  out.active_parameters.reset();
  return out;
}

void check_acceptance_length(double length, double drafted) {
  if (length <= drafted + 1) return;
  throw DomainError({.id = "mlsysim.catalogue.147",
                     .message = "a verification cannot yield more than all drafted tokens and its own",
                     .key = "acceptance_length",
                     .found = fmt::format("{:g} with {:g} drafted tokens", length, drafted),
                     .expected = fmt::format("at most {:g}", drafted + 1),
                     .hint = "give the draft_tokens that it was measured with"});
}

}  // namespace mlsysim::detail
