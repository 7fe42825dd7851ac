#include <mlsysim/request_trace/laws.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

std::vector<FittedLaw> fit_laws(double mean, double deviation, std::span<const CountedShare> counted) {
  std::vector<FittedLaw> out;
  const auto take = [&](TrafficLaw law) {
    auto one = law_of_moments(law, mean, deviation);
    if (!one) return;
    for (const auto& c : counted)
      one->distance = std::max(one->distance, std::fabs(law_share_below(*one, c.value) - c.share));
    out.push_back(*one);
  };
  if (!(mean > 0) || !(deviation > 0)) {
    take(TrafficLaw::constant);
    return out;
  }
  for (const auto law : {TrafficLaw::uniform, TrafficLaw::exponential, TrafficLaw::weibull, TrafficLaw::gamma,
                         TrafficLaw::lognormal})
    take(law);
  std::stable_sort(out.begin(), out.end(),
                   [](const FittedLaw& a, const FittedLaw& b) { return a.distance < b.distance; });
  return out;
}

std::string law_text(const FittedLaw& f) {
  switch (f.law) {
    case TrafficLaw::constant:
      return fmt::format("constant, {:.4g}", f.first);
    case TrafficLaw::uniform:
      return fmt::format("uniform, {:.4g} to {:.4g}", f.first, f.second);
    case TrafficLaw::exponential:
      return fmt::format("exponential, mean {:.4g}", f.first);
    case TrafficLaw::weibull:
    case TrafficLaw::gamma:
      return fmt::format("{}, shape {:.3g}, scale {:.4g}", name_of(f.law), f.first, f.second);
    case TrafficLaw::lognormal:
      return fmt::format("lognormal, median {:.4g}, deviation of the log {:.3g}", f.first, f.second);
  }
  return {};
}

}  // namespace mlsysim
