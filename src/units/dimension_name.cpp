#include <mlsysim/units/format.hpp>

#include <array>

namespace mlsysim {
namespace {

struct Named {
  Exponents exps;
  std::string_view name;
};
template <class D> constexpr Named named() { return {D::exps, D::name}; }

// clang-format off
constexpr Named kNames[] = {
    named<dim::time>(), named<dim::data>(), named<dim::work>(), named<dim::tokens>(), named<dim::samples>(),
    named<dim::requests>(), named<dim::params>(), named<dim::money>(), named<dim::carbon>(),
    named<dim::energy>(), named<dim::water>(), named<dim::frequency>(), named<dim::bandwidth>(),
    named<dim::compute_rate>(), named<dim::token_rate>(), named<dim::sample_rate>(),
    named<dim::request_rate>(), named<dim::money_rate>(), named<dim::power>(), named<dim::intensity>(),
    named<dim::efficiency>(), named<dim::data_per_param>(), named<dim::data_per_token>(),
    named<dim::data_per_sample>(), named<dim::work_per_token>(), named<dim::work_per_sample>(),
    named<dim::work_per_param_token>(), named<dim::tokens_per_param>(), named<dim::tokens_per_request>(),
    named<dim::time_per_token>(), named<dim::energy_per_token>(), named<dim::energy_per_sample>(),
    named<dim::energy_per_data>(), named<dim::energy_per_work>(), named<dim::money_per_token>(),
    named<dim::money_per_energy>(), named<dim::money_per_data>(), named<dim::money_per_carbon>(),
    named<dim::carbon_intensity>(), named<dim::carbon_per_token>(), named<dim::water_intensity>(),
};
// clang-format on

}  // namespace

std::string canonical_unit(const Exponents& e) {
  if (e == dim::power::exps) return "W";
  // Time comes last, so that a rate reads "B/s" and a product "B*s".
  struct Part {
    int power;
    std::string_view symbol;
  };
  const std::array<Part, 11> parts{{{e.data, "B"},
                                    {e.work, "FLOP"},
                                    {e.param, "param"},
                                    {e.token, "token"},
                                    {e.sample, "sample"},
                                    {e.request, "request"},
                                    {e.money, "USD"},
                                    {e.carbon, "gCO2e"},
                                    {e.energy, "J"},
                                    {e.water, "L"},
                                    {e.time, "s"}}};
  std::string out;
  const auto write = [&out](std::string_view symbol, int power) {
    out += symbol;
    if (power > 1) out += '^' + std::to_string(power);
  };
  for (const auto& p : parts) {
    if (p.power <= 0) continue;
    if (!out.empty()) out += '*';
    write(p.symbol, p.power);
  }
  if (out.empty() && !e.dimensionless()) out = "1";
  for (const auto& p : parts) {
    if (p.power >= 0) continue;
    out += '/';
    write(p.symbol, -p.power);
  }
  return out;
}

std::string dimension_name(const Exponents& exps) {
  if (exps.dimensionless()) return std::string(dim::none::name);
  for (const auto& n : kNames)
    if (n.exps == exps) return std::string(n.name) + " [" + canonical_unit(exps) + "]";
  return canonical_unit(exps);
}

}  // namespace mlsysim
