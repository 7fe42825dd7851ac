#include <mlsysim/resolvers/detail/lengths.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {
namespace {

/// The law of lengths with a mean of 1, or none where all are the same.
std::optional<FittedLaw> law_of_lengths(const StatedLengths& stated, Notes& notes) {
  const bool exponential = stated.law == TrafficLaw::exponential;  // keeps the mean alone
  if (!stated.cv && !stated.law)
    notes.assume(TextRef::lasting(stated.cv_name), 0.0, "all requests have the same lengths");
  if (!exponential && (stated.law == TrafficLaw::constant || stated.cv.value_or(stated.law ? 1 : 0) == 0))
    return std::nullopt;
  const auto law = stated.law.value_or(TrafficLaw::lognormal);
  if (!stated.law)
    notes.assume(TextRef::lasting(stated.law_name), law, "lengths of recorded requests are skewed");
  if (!stated.cv && !exponential)
    throw InputError({.id = "mlsysim.engine.080",
                      .message = "a law of lengths needs a deviation",
                      .key = std::string(stated.cv_name),
                      .found = fmt::format("{} {} alone", stated.law_name, name_of(law)),
                      .expected = "the standard deviation of the lengths over their mean",
                      .hint = fmt::format("e.g. {} 0.8", stated.cv_name)});
  const auto found = law_of_moments(law, 1.0, stated.cv.value_or(1));
  if (found) return found;
  throw InputError(
      {.id = "mlsysim.engine.081",
       .message = fmt::format("no {} law has this deviation", name_of(law)),
       .key = std::string(stated.cv_name),
       .found = fmt::format("{} times the mean", *stated.cv),
       .expected = law == TrafficLaw::uniform ? "at most 0.577 (uniform)" : "0.0128 to 429 (weibull)",
       .hint = "take the law lognormal or gamma"});
}

}  // namespace

LengthSpread<> length_spread(const StatedLengths& stated, Notes& notes) {
  const auto law = law_of_lengths(stated, notes);
  if (!law) return {};
  const auto at = [&](double share) { return law_quantile(*law, share); };
  return {.p50 = at(0.5),
          .p90 = at(0.9),
          .p95 = at(0.95),
          .p99 = at(0.99),
          .cv = law->law == TrafficLaw::exponential ? 1.0 : *stated.cv,
          .differs = true};
}

}  // namespace mlsysim::detail
