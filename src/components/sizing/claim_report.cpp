#include <mlsysim/sizing/report.hpp>

#include <mlsysim/report/table.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

std::string render(const Claim& claim, const ClaimVerdict& v, const RenderOptions& options) {
  const auto number_in = [](const auto& q, std::string_view unit) { return AnyQuantity(q).in(unit); };
  const auto shown = [](const auto& q) { return pretty(AnyQuantity(q), 3); };
  const std::string asked =
      fmt::format("{} on {}: {} of each of {:g}{}; {}", claim.model, claim.machine, shown(v.claimed),
                  v.devices, claim.limit ? " at " + claim.limit->text() : "", v.lengths);
  if (options.format == OutputFormat::json)
    return detail::json_document(
        nlohmann::ordered_json{{"schema", "mlsysim/claim@1"},
                               {"claim", asked},
                               {"verdict", std::string(name_of(v.kind))},
                               {"claimed_per_device", number_in(v.claimed, "token/s")},
                               {"devices", v.devices},
                               {"bound_per_device", number_in(v.bound, "token/s")},
                               {"bound_by", v.bound_by},
                               {"predicted_per_device", number_in(v.predicted, "token/s")},
                               {"plan", v.plan},
                               {"percentile", v.percentile},
                               {"basis", v.basis}});
  Table t{.schema = "mlsysim/claim@1",
          .title = "claim",
          .columns = {{"what"}, {"value"}},
          .rows = {},
          .footer = {}};
  std::string verdict;
  switch (v.kind) {
    case ClaimVerdict::Kind::impossible:
      verdict = v.bound > TokenRate<>()
                    ? fmt::format("impossible: {} allows {} at most", v.bound_by, shown(v.bound))
                    : fmt::format("impossible: {}", v.bound_by);
      break;
    case ClaimVerdict::Kind::heroic:
      verdict =
          v.plan.empty()
              ? std::string("heroic: no plan is predicted to meet the limit")
              : fmt::format("heroic: {} is predicted; {:.0f} % of measurements were below such a quotient",
                            shown(v.predicted), v.percentile);
      break;
    case ClaimVerdict::Kind::ordinary:
      verdict =
          fmt::format("ordinary: {} is predicted; the claim is at the {:.0f}th percentile of measurements",
                      shown(v.predicted), v.percentile);
  }
  t.rows = {{"claim", asked},
            {"verdict", verdict},
            {"bound", fmt::format("{}, {}", shown(v.bound), v.bound_by)},
            {"predicted", v.plan.empty() ? std::string("no plan meets the limit")
                                         : fmt::format("{}: {}", shown(v.predicted), v.plan)}};
  if (!v.basis.empty()) t.rows.push_back({"measured", v.basis});
  if (options.format == OutputFormat::text) return fmt::format("{}\n\n{}", verdict, render(t, options));
  return render(t, options);
}

}  // namespace mlsysim
