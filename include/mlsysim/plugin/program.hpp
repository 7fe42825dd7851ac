#pragma once
/// Lowers a model of the zoo to the program that a plugin backend is asked about.
///
/// It lists the operators of one pass over one sample on one device, in the device's default precision. An
/// autoregressive model gives one decode step. Memory is parameters times bytes per weight.
/// Example: Llama3_8B on the H100: fp16, 16.06 GB, and qkv_projection 32 times with 2 * 4096 * 6144 = 50.3
/// MFLOP each.

#include <mlsysim/plugin/support.hpp>

namespace mlsysim {
struct HardwareNode;
struct Workload;
}  // namespace mlsysim

namespace mlsysim::plugin {

/// The program of a model. @throws InputError for a model that states only totals
[[nodiscard]] Program program_of(const Workload& workload, const HardwareNode& hardware);

}  // namespace mlsysim::plugin
