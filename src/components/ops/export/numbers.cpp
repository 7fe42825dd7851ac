#include <mlsysim/ops/export/detail/numbers.hpp>

#include <mlsysim/units/format.hpp>

namespace mlsysim {
namespace {

/// The ending of a metric name, by dimension; empty where the dimension has none of its own.
std::string ending_of(const Exponents& exps) {
  if (exps == dim::time::exps) return "_latency_seconds";
  for (const auto& rate :
       {dim::token_rate::exps, dim::sample_rate::exps, dim::request_rate::exps, dim::frequency::exps})
    if (exps == rate) return "_throughput_per_second";
  if (exps == dim::data::exps) return "_memory_bytes";
  if (exps == dim::energy::exps) return "_energy_joules";
  if (exps == dim::money::exps) return "_cost_usd";
  return {};
}

}  // namespace

void NumberFamilies::add(std::map<std::string, std::string> labels, double value, const Exponents& exps,
                         std::optional<double> time) {
  const auto ending = ending_of(exps);
  if (ending.empty()) labels["unit"] = canonical_unit(exps);
  by_name_[stem_ + ending][{std::move(labels), time}] = value;
}

std::vector<MetricFamily> NumberFamilies::families() const {
  std::vector<MetricFamily> out;
  for (const auto& [name, values] : by_name_) {
    auto& family = out.emplace_back(MetricFamily{name, help_, MetricType::gauge, {}});
    for (const auto& [key, value] : values) family.samples.push_back({key.first, value, key.second});
  }
  return out;
}

}  // namespace mlsysim
