#include <mlsysim/validation/calibrate.hpp>

#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kWideSpread = 0.7;  // of a prior without a range: a factor of two to each side
constexpr double kFarthest = 10;     // a constant is at most this factor from its prior
constexpr double kRangeSpreads = 4;  // a range holds two standard deviations to each side

/// A field of the device that measurements speak about, and the convention that stands in for it.
struct Candidate {
  std::string field, unit, convention;
  double low, high;
  std::optional<double> present;
};

/// "efficiency.memory" -> "memory_share", "kernels.launch" -> "kernel_launch", "collectives.hop" -> "collective_hop".
std::string convention_of(std::string_view group, std::string_view name, const Zoo& zoo) {
  const std::string last(name), one(group.substr(0, group.size() - 1));
  const std::vector<std::string> names =
      group == "efficiency" ? std::vector{last + "_share", "matrix_" + last, last} : std::vector{one + "_" + last, last};
  for (const auto& n : names)
    if (zoo.find<ScalarFigure>("default." + n) != nullptr) return n;
  return {};
}

template <HasFields G>
void collect(const G& group, std::string_view name, const Zoo& zoo, std::vector<Candidate>& out) {
  for_each_field<G>([&]<class M>(const Field<G, M>& row) {
    using Inner = typename detail::unwrap<M>::type;
    if constexpr (detail::is_optional_v<M> && (Scalar<Inner> || requires { Inner::from_base(1.0).base(); })) {
      const Value value = detail::Access<M>::get(&(group.*row.member));
      const auto* x = std::get_if<double>(&value);
      const double one = row.unit.empty() ? 1.0 : AnyQuantity::parse(fmt::format("1 {}", row.unit)).base();
      out.push_back({fmt::format("{}.{}", name, row.name), std::string(row.unit), convention_of(name, row.name, zoo), row.low * one,
                     row.high < kUnbounded ? row.high * one : kUnbounded, x != nullptr ? std::optional(*x) : std::nullopt});
    }
  });
}

/// What a device states about its kernels and links beside the data sheet: the tables of these members are the list.
std::vector<Candidate> candidates(const HardwareNode& device, const Zoo& zoo) {
  std::vector<Candidate> out;
  for_each_field<HardwareNode>([&]<class M>(const Field<HardwareNode, M>& row) {
    if constexpr (HasFields<M>)
      if (row.name == "efficiency" || row.name == "kernels" || row.name == "collectives") collect(device.*row.member, row.name, zoo, out);
  });
  return out;
}

}  // namespace

std::vector<FreeConstant> free_constants(const HardwareNode& device, const Zoo& zoo, std::span<const std::string> fields) {
  std::vector<FreeConstant> out;
  std::vector<std::string> names;
  for (const auto& c : candidates(device, zoo)) {
    names.push_back(c.field);
    if (!fields.empty() && std::find(fields.begin(), fields.end(), c.field) == fields.end()) continue;
    const ScalarFigure* convention = c.convention.empty() ? nullptr : zoo.find<ScalarFigure>("default." + c.convention);
    const double prior = convention != nullptr ? convention->value.base() : c.present.value_or(0);
    const double start = c.present.value_or(prior);
    // What a device does not have (0) stays so: no factor leads from it to something.
    if (!(prior > 0) || !(start > 0)) continue;
    FreeConstant f{.field = c.field, .unit = c.unit, .prior = prior, .prior_spread = kWideSpread, .start = start};
    if (convention != nullptr && convention->low && convention->high && convention->low->base() > 0)
      f.prior_spread = std::max(0.02, std::log(convention->high->base() / convention->low->base()) / kRangeSpreads);
    f.low = std::max(c.low > 0 ? c.low : 0, std::min(prior, start) / kFarthest);
    f.high = std::min(c.high, std::max(prior, start) * kFarthest);
    out.push_back(std::move(f));
  }
  for (const auto& field : fields)
    if (std::find(names.begin(), names.end(), field) == names.end())
      throw LookupError({.id = "mlsysim.validation.080", .message = fmt::format("'{}' is no constant of a device that can be fitted", field),
                         .key = field, .found = fmt::format("'{}'", field), .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                         .hint = did_you_mean(field, names)});
  return out;
}

}  // namespace mlsysim
