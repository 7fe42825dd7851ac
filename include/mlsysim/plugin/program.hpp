#pragma once
/// The program that a backend is asked about, from a model of the zoo.

#include <mlsysim/plugin/support.hpp>

namespace mlsysim {
struct HardwareNode;
struct Workload;
}  // namespace mlsysim

namespace mlsysim::plugin {

/// The operators of one pass of a model over one sample, on one device, in its default precision.
/// @throws InputError for a model of which only totals are known
[[nodiscard]] Program program_of(const Workload& workload, const HardwareNode& hardware);

}  // namespace mlsysim::plugin
