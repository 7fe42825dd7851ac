#pragma once
/// Renders the scorecard of a scenario: feasibility, performance and macro numbers with their assumptions.
///
/// Brief text fits on one screen: the verdict, then memory, latency, throughput, cost and energy, and at most
/// three notes. Verbose text lists every metric under its key. JSON has flat keys f_, p_ and m_, and the
/// levels in base units.
/// Example: `flat_key("feasibility", "memory_used")` is "f_memory_used_gb", and ("macro", "tco") gives
/// "m_tco_usd".

#include <mlsysim/report/render_options.hpp>

#include <span>
#include <string>
#include <string_view>

namespace mlsysim {

struct AssertionResult;
struct NumberInterval;
struct SystemEvaluation;

/// A scorecard in the format of the options, with the results of assertions where there are some.
///
/// Brief text is `brief_card`. Verbose text is a box with the three levels, every metric under its key, a
/// memory bar, remedies where it does not fit, warnings, and the assumptions with their sources. JSON, schema
/// "mlsysim/evaluation@1": the flat keys `f_status`, `p_status`, `m_status` and one `f_`, `p_` or `m_` key
/// per metric, in its documented unit; and `levels`, where each metric has value and unit of the base
/// dimension, number in the display unit, and text. CSV: one line per metric.
[[nodiscard]] std::string render(const SystemEvaluation& evaluation, const RenderOptions& options,
                                 std::span<const AssertionResult> assertions = {});

/// The scorecard on one screen. It has at most twenty lines, more only for assertions, remedies and further
/// resolvers.
/// @param intervals ranges that stand beside their numbers
[[nodiscard]] std::string brief_card(const SystemEvaluation& evaluation, const RenderOptions& options,
                                     std::span<const AssertionResult> assertions = {},
                                     std::span<const NumberInterval> intervals = {});

/// The flat JSON key of a metric.
[[nodiscard]] std::string flat_key(std::string_view level, std::string_view metric);

}  // namespace mlsysim
