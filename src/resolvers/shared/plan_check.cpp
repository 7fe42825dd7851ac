#include "resolvers/shared/plan_check.hpp"

#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

namespace mlsysim::detail {
namespace {

constexpr Fault kDegrees{.id = "mlsysim.catalogue.075", .reason = BreakReason::infeasible_constraint};

/// "tp_size 1, 2 or 4" of the divisors of a whole number.
std::string divisors_of(double whole) {
  std::vector<std::string> out{fmt::format("{:g}", whole)};
  for (double d = whole; d > 1;) {
    d = divisor_at_most(d - 1, whole);
    out.insert(out.begin(), fmt::format("{:g}", d));
  }
  return fmt::format("tp_size {} or {}", fmt::join(out.begin(), out.end() - 1, ", "), out.back());
}

/// Whether `part` devices share `whole` things unevenly.
bool uneven(double part, double whole) { return part > 1 && std::fmod(whole, part) != 0; }

}  // namespace

void check_folding(const Degrees& d) {
  if (d.expert_tp == d.tp) return;
  if (d.expert_tp > d.tp || uneven(d.expert_tp, d.tp))
    throw DomainError(kDegrees, "the devices of an expert do not divide the tensor-parallel ones",
                      "expert_tp_size", fmt::format("expert_tp_size {:g}", d.expert_tp),
                      fmt::format("a divisor of tp_size {:g}", d.tp),
                      "leave it out to share experts as other layers");
  if (const double ranks = d.sequence_ranks(); ranks < 1 || std::fmod(d.ep * d.expert_tp, d.tp) != 0)
    throw DomainError(
        kDegrees,
        fmt::format("ep_size {:g} x expert_tp_size {:g} devices are no whole number of ranks of tp_size {:g}",
                    d.ep, d.expert_tp, d.tp),
        "ep_size", fmt::format("ep_size {:g}", d.ep), fmt::format("a multiple of {:g}", d.tp / d.expert_tp),
        "raise ep_size or expert_tp_size");
  if (!d.sequence_parallel)
    throw DomainError(kDegrees, "experts are folded over devices that all have the same tokens",
                      "expert_tp_size", fmt::format("expert_tp_size {:g}", d.expert_tp),
                      "sequence_parallel, so that each device dispatches a part of them",
                      "switch sequence_parallel on, or leave expert_tp_size out");
}

void check_degrees(const Workload& w, const Degrees& d, double seq_len, Notes& notes) {
  if (d.ep > 1) {
    if (!w.is_moe())
      throw DomainError(kDegrees, fmt::format("'{}' has no experts to spread", w.name), "ep_size",
                        fmt::format("ep_size {:g}", d.ep), "1", "use tp_size, or more replicas");
    const double experts = *w.experts()->count;
    if (d.ep > experts)
      throw DomainError(kDegrees, fmt::format("'{}' has fewer experts than ranks that share them", w.name),
                        "ep_size", fmt::format("ep_size {:g}", d.ep),
                        fmt::format("at most {:g}, the experts of a layer", experts),
                        "lower ep_size and use more replicas");
    if (uneven(d.ep, experts))
      notes.warn([&] {
        return fmt::format("{:g} experts do not divide into {:g} ranks: they are priced as if they did",
                           experts, d.ep);
      });
  }
  // In an interleaved pipeline the embedding and the output head may be chunks of their own.
  const double ends = d.v_stages > 1 ? 2 : 0;
  if (const auto layers = w.layers(); layers && d.pp * d.v_stages > *layers + ends)
    throw DomainError(kDegrees, fmt::format("'{}' has fewer layers than the pipeline has stages", w.name),
                      d.v_stages > 1 ? "v_stages" : "pp_size",
                      fmt::format("{} {:g}", d.v_stages > 1 ? "v_stages" : "pp_size", d.pp * d.v_stages),
                      fmt::format("pp_size x v_stages of at most {:g}{}", *layers + ends,
                                  ends > 0 ? ", with the two ends of the model" : ""),
                      "lower pp_size or v_stages");
  if (const auto heads = w.heads(); heads) {
    if (d.tp > *heads)
      throw DomainError(kDegrees, fmt::format("'{}' has fewer heads than devices that share them", w.name),
                        "tp_size", fmt::format("tp_size {:g}", d.tp), fmt::format("at most {:g}", *heads),
                        "lower tp_size, use pipeline stages or more replicas");
    if (uneven(d.tp, *heads))
      throw DomainError(
          kDegrees,
          fmt::format("tensor parallelism {:g} does not divide the {:g} attention heads of '{}'", d.tp,
                      *heads, w.name),
          "tp_size", fmt::format("tp_size {:g}", d.tp), divisors_of(*heads),
          "state tp_size, and divide the layers over the other devices with pp_size");
  }
  if (d.cp > seq_len)
    throw DomainError(kDegrees, "a sequence has fewer tokens than ranks that share it", "cp_size",
                      fmt::format("cp_size {:g}", d.cp), fmt::format("at most {:g}", seq_len),
                      "lower cp_size");
}

void require_tokens(const Workload& w, std::string_view field) {
  // The textbook needs totals only, which suffice for a language model with an unpublished architecture.
  if (w.is_language_decoder() || (w.category == "language" && w.architecture != Architecture::encoder))
    return;
  throw InputError({.id = "mlsysim.catalogue.010",
                    .message = fmt::format("'{}' does not generate tokens", w.name),
                    .key = std::string(field),
                    .found = fmt::format("{} of the architecture '{}'", field, name_of(w.architecture)),
                    .expected = "a decoder",
                    .hint = field == "draft_model"
                                ? "name a small language model that shares the target's vocabulary"
                                : "use SingleNodeModel (mlsysim eval) for one inference"});
}

double draft_degree(const Workload& draft, double tp_size, Notes& notes) {
  const bool divided = tp_size <= draft.heads().value_or(tp_size);
  notes.assume("draft_tp_size", divided ? tp_size : 1.0,
               divided ? "that of its target, as in vLLM" : "it has fewer heads than devices: whole on each");
  return divided ? tp_size : 1.0;
}

void warn_of_uneven_ranks(double sequences, double ranks, Notes& notes) {
  if (!uneven(ranks, sequences)) return;
  const auto said = [&](const std::string& then) {
    return fmt::format("{:g} sequences do not divide into {:g} expert-parallel ranks: {}", sequences, ranks,
                       then);
  };
  if (sequences < ranks)
    notes.remark(
        [&] { return said(fmt::format("{:g} ranks have none and wait for the others", ranks - sequences)); });
  else
    notes.warn([&] { return said("they are priced as if they did"); });
}

}  // namespace mlsysim::detail
