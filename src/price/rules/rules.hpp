#pragma once
// The rules of the two pricings by subject.

#include <mlsysim/price/pricing.hpp>

namespace mlsysim::detail {

[[nodiscard]] const CompressionRules& textbook_compression();
[[nodiscard]] const CompressionRules& operator_compression();
[[nodiscard]] const DeviceRules& textbook_devices();
[[nodiscard]] const DeviceRules& operator_devices();
[[nodiscard]] const FailureRules& textbook_failures();
[[nodiscard]] const FailureRules& operator_failures();
[[nodiscard]] const NetworkRules& textbook_network();
[[nodiscard]] const NetworkRules& operator_network();
[[nodiscard]] const PlanningRules& textbook_planning();
[[nodiscard]] const PlanningRules& operator_planning();
[[nodiscard]] const QueueRules& textbook_queues();
[[nodiscard]] const QueueRules& operator_queues();

}  // namespace mlsysim::detail
