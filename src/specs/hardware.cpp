#include <mlsysim/specs/detail/default_precision.hpp>
#include <mlsysim/specs/kernel_family.hpp>
#include <mlsysim/specs/provenance.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {

bool RatePerPrecision::empty() const {
  return std::none_of(slots.begin(), slots.end(), [](const auto& rate) { return rate.has_value(); });
}

std::vector<std::string> RatePerPrecision::names() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i]) out.emplace_back(name_of(static_cast<Precision>(i)));
  return out;
}

void detail::settle_default_precision(ComputeCore& core) {
  if (core.dense[core.default_precision] || core.dense.empty()) return;
  for (std::size_t i = kPrecisions; i-- > 0;)
    if (const auto p = static_cast<Precision>(i); core.dense[p]) core.default_precision = p;
  for (const auto p : {Precision::fp32, Precision::bf16})
    if (core.dense[p]) core.default_precision = p;
}

ComputeRate<> ComputeCore::peak_flops() const {
  if (const auto& rate = dense[default_precision]) return *rate;
  if (dense.empty())
    throw InputError({.id = "mlsysim.spec.040",
                      .message = "the compute core has no dense rate",
                      .key = "compute.dense",
                      .found = "no rate at any precision",
                      .expected = "a rate at one precision or more",
                      .hint = "set compute.dense, e.g. fp16: 989 TFLOP/s",
                      .reason = BreakReason::missing_field});
  throw InputError({.id = "mlsysim.spec.041",
                    .message = "the compute core has no dense rate at its default precision",
                    .key = "compute.default_precision",
                    .found = std::string(name_of(default_precision)),
                    .expected = fmt::format("one of {}", fmt::join(dense.names(), ", ")),
                    .hint = "set compute.default_precision to one of these",
                    .reason = BreakReason::missing_field});
}

ComputeRate<> rate_at(const HardwareNode& hardware, Precision precision) {
  if (const auto& rate = hardware.compute.dense[precision]) return *rate;
  const auto names = hardware.compute.dense.names();
  throw LookupError({.id = "mlsysim.spec.042",
                     .message = fmt::format("{} has no {} arithmetic",
                                            hardware.name.empty() ? "the device" : "'" + hardware.name + "'",
                                            name_of(precision)),
                     .key = "precision",
                     .found = std::string(name_of(precision)),
                     .expected = names.empty() ? "a device with a dense rate"
                                               : fmt::format("one of {}", fmt::join(names, ", ")),
                     .hint = "choose a precision that the device computes in, or another device",
                     .reason = BreakReason::unsupported_precision});
}

bool measured_on(const GenerationConstants& constants, const HardwareNode& device) {
  for (const auto* d = &device; d != nullptr; d = d->same_die)
    if (d->entry != nullptr && std::find(constants.devices.begin(), constants.devices.end(),
                                         d->entry->name) != constants.devices.end())
      return true;
  return false;
}

}  // namespace mlsysim
