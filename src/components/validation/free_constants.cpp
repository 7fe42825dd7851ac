#include <mlsysim/validation/calibrate.hpp>

#include <mlsysim/timing/fill.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kWideSpread = 0.7;     // of a prior without a range: a factor of two to each side
constexpr double kNarrowSpread = 0.02;  // no prior is surer than this
constexpr double kFarthest = 10;        // a constant is at most this factor from its prior
constexpr double kRangeSpreads = 4;     // a range holds two standard deviations to each side

/// A field that measurements determine, and the value used where it is absent.
struct Candidate {
  std::string field, unit;
  double low = 0, high = kUnbounded;  ///< physical bounds [base unit]
  std::optional<double> present{};
  std::optional<double> prior{};
  double spread = kWideSpread;  ///< of the prior's logarithm
};

double base_of(std::string_view unit) {
  return unit.empty() ? 1.0 : AnyQuantity::parse(fmt::format("1 {}", unit)).base();
}

/// The candidate of a field that is a number; none for anything else.
template <class S, class M>
std::optional<Candidate> candidate_of(const S& object, const Field<S, M>& row, const std::string& name) {
  using Inner = typename detail::unwrap<M>::type;
  if constexpr ((Scalar<Inner> && !std::is_same_v<Inner, bool>) ||
                requires { Inner::from_base(1.0).base(); }) {
    const Value value = detail::Access<M>::get(&(object.*row.member));
    const auto* x = std::get_if<double>(&value);
    const double one = base_of(row.unit);
    return Candidate{.field = name,
                     .unit = std::string(row.unit),
                     .low = row.low * one,
                     .high = row.high < kUnbounded ? row.high * one : kUnbounded,
                     .present = x != nullptr ? std::optional(*x) : std::nullopt};
  } else {
    return std::nullopt;
  }
}

/// Spread of the logarithm of a prior, from the range of its value.
double spread_of(std::optional<std::pair<double, double>> range, double base) {
  if (!range) return kWideSpread;
  // A range from 0 has no logarithm at its lower end; its upper half says as much.
  const auto [low, high] = *range;
  const double spread =
      low > 0 ? std::log(high / low) / kRangeSpreads : std::log(high / base) / (kRangeSpreads / 2);
  return std::max(kNarrowSpread, spread);
}

/// The zoo's default of a constant, or null: "default.collective_hop" for "collectives.hop".
const ScalarFigure* convention_of(std::string_view last, const Zoo& zoo) {
  for (const auto& name : {"default.collective_" + std::string(last), "default." + std::string(last),
                           "default." + std::string(last) + "_share"})
    if (const auto* found = zoo.find<ScalarFigure>(name)) return found;
  return nullptr;
}

/// Whether measurements determine a figure. Sizes of tiles are whole numbers of a kernel's source: a fit
/// moves them only where they are named.
bool is_fitted(const FigureRow& row, bool named) {
  const auto group = row.path.substr(0, row.path.find('.'));
  if (group == "tiles") return !row.row.integral && (named || !row.row.unit.empty());
  return group == "efficiency" || group == "draw" || group == "kernels" || group == "collectives";
}

/// A device's constants of kernels and links beside the data sheet, with a prior of its class or the zoo.
std::vector<Candidate> candidates(const HardwareNode& device, const Zoo& zoo, bool named) {
  const Conventions conventions = conventions_of(zoo);
  std::vector<Candidate> out;
  for (const auto& row : figure_rows()) {
    if (!is_fitted(row, named)) continue;
    const double one = base_of(row.row.unit);
    Candidate c{.field = row.path,
                .unit = std::string(row.row.unit),
                .low = row.row.low * one,
                .high = row.row.high < kUnbounded ? row.row.high * one : kUnbounded};
    if (const auto own = filled(row, device, conventions); own && own->own()) c.present = own->base;
    if (const auto of_class = filled_by_class(row, device, conventions)) {
      c.prior = of_class->base;
      c.spread = spread_of(authored(*of_class, row).range, of_class->base);
    } else if (const auto* convention = convention_of(row.row.name, zoo)) {
      c.prior = convention->value.base();
      if (const Figure* value = convention->entry == nullptr ? nullptr : convention->entry->figure("value"))
        c.spread = spread_of(range_of(*value, convention->entry->source_of("value")), value->base);
    }
    out.push_back(std::move(c));
  }
  return out;
}

/// The times of an engine. Passes of lookahead are counted, not fitted.
std::vector<Candidate> candidates(const ServingEngine& engine, const Zoo& zoo) {
  const ServingEngine* generic = zoo.find<ServingEngine>("generic");
  std::vector<Candidate> out;
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    if constexpr (std::is_same_v<typename detail::unwrap<M>::type, Time<>>) {
      auto c = candidate_of(engine, row, std::string(row.name));
      if (generic != nullptr) c->prior = candidate_of(*generic, row, "")->present;
      if (!c->present || *c->present == 0) return;  // what it does not have stays so
      out.push_back(std::move(*c));
    }
  });
  return out;
}

std::vector<FreeConstant> free_of(const std::vector<Candidate>& all, std::string_view what,
                                  std::span<const std::string> fields) {
  std::vector<FreeConstant> out;
  std::vector<std::string> names;
  for (const auto& c : all) {
    names.push_back(c.field);
    if (!fields.empty() && std::find(fields.begin(), fields.end(), c.field) == fields.end()) continue;
    const double prior = c.prior.value_or(c.present.value_or(0)), start = c.present.value_or(prior);
    // A constant of 0 stays 0: no factor can change it.
    if (!(prior > 0) || !(start > 0)) continue;
    FreeConstant f{
        .field = c.field, .unit = c.unit, .prior = prior, .prior_spread = c.spread, .start = start};
    f.low = std::max(c.low > 0 ? c.low : 0, std::min(prior, start) / kFarthest);
    f.high = std::min(c.high, std::max(prior, start) * kFarthest);
    out.push_back(std::move(f));
  }
  for (const auto& field : fields)
    if (std::find(names.begin(), names.end(), field) == names.end())
      throw LookupError(unknown_name("mlsysim.validation.080",
                                     fmt::format("'{}' is no constant of {} that can be fitted", field, what),
                                     field, names));
  return out;
}

}  // namespace

std::vector<FreeConstant> free_constants(const HardwareNode& device, const Zoo& zoo,
                                         std::span<const std::string> fields) {
  return free_of(candidates(device, zoo, !fields.empty()), "a device", fields);
}
std::vector<FreeConstant> free_constants(const ServingEngine& engine, const Zoo& zoo,
                                         std::span<const std::string> fields) {
  return free_of(candidates(engine, zoo), "a serving engine", fields);
}

}  // namespace mlsysim
